"""`app.history`: branches, drafts, titles, search; late writes land nowhere they should not."""

import pytest

from app.history import History
from app.history_records import TITLE_LIMIT, title_from
from engine.errors import EngineError


class Clock:
    """Time that stands still until it is set."""

    def __init__(self) -> None:
        self.now = 1_800_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def history(tmp_path, clock):
    history = History(tmp_path / "history.db", clock=clock)
    yield history
    history.close()


def answer(history, user, content, state="complete", **rest):
    begun = history.begin_answer(user.id, model="m")
    return history.finish_answer(begun.id, state, content=content, reasoning="", **rest)


def shown(history, conversation):
    return [message.content for message in history.path(conversation.id)]


def titles(history, query=""):
    return [conversation.title for conversation in history.conversations(query)]


def test_a_conversation_comes_back_as_it_was(tmp_path, clock):
    history = History(tmp_path / "history.db", clock=clock)
    made = history.create(model="smol", system_prompt="Be brief.")
    assert (made.title, made.draft, made.scroll, made.parameters) == ("", "", 1.0, {})
    parameters = {"temperature": 0.2, "seed": 2**63, "top_k": 40}
    history.set_options(made.id, parameters=parameters)
    clock.now += 5
    user = history.add_user(made.id, "Hello\r\n\tthere \x00 👩‍👩‍👧", None)
    assert (user.role, user.state, user.parent_id) == ("user", "complete", None)
    figures = {"tokens": 12, "tokens_per_s": 81.5, "seed": 2**64 - 1}
    begun = history.begin_answer(user.id, model="smol")
    assert (begun.state, begun.content, begun.parent_id) == ("streaming", "", user.id)
    history.write_answer(begun.id, "part", "because")
    assert history.path(made.id)[1].content == "part"
    done = history.finish_answer(
        begun.id, "failed", content="whole", reasoning="why", error="Broke.", figures=figures
    )
    history.set_draft(made.id, "not sent", 0.25)
    kept = history.conversations(), history.path(made.id)
    history.close()
    history.close()

    history = History(tmp_path / "history.db")
    assert (history.conversations(), history.path(made.id)) == kept
    assert history.notice == ""
    conversation, (first, second) = kept[0][0], kept[1]
    assert (first, second) == (user, done)
    assert first.content == "Hello\r\n\tthere \x00 👩‍👩‍👧"
    assert (done.reasoning, done.error, done.state) == ("why", "Broke.", "failed")
    assert (done.figures, done.model) == (figures, "smol")
    assert conversation == history.conversation(made.id)
    assert conversation.parameters == parameters
    assert (conversation.model, conversation.system_prompt) == ("smol", "Be brief.")
    assert (conversation.draft, conversation.scroll) == ("not sent", 0.25)
    assert conversation.updated_at - conversation.created_at == 5
    history.close()


def test_regenerating_and_editing_keep_what_was_there(history):
    chat = history.create()
    q1 = history.add_user(chat.id, "q1", None)
    a1 = answer(history, q1, "a1")
    q2 = history.add_user(chat.id, "q2", a1.id)
    answer(history, q2, "b1")
    b2 = answer(history, q2, "b2")
    assert (b2.sibling, b2.num_siblings) == (1, 2)
    assert shown(history, chat) == ["q1", "a1", "q2", "b2"]
    edited = history.add_user(chat.id, "q2 edited", a1.id)
    assert shown(history, chat) == ["q1", "a1", "q2 edited"]
    assert history.siblings(edited.id) == [q2.id, edited.id]
    history.select(q2.id)
    assert shown(history, chat) == ["q1", "a1", "q2", "b2"]
    other = history.add_user(chat.id, "another start", None)
    assert shown(history, chat) == ["another start"]
    assert (other.sibling, other.num_siblings) == (1, 2)
    history.select(edited.id)
    assert shown(history, chat) == ["q1", "a1", "q2 edited"]
    assert [(m.sibling, m.num_siblings) for m in history.path(chat.id)] == [(0, 2), (0, 1), (1, 2)]
    history.select(history.siblings(b2.id)[0])
    assert shown(history, chat) == ["q1", "a1", "q2", "b1"]
    history.select(a1.id)
    assert shown(history, chat) == ["q1", "a1", "q2", "b1"]


