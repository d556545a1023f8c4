"""Conversations in SQLite: trees of messages of which one branch is shown. Qt-free; used from the window's thread.

A call that has returned survives a killed process. A power cut or a crash of the system may cost the last seconds
(what the system had not written out: at most the last ~4 MB of changes, on Linux as a rule the last 30 s),
always from the end and whole calls only; the file stays sound. Syncing at each call would make the window wait
for a busy disk. Neighbours: `app.history_records`, `app.history_file`, `app.history_queries`; users: `app.stores`.
"""

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from app.attachments import Attachment
from app.history_file import HistoryFile
from app.history_queries import (
    ATTACH,
    ATTACH_AGAIN,
    ATTACHMENTS,
    BRANCH,
    CONVERSATION,
    INSERT,
    MESSAGE,
    SHOW,
    SIBLINGS,
    search,
)
from app.history_records import (
    MESSAGE_STATES,
    Conversation,
    MessageState,
    Role,
    StoredMessage,
    clean_title,
    conversation_from,
    message_from,
    numbers_to,
    storable,
    title_from,
)
from engine.errors import EngineError

__all__ = ["Conversation", "History", "MessageState", "Role", "StoredMessage"]


class History:
    """The only reader and writer of one history file.

    Every failure is an `EngineError` (a `SetupError` where disk or permissions are the cause).
    Calls that name a conversation or message that is gone do nothing, except where a new message
    would have nowhere to go. Writes to a deleted conversation are kept with it for `restore`; it stays deleted.

    `notice` is a sentence for the user where a damaged file was set aside at opening, else empty.
    """

    def __init__(self, path: Path, *, clock: Callable[[], float] = time.time) -> None:
        """Open or create the file (mode 0600) and mark what a killed process left half-way as interrupted.

        Raises:
            SetupError: folder or file cannot be used, or a newer version of the app has written it.
        """
        self._clock = clock
        self._file = HistoryFile(path)
        self.notice = self._file.notice
        self._file.run("UPDATE message SET state = 'interrupted' WHERE state = 'streaming'")

    def close(self) -> None:
        """Let go of the file; every call before it has been saved already."""
        self._file.close()

    def conversations(self, query: str = "") -> list[Conversation]:
        """Those not deleted, the one with the newest message first, whatever the clock said.

        Args:
            query: text in the title or in any message, on whichever branch; case does not matter.
        """
        condition, values = search(storable(query).strip())
        sql = CONVERSATION + "WHERE deleted_at IS NULL " + condition + " ORDER BY position DESC"
        return [conversation_from(row) for row in self._file.rows(sql, values)]

    def conversation(self, conversation_id: int) -> Conversation | None:
        """One conversation, or nothing where it is deleted."""
        sql = CONVERSATION + "WHERE id = ? AND deleted_at IS NULL"
        rows = self._file.rows(sql, (conversation_id,))
        return conversation_from(rows[0]) if rows else None

    def create(self, *, model: str = "", system_prompt: str = "") -> Conversation:
        """A new conversation without a title, on top of the list."""
        now = self._clock()
        new_id = self._file.run(
            "INSERT INTO conversation (created_at, updated_at, model, system_prompt, position)"
            " VALUES (?1, ?1, ?2, ?3, (SELECT coalesce(max(position), 0) + 1 FROM conversation))",
            (now, storable(model), storable(system_prompt)),
        )
        return conversation_from(self._file.rows(CONVERSATION + "WHERE id = ?", (new_id,))[0])

    def rename(self, conversation_id: int, title: str) -> None:
        """Give a title, as one line without control characters; one that shows nothing changes nothing."""
        if cleaned := clean_title(title):
            self._file.run(
                "UPDATE conversation SET title = ? WHERE id = ?", (cleaned, conversation_id)
            )

    def set_options(
        self,
        conversation_id: int,
        *,
        model: str | None = None,
        system_prompt: str | None = None,
        parameters: Mapping[str, float | int] | None = None,
    ) -> None:
        """Change what is given; `parameters` replaces all of them."""
        self._file.run(
            "UPDATE conversation SET model = coalesce(?, model),"
            " system_prompt = coalesce(?, system_prompt), parameters = coalesce(?, parameters)"
            " WHERE id = ?",
            (
                None if model is None else storable(model),
                None if system_prompt is None else storable(system_prompt),
                None if parameters is None else numbers_to(parameters),
                conversation_id,
            ),
        )

    def set_draft(self, conversation_id: int, text: str, scroll: float | None = None) -> None:
        """Keep what is typed but not sent and, where given, how far the chat is scrolled (0 to 1)."""
        self._file.run(
            "UPDATE conversation SET draft = ?, scroll = coalesce(?, scroll) WHERE id = ?",
            (
                storable(text),
                None if scroll is None else min(1.0, max(0.0, scroll)),
                conversation_id,
            ),
        )

    def set_edit(self, message_id: int, text: str | None) -> None:
        """Keep what the user is making of a message; None: it was sent or given up."""
        self._file.run(
            "UPDATE message SET edit = ? WHERE id = ?",
            (None if text is None else storable(text), message_id),
        )

    def attach(self, conversation_id: int, name: str, text: str) -> Attachment:
        """Put a text beside the draft; the next message takes it along."""
        return self._attach(conversation_id, None, Attachment.new(name, text))

    def detach(self, attachment_id: int) -> None:
        """Remove it from the draft; what was sent stays."""
        self._file.run(
            "DELETE FROM attachment WHERE id = ? AND message_id IS NULL", (attachment_id,)
        )

    def draft_attachments(self, conversation_id: int) -> list[Attachment]:
        """What lies beside the draft, in the order it came."""
        return [Attachment(*row) for row in self._file.rows(ATTACHMENTS, (conversation_id,))]

    def attachment_text(self, attachment_id: int) -> str:
        """All of it; empty where it is gone."""
        rows = self._file.rows("SELECT text FROM attachment WHERE id = ?", (attachment_id,))
        return str(rows[0][0]) if rows else ""

    def delete(self, conversation_id: int) -> None:
        """Take it off the list; `restore` undoes this until `purge_deleted` has run."""
        self._file.run(
            "UPDATE conversation SET deleted_at = ? WHERE id = ? AND deleted_at IS NULL",
            (self._clock(), conversation_id),
        )

    def restore(self, conversation_id: int) -> None:
        """Put a deleted conversation back in its place."""
        self._file.run("UPDATE conversation SET deleted_at = NULL WHERE id = ?", (conversation_id,))

    def purge_deleted(self, older_than_s: float) -> None:
        """Really remove, and overwrite in the file, what was deleted at least so many seconds ago."""
        self._file.run(
            "DELETE FROM conversation WHERE deleted_at <= ?", (self._clock() - older_than_s,)
        )

    def path(self, conversation_id: int) -> list[StoredMessage]:
        """The branch that is shown, from the first message to the last."""
        sql = BRANCH + MESSAGE + "WHERE m.id IN branch ORDER BY m.id"
        return [message_from(row) for row in self._file.rows(sql, (conversation_id,))]

    def add_user(
        self,
        conversation_id: int,
        text: str,
        parent_id: int | None,
        attachments: Iterable[Attachment] | None = None,
    ) -> StoredMessage:
        """Save a message that is being sent, show it, and title the conversation if it has no title.

        A parent that has children already makes it a sibling of theirs: this is how a message is edited.

        Args:
            conversation_id: where it belongs.
            text: kept as it is.
            parent_id: the answer it follows; None for the first message.
            attachments: what goes with it, copied; the draft stays. None: the message is the draft, which
                is emptied, and its attachments become the message's.

        Raises:
            EngineError: the conversation is gone, or nothing could be saved; then the draft is still there.
            ValueError: the parent is in another conversation.
        """
        text = storable(text)
        with self._file.transaction():
            if not self._file.rows("SELECT 1 FROM conversation WHERE id = ?", (conversation_id,)):
                raise EngineError(
                    "This conversation no longer exists.",
                    hint="Start a new conversation and send the message there.",
                )
            parent = None if parent_id is None else self._message(parent_id)
            if parent_id is not None and (
                parent is None or parent.conversation_id != conversation_id
            ):
                raise ValueError(f"message {parent_id} is not in conversation {conversation_id}")
            message = self._insert(
                conversation_id, parent_id, role="user", content=text, state="complete"
            )
            if attachments is None:
                self._file.run(
                    "UPDATE conversation SET draft = '' WHERE id = ?", (conversation_id,)
                )
                self._file.run(
                    "UPDATE attachment SET message_id = ?"
                    " WHERE conversation_id = ? AND message_id IS NULL",
                    (message.id, conversation_id),
                )
            for attachment in attachments or ():
                self._attach(conversation_id, message.id, attachment)
            sent = self._message(message.id)
            assert sent is not None
            names = (a.name for a in sent.attachments)
            title = next(filter(None, map(title_from, (text, *names))), "")
            self._file.run(
                "UPDATE conversation SET title = ? WHERE id = ? AND title = ''",
                (title, conversation_id),
            )
        return sent

    def begin_answer(self, user_message_id: int, *, model: str) -> StoredMessage:
        """Make room for an answer and show it; earlier answers to the same message are kept as its siblings.

        Raises:
            EngineError: the message is gone.
            ValueError: it is not a user's message.
        """
        with self._file.transaction():
            asked = self._message(user_message_id)
            if asked is None:
                raise EngineError(
                    "The message to answer no longer exists.", hint="Send the message again."
                )
            if asked.role != "user":
                raise ValueError(f"message {user_message_id} is not a user's message")
            return self._insert(
                asked.conversation_id,
                asked.id,
                role="assistant",
                state="streaming",
                model=storable(model),
            )

    def resume_answer(self, message_id: int) -> None:
        """Let `write_answer` go on with an answer that was stopped or interrupted."""
        self._file.run(
            "UPDATE message SET state = 'streaming', error = ''"
            " WHERE id = ? AND role = 'assistant'",
            (message_id,),
        )

    def write_answer(self, message_id: int, content: str, reasoning: str) -> None:
        """Save the whole text received so far. An answer that is finished stays as it is."""
        self._file.run(
            "UPDATE message SET content = ?, reasoning = ? WHERE id = ? AND state = 'streaming'",
            (storable(content), storable(reasoning), message_id),
        )

    def finish_answer(
        self,
        message_id: int,
        state: MessageState,
        *,
        content: str,
        reasoning: str,
        error: str = "",
        figures: Mapping[str, float | int] | None = None,
    ) -> StoredMessage:
        """Save an answer in its last form.

        Returns:
            The message. Where it was really deleted meanwhile nothing is saved, and the message
            returned has the conversation 0.
        """
        if state not in MESSAGE_STATES or state == "streaming":
            raise ValueError(f"an answer cannot end as {state!r}")
        content, reasoning, error = storable(content), storable(reasoning), storable(error)
        numbers = numbers_to(figures or {})
        with self._file.transaction():
            self._file.run(
                "UPDATE message SET state = ?, content = ?, reasoning = ?, error = ?, figures = ?"
                " WHERE id = ? AND role = 'assistant'",
                (state, content, reasoning, error, numbers, message_id),
            )
            message = self._message(message_id)
        gone = (message_id, 0, None, "assistant", content, reasoning, state, error)
        return message or message_from((*gone, self._clock(), numbers, "", "[]", None, 0, 1))

    def select(self, message_id: int) -> None:
        """Show the branch through this message, and after it what was shown there last."""
        self._file.run(SHOW, (message_id,))

    def siblings(self, message_id: int) -> list[int]:
        """The messages with the same parent, itself included, by age."""
        return [row[0] for row in self._file.rows(SIBLINGS, (message_id,))]

    def value(self, key: str, default: str = "") -> str:
        """Something the window remembers: its geometry, the last conversation."""
        rows = self._file.rows("SELECT value FROM setting WHERE key = ?", (key,))
        return str(rows[0][0]) if rows else default

    def set_value(self, key: str, value: str) -> None:
        """Remember something for `value`."""
        self._file.run(
            "INSERT INTO setting VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = excluded.value",
            (key, storable(value)),
        )

    def _insert(
        self,
        conversation_id: int,
        parent_id: int | None,
        *,
        role: Role,
        state: MessageState,
        content: str = "",
        model: str = "",
    ) -> StoredMessage:
        now = self._clock()
        values = (conversation_id, parent_id, role, content, state, model, now)
        new_id = self._file.run(INSERT, values)
        self._file.run(
            "UPDATE conversation SET updated_at = ?,"
            " position = (SELECT max(position) + 1 FROM conversation) WHERE id = ?",
            (now, conversation_id),
        )
        return message_from(self._file.rows(MESSAGE + "WHERE m.id = ?", (new_id,))[0])

    def _attach(
        self, conversation_id: int, message_id: int | None, attachment: Attachment
    ) -> Attachment:
        if attachment.text is None:
            values = (conversation_id, message_id, attachment.id)
            return replace(attachment, id=self._file.run(ATTACH_AGAIN, values))
        name, text = storable(attachment.name), storable(attachment.text)
        new_id = self._file.run(ATTACH, (conversation_id, message_id, name, len(text), text))
        return Attachment(new_id, name, len(text))

    def _message(self, message_id: int) -> StoredMessage | None:
        rows = self._file.rows(MESSAGE + "WHERE m.id = ?", (message_id,))
        return message_from(rows[0]) if rows else None
