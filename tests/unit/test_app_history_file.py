"""`app.history_file`, `app.history_schema`: full disk, damage, foreign and newer files, locks, older tables."""

import sqlite3
import stat
import sys

import pytest

from app import history_file, history_schema
from app.history import History
from engine.errors import EngineError, SetupError


@pytest.fixture
def path(tmp_path):
    return tmp_path / "data" / "history.db"


def filled(path, num_messages=200):
    history = History(path)
    chat, parent = history.create(), None
    for number in range(num_messages):
        parent = history.add_user(chat.id, f"{number} " + "text " * 200, parent).id
    return history


def explained(caught, path):
    assert str(caught.value.message).endswith(".")
    assert caught.value.hint.endswith(".")
    return str(path.parent) in caught.value.hint


def test_the_file_is_private_and_set_up(path):
    history = History(path)
    history.create()
    asked = ("journal_mode", "synchronous", "foreign_keys", "user_version", "busy_timeout")
    told = [history._file.rows(f"PRAGMA {name}")[0][0] for name in asked]
    assert told == ["wal", 1, 1, len(history_schema.MIGRATIONS), 1000]
    if sys.platform != "win32":
        files = list(path.parent.iterdir())
        assert len(files) == 3
        assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}
    history.close()
    assert [file.name for file in path.parent.iterdir()] == ["history.db"]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_a_file_others_could_read_is_closed_to_them(path):
    History(path).close()
    path.chmod(0o644)
    History(path).close()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_full_disk_costs_neither_draft_nor_file(path):
    history = filled(path)
    chat = history.conversations()[0]
    history.set_draft(chat.id, "the draft")
    (pages,) = history._file.rows("PRAGMA page_count")[0]
    history._file.run(f"PRAGMA max_page_count = {pages}")
    last = history.path(chat.id)[-1]
    with pytest.raises(SetupError, match="disk is full") as caught:
        history.add_user(chat.id, "long " * 20_000, last.id)
    assert explained(caught, path)
    assert history.path(chat.id)[-1] == last
    assert history.conversation(chat.id).draft == "the draft"
    history._file.run(f"PRAGMA max_page_count = {pages + 1000}")
    assert history.add_user(chat.id, "long " * 20_000, last.id).parent_id == last.id
    assert history._file.rows("PRAGMA integrity_check") == [("ok",)]
    history.close()


def test_a_message_and_its_draft_change_together_or_not_at_all(path):
    history = filled(path, 1)
    chat = history.conversations()[0]
    history.set_draft(chat.id, "the draft")
    history._file.run(
        "CREATE TEMP TRIGGER late BEFORE UPDATE OF draft ON conversation"
        " BEGIN SELECT RAISE(ABORT, 'too late'); END"
    )
    with pytest.raises(EngineError) as caught:
        history.add_user(chat.id, "sent", None)
    assert explained(caught, path)
    assert len(history.path(chat.id)) == 1
    assert history.siblings(1) == [1]
    history._file.run("DROP TRIGGER late")
    assert history.conversation(chat.id).draft == "the draft"
    history.add_user(chat.id, "sent", None)
    assert history.conversation(chat.id).draft == ""
    history.close()


def test_a_file_that_cannot_be_written(path):
    history = filled(path, 1)
    history._file.run("PRAGMA query_only = ON")
    with pytest.raises(SetupError, match="cannot be written") as caught:
        history.create()
    assert explained(caught, path)
    assert len(history.conversations()) == 1
    history.close()


def test_a_folder_that_cannot_be_made_or_a_folder_in_the_place_of_the_file(tmp_path):
    (tmp_path / "file").write_text("kept")
    with pytest.raises(SetupError, match="could not be opened") as caught:
        History(tmp_path / "file" / "history.db")
    assert explained(caught, tmp_path / "file" / "history.db")
    (tmp_path / "history.db").mkdir()
    with pytest.raises(SetupError) as caught:
        History(tmp_path / "history.db")
    assert explained(caught, tmp_path / "history.db")
    assert (tmp_path / "file").read_text() == "kept"
    assert (tmp_path / "history.db").is_dir()


def test_another_program_holds_the_file(path, monkeypatch):
    monkeypatch.setattr(history_file, "_BUSY_S", 0.01)
    history = filled(path, 1)
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(EngineError, match="Another program") as caught:
        history.create()
    explained(caught, path)
    assert len(history.conversations()) == 1
    other.execute("ROLLBACK")
    other.close()
    history.create()
    history.close()


def test_a_newer_file_is_left_alone(path):
    filled(path, 1).close()
    db = sqlite3.connect(path)
    db.execute("PRAGMA user_version = 99")
    db.close()
    before = path.read_bytes()
    with pytest.raises(SetupError, match="newer version") as caught:
        History(path)
    explained(caught, path)
    assert path.read_bytes() == before
    assert [file.name for file in path.parent.iterdir()] == ["history.db"]