def test_replies_stay_in_the_chat_they_began_in(history):
    """C41: switch, delete, create, stop and regenerate while an answer comes in."""
    a, b = history.create(), history.create()
    slow = history.begin_answer(history.add_user(a.id, "in A", None).id, model="m")
    history.write_answer(slow.id, "A so", "")
    q = history.add_user(b.id, "in B", None)
    history.set_draft(b.id, "typing in B")
    history.delete(a.id)
    c = history.create()
    history.write_answer(slow.id, "A so far", "")
    answer(history, q, "B one", "stopped")
    answer(history, q, "B two")
    history.finish_answer(slow.id, "complete", content="A whole", reasoning="")
    assert shown(history, b) == ["in B", "B two"]
    assert shown(history, c) == []
    assert history.conversation(a.id) is None
    assert titles(history) == ["in B", ""]
    assert titles(history, "whole") == []
    history.restore(a.id)
    assert shown(history, a) == ["in A", "A whole"]
    assert titles(history) == ["in B", "", "in A"]


def test_what_is_purged_stays_gone_and_late_writes_land_nowhere(history, clock):
    chat = history.create()
    q = history.add_user(chat.id, "secret", None)
    late = history.begin_answer(q.id, model="m")
    history.delete(chat.id)
    clock.now += 10
    history.delete(chat.id)
    history.purge_deleted(11)
    assert shown(history, chat) == ["secret", ""]
    history.purge_deleted(10)
    history.restore(chat.id)
    new = history.create()
    new_q = history.add_user(new.id, "new", None)
    answer(history, new_q, "reply")
    assert new.id != chat.id
    assert new_q.id not in (q.id, late.id)

    history.write_answer(late.id, "late", "late")
    done = history.finish_answer(late.id, "complete", content="late", reasoning="r")
    assert (done.id, done.conversation_id, done.content) == (late.id, 0, "late")
    history.rename(chat.id, "late")
    history.set_options(chat.id, model="late")
    history.set_draft(chat.id, "late")
    history.resume_answer(late.id)
    history.select(late.id)
    assert history.siblings(late.id) == []
    assert history.path(chat.id) == []
    with pytest.raises(EngineError) as caught:
        history.add_user(chat.id, "late", None)
    assert caught.value.hint
    with pytest.raises(EngineError) as caught:
        history.begin_answer(q.id, model="late")
    assert caught.value.hint
    assert titles(history) == ["new"]
    assert shown(history, new) == ["new", "reply"]


def test_a_finished_answer_is_not_overwritten_by_a_late_piece(history):
    chat = history.create()
    done = answer(history, history.add_user(chat.id, "q", None), "whole", "stopped")
    history.write_answer(done.id, "who", "")
    assert history.path(chat.id)[1] == done
    history.resume_answer(done.id)
    history.write_answer(done.id, "whole and more", "")
    resumed = history.path(chat.id)[1]
    assert (resumed.content, resumed.state) == ("whole and more", "streaming")


def test_an_answer_cut_off_by_a_kill_is_marked(tmp_path):
    history = History(tmp_path / "history.db")
    chat = history.create()
    history.begin_answer(history.add_user(chat.id, "q", None).id, model="m")
    history.close()
    history = History(tmp_path / "history.db")
    assert [m.state for m in history.path(chat.id)] == ["complete", "interrupted"]
    history.close()


def test_sending_clears_the_draft_of_its_own_chat_only(history):
    a, b = history.create(), history.create()
    history.set_draft(a.id, "a", 0.5)
    history.set_draft(b.id, "b")
    history.add_user(a.id, "a", None)
    assert history.conversation(a.id).draft == ""
    assert history.conversation(a.id).scroll == 0.5
    assert history.conversation(b.id).draft == "b"
    for given, kept in ((7.0, 1.0), (-1.0, 0.0), (float("nan"), 0.0)):
        history.set_draft(a.id, "", given)
        assert history.conversation(a.id).scroll == kept


