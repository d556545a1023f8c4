"""A conversation as a column of widgets, of which only those near the reader exist.

Zone: app.widgets.chat, used by `transcript`, which knows where the reader is. An answer that is still being
written keeps its widget, in or out of the column, so that no text of it is lost.
"""

from collections.abc import Iterator, Sequence

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QSizePolicy, QVBoxLayout, QWidget

from app.theme import TEXT_WIDTH, UNIT
from app.widgets.chat.message import AssistantMessage, Message
from app.widgets.chat.message_body import MessageBody
from app.widgets.chat.user_message import UserMessage

MOST_LOADED = 90
"""More are never widgets at the same time: those furthest from the reader go."""
_DELETED_MS = 1000
"""After it went, when there is time: deleting a long answer takes as long as beginning to show the next."""

MessageWidget = AssistantMessage | UserMessage


class MessageColumn(QWidget):
    """Messages `first` to `last` (exclusive) of the conversation are widgets.

    Signals:
        regenerate_requested(int id), sibling_requested(int id, int step), continue_requested(int id),
        edited(int id, str text, object attachments), edit_changed(int id, object text),
        attachment_opened(object), link_clicked(str address): as in `Transcript`.
    """

    regenerate_requested = Signal(int)
    sibling_requested = Signal(int, int)
    continue_requested = Signal(int)
    edited = Signal(int, str, object)
    edit_changed = Signal(int, object)
    attachment_opened = Signal(object)
    link_clicked = Signal(str)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("column")
        # What does not fit is for the messages to wrap, not for the column to grow.
        self.setMinimumWidth(1)
        self.setMaximumWidth(TEXT_WIDTH)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.messages: list[Message] = []
        self.first = self.last = 0
        self._text_width = TEXT_WIDTH
        self._loaded: dict[int, MessageWidget] = {}
        self._kept: dict[int, MessageWidget] = {}  # being written, but out of sight
        self._edits: dict[int, str | None] = {}  # newer than in `messages`
        self._rows = QVBoxLayout(self)
        self._rows.setContentsMargins(0, 2 * UNIT, 0, 3 * UNIT)
        self._rows.setSpacing(2 * UNIT)
        self._rows.addStretch(1)

    # --- the conversation ------------------------------------------------------------------------

    def set_messages(self, messages: Sequence[Message]) -> None:
        """Another conversation; nothing of it is loaded yet."""
        self._drop_first(self.last - self.first)
        for widget in self._kept.values():
            widget.deleteLater()
        self._kept = {}
        self.messages = list(messages)
        self._edits = {}
        self.first = self.last = 0

    def update_message(self, message: Message) -> None:
        """Show the new state of a message."""
        index = self._index(message.id)
        if index is None:
            return
        self.messages[index] = message
        if (widget := self._loaded.get(message.id)) is not None:
            widget.set_message(message)
        elif (kept := self._kept.pop(message.id, None)) is not None:
            kept.deleteLater()

    def widget(self, message: int) -> MessageWidget | None:
        """The widget of a message, if it is loaded."""
        return self._loaded.get(message)

    def answer(self, message: int) -> AssistantMessage | None:
        """The widget that takes an answer's text, loaded or not."""
        widget = self._loaded.get(message) or self._kept.get(message)
        if widget is None and (index := self._index(message)) is not None:
            widget = self._kept[message] = self._new(self.messages[index])
            widget.hide()
            widget.set_message(self.messages[index])
        return widget if isinstance(widget, AssistantMessage) else None

    def set_text_width(self, width: int) -> None:
        """Tell the width in pixels that messages will get."""
        self._text_width = width
        for widget in (*self._loaded.values(), *self._kept.values()):
            widget.set_width(width)

    def rows(self) -> Iterator[tuple[int, MessageWidget]]:
        """What is loaded, from the top, with its index in the conversation."""
        for index in range(self.first, self.last):
            yield index, self._loaded[self.messages[index].id]

    def row_height(self, widget: MessageWidget) -> int:
        """Pixels from a message to the next."""
        return widget.height() + self._rows.spacing()

    # --- what is loaded --------------------------------------------------------------------------

    @property
    def is_full(self) -> bool:
        """Another message would drop one at the other end."""
        return self.last - self.first >= MOST_LOADED

    def load_end(self) -> None:
        """Load the last message and nothing else."""
        self._drop_first(self.last - self.first)
        self.first = self.last = max(len(self.messages) - 1, 0)
        self.load_after()

    def load_around(self, index: int) -> None:
        """Load a message and nothing else, unless it is loaded."""
        if not self.first <= index < self.last:
            self._drop_first(self.last - self.first)
            self.first = self.last = index
            self.load_after()

    def load_before(self) -> None:
        """Load one more above, if there is one, and let go of what is too far below."""
        if self.first > 0:
            self.first -= 1
            self._rows.insertWidget(0, self._make(self.messages[self.first]))
        while self.last - self.first > MOST_LOADED:
            self.last -= 1
            self._drop(self.messages[self.last])

    def load_after(self) -> None:
        """Load one more below, if there is one, and let go of what is too far above."""
        if self.last < len(self.messages):
            # Before the stretch that keeps a short conversation at the top.
            widget = self._make(self.messages[self.last])
            self._rows.insertWidget(self._rows.count() - 1, widget)
            self.last += 1
        self._drop_first(self.last - self.first - MOST_LOADED)

    def unbuilt(self) -> MessageBody | None:
        """The lowest loaded text that is not all shown yet."""
        direct = Qt.FindChildOption.FindDirectChildrenOnly
        for message in reversed(self.messages[self.first : self.last]):
            body = self._loaded[message.id].findChild(MessageBody, options=direct)
            if isinstance(body, MessageBody) and not body.is_built:
                return body
        return None

    def _drop_first(self, count: int) -> None:
        for _ in range(count):
            self._drop(self.messages[self.first])
            self.first += 1

    def _drop(self, message: Message) -> None:
        widget = self._loaded.pop(message.id)
        self._rows.removeWidget(widget)
        widget.hide()
        if isinstance(widget, AssistantMessage) and widget.is_live:
            self._kept[message.id] = widget
        else:
            QTimer.singleShot(_DELETED_MS, widget.deleteLater)

    def _make(self, message: Message) -> MessageWidget:
        widget = self._kept.pop(message.id, None)
        if widget is None:
            widget = self._new(message)
            widget.resize(self._text_width, 0)
            widget.set_width(self._text_width)
            widget.set_message(message)
            edit = self._edits.get(message.id, message.edit)
            if isinstance(widget, UserMessage) and edit is not None:
                widget.resume_editing(edit)
        widget.show()
        self._loaded[message.id] = widget
        return widget

    def _new(self, message: Message) -> MessageWidget:
        number = message.id
        if message.role == "user":
            question = UserMessage(self)
            question.edited.connect(lambda *what: self.edited.emit(number, *what))
            question.edit_changed.connect(lambda text: self._on_edit(number, text))
            question.attachment_opened.connect(self.attachment_opened)
            question.sibling_requested.connect(lambda s: self.sibling_requested.emit(number, s))
            return question
        answer = AssistantMessage(self)
        answer.regenerate_requested.connect(lambda: self.regenerate_requested.emit(number))
        answer.continue_requested.connect(lambda: self.continue_requested.emit(number))
        answer.sibling_requested.connect(lambda s: self.sibling_requested.emit(number, s))
        answer.link_clicked.connect(self.link_clicked)
        return answer

    def _on_edit(self, message: int, text: str | None) -> None:
        self._edits[message] = text
        self.edit_changed.emit(message, text)

    def _index(self, message: int) -> int | None:
        """From the end, where messages change."""
        for index in reversed(range(len(self.messages))):
            if self.messages[index].id == message:
                return index
        return None
