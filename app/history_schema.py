"""The tables of the history and how older files become newer ones.

`PRAGMA user_version` counts the migrations a file has had; each runs in one transaction with its number.
A released migration is never edited: append another. Neighbours: `app.history_file` runs them.
"""

import sqlite3
from typing import Final

from engine.errors import SetupError

# `AUTOINCREMENT`: an id is never used twice, so that a late write cannot land in another conversation.
# A branch stays inside its conversation: parents are named together with it.
# Of several messages with one parent the one with the greatest `chosen` is shown.
# No cascade along parents: SQLite allows 1,000 levels of it, chats are longer.
_TABLES: Final = (
    """
    CREATE TABLE conversation (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        title TEXT NOT NULL DEFAULT '',
        created_at REAL NOT NULL,
        updated_at REAL NOT NULL,
        model TEXT NOT NULL,
        system_prompt TEXT NOT NULL,
        parameters TEXT NOT NULL DEFAULT '{}',
        draft TEXT NOT NULL DEFAULT '',
        scroll REAL NOT NULL DEFAULT 1.0,
        position INTEGER NOT NULL,
        deleted_at REAL
    )
    """,
    "CREATE INDEX conversation_position ON conversation (position)",
    """
    CREATE TABLE message (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        conversation_id INTEGER NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
        parent_id INTEGER,
        chosen INTEGER NOT NULL,
        role TEXT NOT NULL CHECK (role IN ('user', 'assistant')),
        state TEXT NOT NULL
            CHECK (state IN ('complete', 'streaming', 'stopped', 'interrupted', 'failed')),
        error TEXT NOT NULL DEFAULT '',
        created_at REAL NOT NULL,
        figures TEXT NOT NULL DEFAULT '{}',
        model TEXT NOT NULL DEFAULT '',
        content TEXT NOT NULL DEFAULT '',
        reasoning TEXT NOT NULL DEFAULT '',
        UNIQUE (conversation_id, id),
        FOREIGN KEY (conversation_id, parent_id) REFERENCES message (conversation_id, id)
    )
    """,
    "CREATE INDEX message_siblings ON message (conversation_id, parent_id, chosen)",
    "CREATE INDEX message_streaming ON message (id) WHERE state = 'streaming'",
    "CREATE TABLE setting (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
)

# Without a message it belongs to the draft. The text comes last: reading the rest leaves its pages alone.
_ATTACHMENTS_AND_EDITS: Final = (
    """
    CREATE TABLE attachment (
        id INTEGER PRIMARY KEY AUTOINCREMENT,
        conversation_id INTEGER NOT NULL REFERENCES conversation (id) ON DELETE CASCADE,
        message_id INTEGER,
        name TEXT NOT NULL,
        characters INTEGER NOT NULL,
        text TEXT NOT NULL,
        FOREIGN KEY (conversation_id, message_id) REFERENCES message (conversation_id, id)
    )
    """,
    "CREATE INDEX attachment_place ON attachment (conversation_id, message_id)",
    "CREATE INDEX attachment_message ON attachment (message_id)",
    "ALTER TABLE message ADD COLUMN edit TEXT",  # what the user is making of it; NULL: nothing
)

MIGRATIONS: Final[tuple[tuple[str, ...], ...]] = (_TABLES, _ATTACHMENTS_AND_EDITS)


def migrate(db: sqlite3.Connection) -> None:
    """Bring an open database (in autocommit mode) up to date; a failed step leaves the version before it.

    Raises:
        SetupError: the file was written by a newer version of the app.
    """
    version = int(db.execute("PRAGMA user_version").fetchone()[0])
    if version > len(MIGRATIONS):
        raise SetupError(
            "Your conversations were saved by a newer version of Inglenook.",
            hint="Update Inglenook to open them; nothing in them was changed.",
        )
    for number, statements in enumerate(MIGRATIONS[version:], start=version + 1):
        db.execute("BEGIN IMMEDIATE")
        try:
            for statement in statements:
                db.execute(statement)
            db.execute(f"PRAGMA user_version = {number}")
            db.execute("COMMIT")
        finally:
            if db.in_transaction:
                db.execute("ROLLBACK")
