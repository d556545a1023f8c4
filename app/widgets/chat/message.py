"""One answer: reasoning, text, what went wrong, footer; and the message as plain data.

Zone: app.widgets.chat. New text is buffered and shown at most 30 times a second by a timer that runs only
while there is something to show.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from PySide6.QtCore import QEvent, QTimer, Signal, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QLabel, QVBoxLayout, QWidget

from app.attachments import Attachment
from app.widgets.chat.message_body import MessageBody
from app.widgets.chat.message_footer import MessageFooter
from app.widgets.chat.reasoning import Reasoning
from app.widgets.chat.text_document import BLOCK_GAP
from app.widgets.common.error_box import ErrorBox
from app.widgets.common.labels import label

FLUSH_MS = 33


class Message(Protocol):
    """What a transcript shows; `app.history.StoredMessage` has it all."""

    @property
    def id(self) -> int:
        """Its number, unique in the history."""

    @property
    def role(self) -> str:
        """Either "user" or "assistant"."""

    @property
    def content(self) -> str:
        """Markdown for answers, plain text for the user's."""

    @property
    def reasoning(self) -> str:
        """Plain text."""

    @property
    def state(self) -> str:
        """One of "complete", "streaming", "stopped", "interrupted" or "failed"."""

    @property
    def error(self) -> str:
        """A sentence for the user."""

    @property
    def figures(self) -> Mapping[str, float | int]:
        """Some of tokens, seconds, reused, restored, restore_ms, prompt_tokens."""

    @property
    def model(self) -> str:
        """Who answered."""

    @property
    def attachments(self) -> Sequence[Attachment]:
        """What the user sent along."""

    @property
    def edit(self) -> str | None:
        """What the user is making of it."""

    @property
    def sibling(self) -> int:
        """Its place among the versions of this message, from 0."""

    @property
    def num_siblings(self) -> int:
        """How many versions there are."""


@dataclass(frozen=True, slots=True)
class MessageView:
    """A message made by hand, for tests and benchmarks."""

    id: int
    role: str
    content: str
    reasoning: str = ""
    state: str = "complete"
    error: str = ""
    figures: Mapping[str, float | int] = field(default_factory=dict)
    model: str = ""
    attachments: Sequence[Attachment] = ()
    edit: str | None = None
    sibling: int = 0
    num_siblings: int = 1


class AssistantMessage(QWidget):
    """Shows an answer, while it is written and after.

    Signals:
        regenerate_requested(): another answer is wanted.
        sibling_requested(int step): the answer before (-1) or after (1) is wanted.
        continue_requested(): the answer should go on.
        link_clicked(str address): an http or https link was clicked.
    """

    regenerate_requested = Signal()
    sibling_requested = Signal(int)
    continue_requested = Signal()
    link_clicked = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("answer")
        self._content = ""
        self._reasoning = ""
        self._state = "streaming"
        self._model = ""
        self._can_continue = False
        self._error = ""
        self._thinking_since: float | None = None
        self._thought_s: float | None = None
        # Most answers have none of these three: they are made when they are needed.
        self._thoughts: Reasoning | None = None
        self._status: QLabel | None = None
        self._problem: ErrorBox | None = None
        self._body = MessageBody(self)
        self._body.link_clicked.connect(self.link_clicked)
        self._footer = MessageFooter(self._copied, self)
        self._footer.regenerate_requested.connect(self.regenerate_requested)
        self._footer.sibling_requested.connect(self.sibling_requested)
        self._footer.continue_requested.connect(self.continue_requested)
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(FLUSH_MS)
        self._timer.timeout.connect(self.flush)
        self._layout = QVBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(BLOCK_GAP)
        self._layout.addWidget(self._body)
        self._layout.addWidget(self._footer)
        self._footer.hide()

    @property
    def content(self) -> str:
        """The answer's source so far."""
        return self._content

    @property
    def is_live(self) -> bool:
        """More text may come."""
        return self._state == "streaming"

    def set_width(self, width: int) -> None:
        """Tell the width in pixels that the message will get, so that its text is laid out once."""
        self._body.set_width(width)

    def set_message(self, message: Message) -> None:
        """Show a message, or the new state of the one shown."""
        self.flush()
        if message.content != self._content:
            self._content = message.content
            self._body.set_source(message.content)
        self._reasoning = message.reasoning
        self._state = message.state
        self._model = message.model
        self._error = message.error
        has_text = bool(message.content or message.reasoning)
        self._can_continue = has_text and message.state in {"stopped", "interrupted"}
        if not self.is_live:
            self._body.finish(self._content)
            self._timer.stop()
            self.set_status("")
        self._body.setVisible(bool(self._content))
        self._show_reasoning()
        # Without text there is only "Try again", which the error box has.
        self._footer.setVisible(not self.is_live and (has_text or message.num_siblings > 1))
        self._footer.show_message(
            figures=message.figures,
            sibling=message.sibling,
            num_siblings=message.num_siblings,
            can_continue=self._can_continue and not message.error,
            has_text=bool(message.content),
        )
        self._retranslate()

    def append(self, content: str, reasoning: str) -> None:
        """Take new text; it is shown within `FLUSH_MS`, or when the message is shown."""
        if reasoning and self._thinking_since is None:
            self._thinking_since = time.monotonic()
        if content and self._thinking_since is not None and self._thought_s is None:
            self._thought_s = time.monotonic() - self._thinking_since
        self._content += content
        self._reasoning += reasoning
        self._body.append(content)
        if not self._timer.isActive() and self.isVisible():
            self._timer.start()

    @Slot()
    def flush(self) -> None:
        """Show what has come in."""
        if self._content:
            self._body.flush()
            self._body.show()
        self._show_reasoning()

    def set_status(self, words: str) -> None:
        """Say what the engine does before text comes; nothing hides it."""
        if self._status is None:
            if not words:
                return
            self._status = label(role="soft", parent=self)
            self._layout.insertWidget(self._layout.indexOf(self._body) + 1, self._status)
        self._status.setText(words)
        self._status.setVisible(bool(words) and self.is_live)

    def showEvent(self, event: QShowEvent) -> None:
        """Qt's hook: text that came while the message was hidden."""
        super().showEvent(event)
        if self.is_live:
            self.flush()

    def changeEvent(self, event: QEvent) -> None:
        """Qt's hook."""
        if event.type() == QEvent.Type.LanguageChange:
            self._retranslate()
        super().changeEvent(event)

    def _copied(self) -> str:
        return self._content

    def _show_reasoning(self) -> None:
        if self._thoughts is None:
            if not self._reasoning:
                return
            self._thoughts = Reasoning(self)
            self._layout.insertWidget(0, self._thoughts)
        live = self.is_live and not self._content
        self._thoughts.show_text(self._reasoning, live=live, seconds=self._thought_s)

    def _show_problem(self) -> None:
        if self._problem is None:
            if not self._error:
                return
            self._problem = ErrorBox(self)
            self._problem.acted.connect(self._repair)
            self._layout.insertWidget(self._layout.indexOf(self._footer), self._problem)
        if self._error and not self.is_live:
            action = self.tr("Continue") if self._can_continue else self.tr("Try again")
            self._problem.show_error(self._error, action=action)
        else:
            self._problem.clear()

    def _retranslate(self) -> None:
        name = self.tr("Answer by {0}").format(self._model) if self._model else self.tr("Answer")
        self.setAccessibleName(name)
        self._show_problem()

    @Slot()
    def _repair(self) -> None:
        if self._can_continue:
            self.continue_requested.emit()
        else:
            self.regenerate_requested.emit()