@pytest.mark.parametrize(
    ("message", "title"),
    [
        ("Why is the sky blue?", "Why is the sky blue?"),
        ("\n \t\n  first  line \r\nsecond", "first line"),
        ("\x00\x1b[31mred\x07\u202egnp.exe\u2066", "[31mredgnp.exe"),
        ("x" * 60, "x" * 60),
        ("x" * 61, "x" * 59 + "…"),
        ("天" * 500, "天" * 59 + "…"),
        ("word " * 40, "word " * 11 + "word…"),
        ("a" * 40 + " " + "b" * 40, "a" * 40 + "…"),
        ("👩‍👧 hello", "👩‍👧 hello"),
        ("../../etc/passwd", "../../etc/passwd"),
        ("<img src='x'>", "<img src='x'>"),
        (" \n\x00\n\u200f", ""),
        ("", ""),
    ],
)
def test_titles(history, message, title):
    chat = history.create()
    history.add_user(chat.id, message, None)
    assert history.conversation(chat.id).title == title == title_from(message)
    assert len(title) <= TITLE_LIMIT


def test_the_first_message_that_shows_something_gives_the_title_and_a_name_is_never_replaced(
    history,
):
    chat, named = history.create(), history.create()
    first = history.add_user(chat.id, " \n", None)
    history.add_user(chat.id, "second", first.id)
    history.add_user(chat.id, "third", None)
    history.rename(named.id, "Mine")
    history.add_user(named.id, "message", None)
    assert titles(history) == ["Mine", "second"]


@pytest.mark.parametrize(
    ("name", "kept"),
    [
        ("..", ".."),
        ("/etc/x", "/etc/x"),
        ("a\x00b\nc\ud83d", "ab c\ufffd"),
        ("n" * 300, "n" * 200),
        ("", "before"),
        (" \x00\u202e ", "before"),
        ("'; DROP TABLE message; --", "'; DROP TABLE message; --"),
    ],
)
def test_renaming_takes_any_name(history, tmp_path, name, kept):
    """C34: a name is data, never a path."""
    files = sorted(tmp_path.iterdir())
    chat = history.create()
    history.rename(chat.id, "before")
    history.rename(chat.id, name)
    assert titles(history) == [kept]
    assert sorted(tmp_path.iterdir()) == files


def test_a_clock_set_back_reorders_nothing(history, clock):
    """C45."""
    old = history.create()
    history.rename(old.id, "old")
    q = history.add_user(old.id, "one", None)
    a = answer(history, q, "two")
    clock.now -= 3600
    new = history.create()
    history.rename(new.id, "new")
    assert titles(history) == ["new", "old"]
    history.add_user(old.id, "three", a.id)
    assert shown(history, old) == ["one", "two", "three"]
    assert titles(history) == ["old", "new"]
    assert history.conversation(old.id).updated_at == clock.now


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", {"en", "zh", "ru", "sign"}),
        ("  ", {"en", "zh", "ru", "sign"}),
        ("WEATHER", {"en"}),
        ("EN", {"en"}),
        ("tomorrow", {"en"}),
        ("气", {"zh"}),
        ("天气", {"zh"}),
        ("气天", set()),
        ("gpu天", {"zh"}),
        ("ПОГОДА", {"ru"}),
        ("École", {"ru"}),
        ("100%", {"sign"}),
        ("%", {"sign"}),
        ("a_b\\", {"sign"}),
        ("a?b", set()),
        ("hidden", set()),
        ("thought", set()),
        ("x" * 70_000, set()),
        ("é" * 70_000, set()),
        ("\ud83d", set()),
    ],
)
def test_search(history, query, found):
    for name, question, reply in [
        ("en", "What is the Weather", "sunny"),
        ("zh", "今天天气很好, GPU天", "晴"),
        ("ru", "какая погода?", "à l'école"),
        ("sign", "100% a_b\\c", "axb"),
        ("gone", "weather hidden", "天气"),
    ]:
        chat = history.create()
        history.rename(chat.id, name)
        asked = history.add_user(chat.id, question, None)
        history.finish_answer(
            history.begin_answer(asked.id, model="m").id,
            "complete",
            content=reply,
            reasoning="thought",
        )
        if name == "en":
            history.add_user(chat.id, "tomorrow?", None)
            history.select(asked.id)
    history.delete(chat.id)
    assert set(titles(history, query)) == found


