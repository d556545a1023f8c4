"""What may be attached, and how the model reads it."""

import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.attachments import FILE_LIMIT, Attachment, NotText, read_text_file, with_attachments
from app.history import History
from app.history_schema import MIGRATIONS


def write(folder: Path, data: bytes) -> Path:
    path = folder / "notes.txt"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"", ""),
        ("Zeile\r\n天气 \U0001f600".encode(), "Zeile\r\n天气 \U0001f600"),
        (b"\xef\xbb\xbfmarked", "marked"),
        ("wide é".encode("utf-16"), "wide é"),
        ("\ufeffwide".encode("utf-16-be"), "wide"),
    ],
)
def test_text_is_read_as_it_is(tmp_path: Path, data: bytes, text: str) -> None:
    assert read_text_file(write(tmp_path, data)) == text


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"\x7fELF\x00\x01", "binary"),
        ("latin é".encode("latin-1"), "binary"),
        ("odd".encode("utf-16") + b"x", "binary"),
        (b"x" * (FILE_LIMIT + 1), "size"),
    ],
)
def test_what_is_no_text_is_refused_with_the_reason(
    tmp_path: Path, data: bytes, reason: str
) -> None:
    with pytest.raises(NotText) as refused:
        read_text_file(write(tmp_path, data))
    assert refused.value.details["reason"] == reason


def test_a_folder_and_a_missing_file_are_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "gone.txt"):
        with pytest.raises(NotText) as refused:
            read_text_file(path)
        assert refused.value.details["reason"] == "unreadable"


def test_the_model_reads_the_attachment_under_its_name_and_then_the_question() -> None:
    assert with_attachments("Why?", [("a.log", "one\ntwo\n"), ("b.txt", "x")]) == (
        "a.log:\n```\none\ntwo\n```\n\nb.txt:\n```\nx\n```\n\nWhy?"
    )
    assert with_attachments(" \n", [("b.txt", "x")]) == "b.txt:\n```\nx\n```"
    assert with_attachments("Only text", []) == "Only text"


@given(st.text(alphabet="`~a\n ", max_size=40))
def test_no_text_ends_its_own_block(body: str) -> None:
    lines = with_attachments("Q", [("n", body)]).split("\n")
    fence = lines[1]
    inside = body.removesuffix("\n").split("\n")
    assert lines[2 : 2 + len(inside)] == inside
    assert not any(fence in line for line in inside)
    assert lines[2 + len(inside) :] == [fence, "", "Q"]


# --- in the history -----------------------------------------------------------------------------------


@pytest.fixture
def history(tmp_path: Path):
    history = History(tmp_path / "history.db")
    yield history
    history.close()


def test_the_draft_keeps_its_attachments_and_the_message_takes_them(history: History) -> None:
    chat, other = history.create(), history.create()
    kept = history.attach(chat.id, "a.txt", "first text")
    gone = history.attach(chat.id, "b.txt", "second")
    history.attach(other.id, "c.txt", "elsewhere")
    history.detach(gone.id)
    history.set_draft(chat.id, "typed")
    assert history.draft_attachments(chat.id) == [kept]
    sent = history.add_user(chat.id, "Look", None)
    assert [(a.name, a.characters) for a in sent.attachments] == [("a.txt", 10)]
    assert history.attachment_text(sent.attachments[0].id) == "first text"
    assert history.draft_attachments(chat.id) == []
    assert [a.name for a in history.draft_attachments(other.id)] == ["c.txt"]
    assert history.path(chat.id)[0].attachments == sent.attachments
    history.detach(kept.id)
    assert history.attachment_text(kept.id) == "first text", "what was sent cannot be detached"


def test_an_edited_message_has_its_own_copies_and_leaves_the_draft_alone(history: History) -> None:
    chat = history.create()
    history.attach(chat.id, "a.txt", "text")
    first = history.add_user(chat.id, "v1", None)
    history.set_draft(chat.id, "half typed")
    waiting = history.attach(chat.id, "w.txt", "waits")
    second = history.add_user(
        chat.id, "v2", None, (*first.attachments, Attachment.new("p", "pasted \ud83d"))
    )
    assert [a.name for a in second.attachments] == ["a.txt", "p"]
    assert [history.attachment_text(a.id) for a in second.attachments] == ["text", "pasted \ufffd"]
    assert history.draft_attachments(chat.id) == [waiting]
    found = history.conversation(chat.id)
    assert found is not None
    assert found.draft == "half typed"
    history.select(first.id)
    assert [a.name for a in history.path(chat.id)[0].attachments] == ["a.txt"]
    third = history.add_user(chat.id, "v3", None, ())
    assert third.attachments == ()


def test_a_chat_is_found_and_named_by_its_attachment_and_purged_with_it(
    history: History, tmp_path: Path
) -> None:
    chat = history.create()
    history.attach(chat.id, "Report.txt", "the Lighthouse burned")
    history.add_user(chat.id, "", None)
    assert [c.title for c in history.conversations("lighthouse")] == ["Report.txt"]
    history.delete(chat.id)
    history.purge_deleted(0)
    assert history.conversations("lighthouse") == []
    history.close()
    assert b"Lighthouse" not in (tmp_path / "history.db").read_bytes()


def test_a_file_of_the_first_version_is_brought_up_to_date(tmp_path: Path) -> None:
    path = tmp_path / "old.db"
    db = sqlite3.connect(path)
    for statement in MIGRATIONS[0]:
        db.execute(statement)
    db.execute(
        "INSERT INTO conversation (title, created_at, updated_at, model, system_prompt, position)"
        " VALUES ('old', 0, 0, '', '', 1)"
    )
    db.execute(
        "INSERT INTO message (conversation_id, chosen, role, state, created_at, content)"
        " VALUES (1, 1, 'user', 'complete', 0, 'kept')"
    )
    db.execute("PRAGMA user_version = 1")
    db.commit()
    db.close()
    history = History(path)
    try:
        message = history.path(1)[0]
        assert (message.content, message.attachments) == ("kept", ())
        assert history.attach(1, "n", "t").characters == 1
    finally:
        history.close()
