"""The line of figures under an answer in the terminal."""

import pytest

from engine.api.events import Counted, Finished, TextDelta
from engine.api.replies import Pace, Usage
from engine.cli.answer_view import AnswerView


@pytest.mark.parametrize(
    ("pace", "words"),
    [
        (Pace(), None),
        (Pace(cache_n=90), "90 of 100 prompt tokens reused"),
        (
            Pace(cache_n=90, restored_n=80),
            "90 of 100 prompt tokens reused (80 restored from memory or disk)",
        ),
    ],
)
def test_where_the_prompt_came_from(
    capsys: pytest.CaptureFixture[str], pace: Pace, words: str | None
) -> None:
    view = AnswerView()
    for event in (TextDelta(0, "Hi", ""), Finished(0, "stop", pace), Counted(Usage(100, 1, 101))):
        view.show(event)
    facts = capsys.readouterr().err.strip().split(" · ")
    assert [fact for fact in facts if "reused" in fact] == ([words] if words else [])
