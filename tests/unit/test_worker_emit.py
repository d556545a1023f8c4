"""From tokens to what the reader gets, on a vocabulary of single bytes."""

import pytest

from engine.backends.fake import FakeTokenizer
from engine.sampling.sampler import Sampled
from engine.worker.emit import Emission, Emitter, Limits

EOS = 257


def emitter(
    *, max_tokens: int = 1000, stop: tuple[str, ...] = (), prefilled: bool = False, **limits: bool
) -> Emitter:
    return Emitter(
        FakeTokenizer(), Limits(max_tokens, stop, **limits), reasoning_prefilled=prefilled
    )


def run(target: Emitter, tokens: list[int], **sampled: object) -> list[Emission]:
    return [target.push(Sampled(token, **sampled)) for token in tokens]  # type: ignore[arg-type]


def joined(emissions: list[Emission]) -> tuple[str, str, str | None]:
    content = "".join(e.content for e in emissions)
    reasoning = "".join(e.reasoning for e in emissions)
    return content, reasoning, emissions[-1].finish


def test_bytes_of_a_symbol_come_out_together() -> None:
    emissions = run(emitter(), list("a🦙b".encode()))
    assert [e.content for e in emissions] == ["a", "", "", "", "🦙", "b"]


def test_the_end_token_ends_and_releases_what_was_held() -> None:
    emissions = run(emitter(stop=("STOP",)), [*b"go ST", EOS])
    assert joined(emissions) == ("go ST", "", "stop")


def test_ignored_end_tokens_show_nothing_and_go_on() -> None:
    emissions = run(emitter(ignore_end=True), [*b"a", EOS, *b"b"])
    assert joined(emissions) == ("ab", "", None)


def test_a_stop_string_ends_and_never_shows() -> None:
    emissions = run(emitter(stop=("foo>>>", "UPDATED")), list(b"bar foo>> UPDA foo>>>"))
    assert joined(emissions) == ("bar foo>> UPDA ", "", "stop")


def test_the_limit_ends_with_everything_released() -> None:
    emissions = run(emitter(max_tokens=4, stop=("STOP",)), list(b"a ST"))
    assert joined(emissions) == ("a ST", "", "length")


def test_a_symbol_cut_by_the_limit_shows_as_one_replacement_mark() -> None:
    emissions = run(emitter(max_tokens=3), list("a🦙".encode())[:3])
    assert joined(emissions) == ("a\ufffd", "", "length")


def test_reasoning_is_split_off() -> None:
    emissions = run(emitter(), [*b"<think>why</think>because", EOS])
    assert joined(emissions) == ("because", "why", "stop")
    emissions = run(emitter(prefilled=True), [*b"why</think>because", EOS])
    assert joined(emissions) == ("because", "why", "stop")


@pytest.mark.parametrize("cut", range(1, 18))
def test_a_replayed_emitter_goes_on_as_the_first_one_would(cut: int) -> None:
    tokens = [*"<think>é</think>🦙 ok".encode()][:20]
    whole = run(emitter(stop=("ok!",)), tokens)
    replayed = emitter(stop=("ok!",))
    run(replayed, tokens[:cut])
    assert joined(run(replayed, tokens[cut:]))[:2] == joined(whole[cut:])[:2]


def test_log_probabilities_leave_with_their_text() -> None:
    target = emitter(stop=("XY",))
    emissions = run(target, list(b"aXbXY"), logprob=-1.0)
    released = [entry.token for e in emissions for entry in e.logprobs]
    assert released == [b"a", b"X", b"b"]
    assert [len(e.logprobs) for e in emissions] == [1, 0, 2, 0, 0]


def test_an_answer_that_runs_out_of_room_releases_everything() -> None:
    target = emitter(stop=("STOP",))
    run(target, list(b"a ST"))
    last = target.end()
    assert (last.content, last.finish) == ("ST", "length")
