"""The open conversation and every answer that is being written, wherever it belongs.

GUI thread. What the user sends is in the history before the request goes out; what the model writes is
in it at most 100 ms later (the timer has 60). An answer keeps the conversation and message it began in, so switching,
renaming or deleting conversations meanwhile cannot mix them up.
"""

import time
from collections.abc import Sequence
from typing import Any, Protocol

from PySide6.QtCore import QObject, QTimer, Signal, SignalInstance, Slot

from app.attachments import Attachment
from app.history import Conversation, History, MessageState, StoredMessage
from app.stores.asking import chat_request
from app.stores.error_words import sentence
from app.stores.writing import Writing, take_figures
from engine.api.events import ChatEvent, Counted, Finished, Loading, Reading, Started, TextDelta
from engine.api.requests import ChatRequest
from engine.errors import ContextOverflow, EngineError

SAVE_INTERVAL_MS = 60
SPEED_INTERVAL_S = 0.25


class Streams(Protocol):
    """The part of the bridge that a chat needs."""

    event: SignalInstance
    finished: SignalInstance

    def stream(self, request: ChatRequest) -> int:
        """Start an answer; its events carry the number returned."""

    def cancel(self, stream: int) -> None:
        """Stop it; `finished` follows."""


class ChatStore(QObject):
    """The chat page's state.

    Signals:
        conversations_changed(): the list, a title or the order.
        opened(): another conversation is shown, or the same one along another branch.
        message_added(object StoredMessage): at the end of the open conversation.
        streamed(int message, str content, str reasoning): new text of an open answer.
        message_changed(object StoredMessage): an open message has a new state.
        status_changed(): progress, busy state or figures of the open conversation.
        speed_changed(float tokens_per_s, float first_token_ms): of the open answer while it is written.
        deleted(int conversation): it is not in the list any more.
        failed(str sentence): something could not be saved.
    """

    conversations_changed = Signal()
    opened = Signal()
    message_added = Signal(object)
    streamed = Signal(int, str, str)
    message_changed = Signal(object)
    status_changed = Signal()
    speed_changed = Signal(float, float)
    deleted = Signal(int)
    failed = Signal(str)

    def __init__(self, history: History, streams: Streams, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._history = history
        self._streams = streams
        self._writing: dict[int, Writing] = {}
        self._conversation: Conversation | None = None
        self._model = ""
        self.defaults: dict[str, Any] = {}
        """Parameters where a conversation has none of its own."""
        self._save_timer = QTimer(self)
        self._save_timer.setSingleShot(True)
        self._save_timer.setInterval(SAVE_INTERVAL_MS)
        self._save_timer.timeout.connect(self._save_all)
        streams.event.connect(self._on_event)
        streams.finished.connect(self._on_finished)

    # --- what is shown --------------------------------------------------------------------------

    @property
    def conversation(self) -> Conversation | None:
        """The open one; None: a new one that is not saved yet."""
        return self._conversation

    @property
    def model(self) -> str:
        """The model that answers next."""
        return self._model

    @property
    def busy(self) -> bool:
        """An answer of the open conversation is being written."""
        return self._open_writing() is not None

    @property
    def num_writing(self) -> int:
        """Answers that are being written, in all conversations."""
        return len(self._writing)

    @property
    def status(self) -> str:
        """What the engine does for the open answer, such as reading progress."""
        writing = self._open_writing()
        return writing.status if writing else ""

    def conversations(self, query: str = "") -> list[Conversation]:
        """Newest first."""
        return self._history.conversations(query)

    def messages(self) -> list[StoredMessage]:
        """The open conversation's active branch, with the text of open answers."""
        if self._conversation is None:
            return []
        return self._history.path(self._conversation.id)

    # --- conversations ---------------------------------------------------------------------------

    def open(self, conversation_id: int | None) -> None:
        """Show a conversation; None begins a new one."""
        self._save_all()
        self._conversation = (
            None if conversation_id is None else self._history.conversation(conversation_id)
        )
        if self._conversation and self._conversation.model:
            self._model = self._conversation.model
        self._history.set_value("conversation", str(conversation_id or ""))
        self.opened.emit()
        self.status_changed.emit()

    def ensure_conversation(self) -> Conversation:
        """The open one; where there is none yet, a new one."""
        if self._conversation is None:
            self._conversation = self._history.create(model=self._model)
            self._history.set_value("conversation", str(self._conversation.id))
            self.conversations_changed.emit()
        return self._conversation

    def rename(self, conversation_id: int, title: str) -> None:
        """Give a conversation another title."""
        if title.strip():
            self._history.rename(conversation_id, title.strip())
            self._reload(conversation_id)

    def delete(self, conversation_id: int) -> None:
        """Take a conversation out of the list; `restore` undoes it. Its open answers are stopped."""
        for stream, writing in list(self._writing.items()):
            if writing.message.conversation_id == conversation_id:
                self._stop(stream, writing)
        self._history.delete(conversation_id)
        if self._conversation and self._conversation.id == conversation_id:
            self.open(None)
        self.conversations_changed.emit()
        self.deleted.emit(conversation_id)

    def restore(self, conversation_id: int) -> None:
        """Undo a deletion."""
        self._history.restore(conversation_id)
        self.conversations_changed.emit()

    def set_model(self, model: str) -> None:
        """Choose who answers next, here and in new conversations."""
        self._model = model
        if self._conversation:
            self._history.set_options(self._conversation.id, model=model)
            self._reload(self._conversation.id)
        self.status_changed.emit()

    def set_options(self, *, system_prompt: str, parameters: dict[str, float | int]) -> None:
        """Set the open conversation's system prompt and parameters; a new one is created for them."""
        conversation = self.ensure_conversation()
        self._history.set_options(
            conversation.id, system_prompt=system_prompt, parameters=parameters
        )
        self._reload(conversation.id)

    def set_draft(self, text: str, scroll: float | None = None) -> None:
        """Keep what is typed and where the reader is. A first draft creates its conversation."""
        if self._conversation is None and not text.strip():
            return
        try:
            conversation = self.ensure_conversation()
            self._history.set_draft(conversation.id, text, scroll)
            self._conversation = self._history.conversation(conversation.id)
        except EngineError as error:
            self.failed.emit(str(error))

    def set_edit(self, message_id: int, text: str | None) -> None:
        """Keep what the user is making of a message; None: nothing any more."""
        try:
            self._history.set_edit(message_id, text)
        except EngineError as error:
            self.failed.emit(str(error))

    # --- answers ---------------------------------------------------------------------------------

    def send(self, text: str) -> bool:
        """Save a message, with all that lies beside the draft, and ask for its answer.

        Returns:
            False (with `failed`) when it cannot be saved.
        """
        path = self.messages()
        return self._ask(text, path[-1].id if path else None)

    def edit(self, message_id: int, text: str, attachments: Sequence[Attachment] = ()) -> None:
        """Ask a changed question beside the old one, which is kept; so is the draft."""
        message = self._find(message_id)
        if message and self._ask(text, message.parent_id, attachments):
            self.set_edit(message_id, None)
            self.opened.emit()

    def regenerate(self, message_id: int) -> None:
        """Ask for another answer beside this one, which is kept."""
        message = self._find(message_id)
        if message and message.parent_id is not None and not self.busy:
            self._answer(message.parent_id)
            self.opened.emit()

    def continue_answer(self, message_id: int) -> None:
        """Go on with an answer that was stopped or broke off."""
        message = self._find(message_id)
        if message and not self.busy:
            self._history.resume_answer(message_id)
            self._start(message, content=message.content, reasoning=message.reasoning)

    def select_sibling(self, message_id: int, step: int) -> None:
        """Walk to another version of a message."""
        siblings = self._history.siblings(message_id)
        index = siblings.index(message_id) + step
        if 0 <= index < len(siblings) and not self.busy:
            self._history.select(siblings[index])
            self.opened.emit()

    def stop(self) -> None:
        """Stop the open conversation's answer."""
        for stream, writing in list(self._writing.items()):
            if self._is_open(writing.message):
                self._stop(stream, writing)

    def close(self) -> None:
        """Save everything; answers that are being written count as interrupted."""
        for stream, writing in list(self._writing.items()):
            self._streams.cancel(stream)
            self._finish(stream, writing, "interrupted", "")

    # --- inside ----------------------------------------------------------------------------------

    def _ask(
        self, text: str, parent: int | None, attachments: Sequence[Attachment] | None = None
    ) -> bool:
        try:
            conversation = self.ensure_conversation()
            user = self._history.add_user(conversation.id, text, parent, attachments)
        except EngineError as error:
            self.failed.emit(str(error))
            return False
        self._reload(conversation.id)
        self.message_added.emit(user)
        self._answer(user.id)
        return True

    def _answer(self, user_message_id: int) -> None:
        message = self._history.begin_answer(user_message_id, model=self._model)
        self.message_added.emit(message)
        self._start(message)

    def _start(self, message: StoredMessage, *, content: str = "", reasoning: str = "") -> None:
        request = chat_request(
            self._history,
            message,
            model=self._model,
            defaults=self.defaults,
            goes_on=bool(content or reasoning),
        )
        writing = Writing(message, content=content, reasoning=reasoning)
        self._writing[self._streams.stream(request)] = writing
        self.status_changed.emit()

    @Slot(int, object)
    def _on_event(self, stream: int, event: ChatEvent) -> None:
        writing = self._writing.get(stream)
        if writing is None:
            return
        match event:
            case TextDelta():
                self._on_text(writing, event)
                return
            case Loading():
                writing.status = self.tr("Loading the model, {0} %").format(
                    round(event.fraction * 100)
                )
            case Reading():
                text = (
                    self.tr("Re-reading {0} of {1} tokens")
                    if event.again
                    else self.tr("Reading {0} of {1} tokens")
                )
                writing.status = text.format(f"{event.done:,}", f"{event.total:,}")
            case Started():
                if event.seed is not None:
                    writing.figures["seed"] = event.seed
                writing.status = event.notice
            case Finished() | Counted():
                take_figures(writing, event)
        if self._is_open(writing.message):
            self.status_changed.emit()

    def _on_text(self, writing: Writing, delta: TextDelta) -> None:
        if writing.first_at is None:
            writing.first_at = time.monotonic()
            writing.figures["first_token_ms"] = round((writing.first_at - writing.sent_at) * 1000)
            writing.status = ""
            self.status_changed.emit()
        writing.content += delta.content
        writing.reasoning += delta.reasoning
        writing.saved = False
        if not self._save_timer.isActive():
            self._save_timer.start()
        if self._is_open(writing.message):
            self.streamed.emit(writing.message.id, delta.content, delta.reasoning)
            self._tell_speed(writing, delta.tokens)

    def _tell_speed(self, writing: Writing, tokens: int) -> None:
        now = time.monotonic()
        assert writing.first_at is not None
        if tokens > 1 and now - writing.told_at >= SPEED_INTERVAL_S:
            writing.told_at = now
            speed = (tokens - 1) / max(now - writing.first_at, 1e-3)
            self.speed_changed.emit(speed, (writing.first_at - writing.sent_at) * 1000)

    @Slot(int, object)
    def _on_finished(self, stream: int, error: object) -> None:
        writing = self._writing.get(stream)
        if writing is None:
            return
        if isinstance(error, EngineError):
            has_text = bool(writing.content or writing.reasoning)
            can_go_on = has_text and not isinstance(error, ContextOverflow)
            words = sentence(error, writing.message.model)
            self._finish(stream, writing, "interrupted" if can_go_on else "failed", words)
        elif error is not None or writing.stopped:
            self._finish(stream, writing, "stopped", "")
        else:
            self._finish(stream, writing, "complete", "")

    def _stop(self, stream: int, writing: Writing) -> None:
        writing.stopped = True
        self._streams.cancel(stream)
        self._finish(stream, writing, "stopped", "")

    def _finish(self, stream: int, writing: Writing, state: MessageState, error: str) -> None:
        self._writing.pop(stream, None)
        try:
            message = self._history.finish_answer(
                writing.message.id,
                state,
                content=writing.content,
                reasoning=writing.reasoning,
                error=error,
                figures=writing.figures,
            )
        except EngineError as failure:
            self.failed.emit(str(failure))
            return
        if self._is_open(message):
            self.message_changed.emit(message)
            self.status_changed.emit()
        self.conversations_changed.emit()

    @Slot()
    def _save_all(self) -> None:
        for writing in self._writing.values():
            if not writing.saved:
                try:
                    self._history.write_answer(
                        writing.message.id, writing.content, writing.reasoning
                    )
                    writing.saved = True
                except EngineError as error:
                    self.failed.emit(str(error))

    def _reload(self, conversation_id: int) -> None:
        if self._conversation and self._conversation.id == conversation_id:
            self._conversation = self._history.conversation(conversation_id)
        self.conversations_changed.emit()

    def _find(self, message_id: int) -> StoredMessage | None:
        return next((m for m in self.messages() if m.id == message_id), None)

    def _is_open(self, message: StoredMessage) -> bool:
        return self._conversation is not None and message.conversation_id == self._conversation.id

    def _open_writing(self) -> Writing | None:
        return next((w for w in self._writing.values() if self._is_open(w.message)), None)