def aside(path):
    (found,) = path.parent.glob("history-damaged-*.db")
    return found


@pytest.mark.parametrize("content", [b"no database at all" * 400, b"short"])
def test_a_foreign_file_is_set_aside(path, content):
    path.parent.mkdir()
    path.write_bytes(content)
    history = History(path)
    assert str(aside(path)) in history.notice
    assert aside(path).read_bytes() == content
    assert history.conversations() == []
    history.create()
    history.close()
    history = History(path)
    assert history.notice == ""
    assert len(history.conversations()) == 1
    history.close()


def test_a_cut_off_file_is_set_aside(path):
    filled(path).close()
    content = path.read_bytes()[:100_000]
    path.write_bytes(content)
    history = History(path)
    assert history.notice
    assert aside(path).read_bytes() == content
    history.close()


def damage(path):
    """Overwrite the pages in the middle, where the messages are."""
    content = bytearray(path.read_bytes())
    content[20 * 4096 : 60 * 4096] = b"\xa5" * (40 * 4096)
    path.write_bytes(content)
    return bytes(content)


def test_damage_met_while_running_is_told_and_found_at_the_next_start(path):
    filled(path).close()
    content = damage(path)
    history = History(path)
    assert history.notice == ""
    with pytest.raises(SetupError, match="damaged") as caught:
        history.conversations("no such text")
    explained(caught, path)
    history.close()
    history = History(path)
    assert aside(path).read_bytes()[20 * 4096 : 60 * 4096] == content[20 * 4096 : 60 * 4096]
    assert history.notice
    history.create()
    history.close()
    history = History(path)
    assert history.notice == ""
    assert len(history.conversations()) == 1
    history.close()
    assert set(path.parent.iterdir()) == {path, aside(path)}


@pytest.mark.skipif(sys.platform == "win32", reason="renames an open file")
def test_a_log_that_is_still_there_goes_with_the_damaged_file(path):
    """Left in its place it would be read into the new file."""
    other = filled(path, 20)
    log = path.with_name("history.db-wal")
    content = log.read_bytes()
    content = content[:4096] + b"?" * (len(content) - 4096)
    log.write_bytes(content)
    history = History(path)
    assert history.notice
    assert aside(path).with_name(aside(path).name + "-wal").read_bytes() == content
    assert history.conversations() == []
    history.close()
    other.close()


def test_what_is_purged_is_not_left_in_the_file(path):
    history = filled(path, 20)
    chat = history.create()
    history.add_user(chat.id, "the secret " * 1000, None)
    history.delete(chat.id)
    history.purge_deleted(0)
    history.close()
    assert b"secret" not in path.read_bytes()


def test_two_damaged_files_in_one_second_are_both_kept(path):
    path.parent.mkdir()
    for number in range(3):
        path.write_bytes(b"junk %d" % number * 100)
        History(path).close()
    kept = sorted(path.parent.glob("history-damaged-*.db"))
    assert {file.read_bytes()[:6] for file in kept} == {b"junk 0", b"junk 1", b"junk 2"}


def tables(path):
    db = sqlite3.connect(path)
    version = db.execute("PRAGMA user_version").fetchone()
    found = db.execute("SELECT type, name, sql FROM sqlite_master ORDER BY name").fetchall()
    db.close()
    return version, found


@pytest.mark.parametrize("version", range(len(history_schema.MIGRATIONS) + 1))
def test_every_older_file_becomes_a_new_one(path, tmp_path, version, monkeypatch):
    path.parent.mkdir()
    with monkeypatch.context() as older:
        older.setattr(history_schema, "MIGRATIONS", history_schema.MIGRATIONS[:version])
        db = sqlite3.connect(path, isolation_level=None)
        history_schema.migrate(db)
        assert db.execute("PRAGMA user_version").fetchone() == (version,)
        db.close()
    History(path).close()
    History(tmp_path / "new.db").close()
    assert tables(path) == tables(tmp_path / "new.db")


def test_a_migration_happens_whole_or_not_at_all(path, monkeypatch):
    filled(path, 1).close()
    before = tables(path)
    broken = ("CREATE TABLE extra (x)", "CREATE TABLE message (x)")
    with monkeypatch.context() as newer:
        newer.setattr(history_schema, "MIGRATIONS", (*history_schema.MIGRATIONS, broken))
        with pytest.raises(EngineError) as caught:
            History(path)
    explained(caught, path)
    assert tables(path) == before
    added = ("ALTER TABLE message ADD COLUMN extra TEXT NOT NULL DEFAULT ''",)
    monkeypatch.setattr(history_schema, "MIGRATIONS", (*history_schema.MIGRATIONS, added))
    history = History(path)
    assert history._file.rows("SELECT extra FROM message") == [("",)]
    assert len(history.path(history.conversations()[0].id)) == 1
    history.close()