def test_text_that_is_not_quite_unicode_is_kept_as_far_as_it_goes(history):
    chat = history.create()
    history.set_draft(chat.id, "cut \ud83d")
    assert history.conversation(chat.id).draft == "cut \ufffd"
    user = history.add_user(chat.id, "pair \ud83e\udd99, half \udd99.", None)
    assert user.content == "pair 🦙, half \ufffd."
    assert answer(history, user, "\udc00").content == "\ufffd"


def test_figures_that_are_no_numbers_do_not_cost_the_answer(history):
    user = history.add_user(history.create().id, "q", None)
    figures = {"tokens": 1, "tokens_per_s": float("inf"), "first_token_ms": float("nan")}
    assert answer(history, user, "a", figures=figures).figures == {"tokens": 1}
    history._file.run("UPDATE message SET figures = 'broken {'")
    assert answer(history, user, "b").figures == {}
    assert [m.figures for m in history.path(user.conversation_id)] == [{}, {}]


def test_options_change_one_by_one(history):
    chat = history.create(model="m", system_prompt="s")
    history.set_options(chat.id, system_prompt="")
    history.set_options(chat.id, parameters={"temperature": 0})
    history.set_options(chat.id, model="n")
    after = history.conversation(chat.id)
    assert (after.model, after.system_prompt, after.parameters) == ("n", "", {"temperature": 0})


def test_values(history):
    assert history.value("geometry") == ""
    assert history.value("geometry", "none") == "none"
    history.set_value("geometry", "a")
    history.set_value("geometry", "b")
    history.set_value("other", "")
    assert (history.value("geometry", "none"), history.value("other", "none")) == ("b", "")


def test_mistakes_of_the_caller_change_nothing(history):
    a, b = history.create(), history.create()
    in_a = history.add_user(a.id, "in a", None)
    done = answer(history, in_a, "reply")
    with pytest.raises(ValueError, match="not in conversation"):
        history.add_user(b.id, "x", in_a.id)
    with pytest.raises(ValueError, match="not in conversation"):
        history.add_user(b.id, "x", 999)
    with pytest.raises(ValueError, match="not a user's"):
        history.begin_answer(done.id, model="m")
    for state in ("streaming", "finished"):
        with pytest.raises(ValueError, match="cannot end"):
            history.finish_answer(done.id, state, content="", reasoning="")
    history.finish_answer(in_a.id, "failed", content="", reasoning="")
    assert shown(history, a) == ["in a", "reply"]
    assert shown(history, b) == []


def test_a_chat_of_2000_messages_is_read_walked_and_purged(history):
    chat, parent = history.create(), None
    for number in range(1000):
        user = history.add_user(chat.id, f"q{number}", parent)
        parent = history.begin_answer(user.id, model="m").id
    other = history.begin_answer(user.id, model="m")
    assert [m.id for m in history.path(chat.id)] == [*range(1, 2000), other.id]
    history.select(parent)
    assert history.path(chat.id)[-1].id == parent
    # Steps of the database's own machine, as a clock would measure the other processes here.
    steps = 0

    def count() -> None:
        nonlocal steps
        steps += 1

    history._file._db.set_progress_handler(count, 1000)
    history.path(chat.id)
    history.siblings(parent)
    history.select(other.id)
    assert 0 < steps < 500
    history.delete(chat.id)
    history.purge_deleted(0)
    assert history._file.rows("SELECT count(*) FROM message") == [(0,)]
