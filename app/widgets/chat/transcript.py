"""The conversation on screen: scrolling, following the end, places that survive a restart.

Zone: app.widgets.chat, over `message_column`. It follows the end only while the reader is there. A place is a
number from 0 to 1 over all messages, whether loaded or not.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from PySide6.QtCore import QEvent, Qt, QTimer, Signal, Slot
from PySide6.QtGui import QKeyEvent, QResizeEvent, QShowEvent
from PySide6.QtWidgets import QApplication, QFrame, QHBoxLayout, QScrollArea, QWidget

from app.theme import TEXT_WIDTH, UNIT
from app.widgets.chat.message import Message
from app.widgets.chat.message_column import MessageColumn, MessageWidget
from app.widgets.common.buttons import describe, icon_button

_NEAR_PX = 1000
_SLICE_S = 0.015
"""How long messages are loaded before the window gets its turn."""
_AT_END_PX = 24
_MARGIN = 2 * UNIT
_FLOATING = """
QToolButton { background: palette(base); border: 1px solid palette(mid); border-radius: 17px; }
QToolButton:hover { background: palette(midlight); }
QToolButton:focus { border: 2px solid palette(highlight); padding: 5px; }
"""
_LEVELS = 8
"""Layouts between a text and the scroll bar; Qt hands a new height up by one level at a time."""


class Transcript(QScrollArea):
    """Shows a conversation.

    Signals:
        regenerate_requested(int id): another answer beside this one is wanted.
        sibling_requested(int id, int step): the version before (-1) or after (1) is wanted.
        continue_requested(int id): the answer should go on.
        edited(int id, str text, object attachments): the message should be sent again, with these instead.
        edit_changed(int id, object text): what is being typed instead of a message; None: nothing any more.
        attachment_opened(object Attachment): its text is wanted.
        link_clicked(str address): an http or https link was clicked; nothing was opened.
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
        self.setObjectName("transcript")
        self._is_following = True
        self._is_busy = False
        self._wanted: float | None = None  # a place to go to once all around it is shown
        self._column = MessageColumn()
        self._column.regenerate_requested.connect(self.regenerate_requested)
        self._column.sibling_requested.connect(self.sibling_requested)
        self._column.continue_requested.connect(self.continue_requested)
        self._column.edited.connect(self.edited)
        self._column.edit_changed.connect(self.edit_changed)
        self._column.attachment_opened.connect(self.attachment_opened)
        self._column.link_clicked.connect(self.link_clicked)
        self._page = QWidget()
        self._page.setObjectName("ground")
        across = QHBoxLayout(self._page)
        across.setContentsMargins(_MARGIN, 0, _MARGIN, 0)
        across.addStretch()
        across.addWidget(self._column, 1)
        across.addStretch()
        self.setWidget(self._page)
        self.setWidgetResizable(True)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        # A click must not draw the focus ring around the page.
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        bar = self.verticalScrollBar()
        bar.setSingleStep(5 * UNIT)
        bar.valueChanged.connect(self._on_scrolled)
        bar.rangeChanged.connect(self._on_grown)
        self._jump = icon_button("arrow-down", "", object_name="jump_to_end", size=18, parent=self)
        self._jump.setStyleSheet(_FLOATING)
        self._jump.clicked.connect(self.scroll_to_end)
        self._jump.hide()
        self._more = QTimer(self)
        self._more.setSingleShot(True)
        self._more.timeout.connect(self._load_some)
        self._retranslate()

    # --- messages --------------------------------------------------------------------------------

    def show_messages(self, messages: Sequence[Message]) -> None:
        """Show a conversation from its end."""
        self._wanted = None
        with self._unwatched():
            self._column.set_messages(messages)
            self._column.load_end()
        self._go_to_end()
        self._more.start()

    def add(self, message: Message) -> None:
        """Add a message at the end and go there."""
        column = self._column
        column.messages.append(message)
        if column.last == len(column.messages) - 1:
            with self._unwatched():
                column.load_after()
        self.scroll_to_end()

    @Slot(int, str, str)
    def stream_delta(self, message: int, content: str, reasoning: str) -> None:
        """Add text to an answer that is being written."""
        answer = self._column.answer(message)
        if answer is not None:
            answer.append(content, reasoning)

    @Slot(object)
    def update_message(self, message: Message) -> None:
        """Show the new state of a message, such as its end."""
        self._column.update_message(message)
        self._more.start()

    def set_status(self, message: int, words: str) -> None:
        """Say under an answer what the engine does before its text comes."""
        answer = self._column.answer(message)
        if answer is not None:
            answer.set_status(words)

    def message(self, message: int) -> MessageWidget | None:
        """The widget of a message, if it is loaded."""
        return self._column.widget(message)

    # --- place -----------------------------------------------------------------------------------

    @property
    def is_following(self) -> bool:
        """The reader is at the end, and stays there as text comes."""
        return self._is_following

    def position(self) -> float:
        """Where the reader is: 0 at the very beginning, 1 at the end."""
        if self._wanted is not None:
            return self._wanted
        if self._is_following or not self._column.messages:
            return 1.0
        top = self.verticalScrollBar().value()
        for index, widget in self._column.rows():
            y, height = self._y(widget), self._column.row_height(widget)
            if top < y + height:
                part = min(max((top - y) / height, 0.0), 0.999)
                return (index + part) / len(self._column.messages)
        return 1.0

    def set_position(self, position: float) -> None:
        """Go to a place that `position` returned; while hidden, once shown."""
        self._wanted = position
        if not self.isVisible():
            return
        if position >= 1.0 or not self._column.messages:
            self.scroll_to_end()
            return
        self._is_following = False
        with self._unwatched():
            self._go_to(position)
        self._load_some()

    @Slot()
    def scroll_to_end(self) -> None:
        """Go to the end and follow it."""
        if self._column.last < len(self._column.messages):
            with self._unwatched():
                self._column.load_end()
        self._go_to_end()
        self._load_some()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Qt's hook: Home and End beside Qt's own keys."""
        if event.key() == Qt.Key.Key_Home:
            self.set_position(0.0)
        elif event.key() == Qt.Key.Key_End:
            self.scroll_to_end()
        else:
            super().keyPressEvent(event)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt's hook: the reader keeps the place, though every text has another height."""
        place = self.position()
        with self._unwatched():
            self._column.set_text_width(min(TEXT_WIDTH, event.size().width() - 2 * _MARGIN))
            super().resizeEvent(event)
        if self.isVisible() and not self._is_busy:  # else whoever is busy goes to the place
            self._settle()
            self.set_position(place)
        self._place_jump()

    def showEvent(self, event: QShowEvent) -> None:
        """Qt's hook: only what is shown has heights, and so places."""
        super().showEvent(event)
        self._settle()
        self.set_position(self.position())

    def changeEvent(self, event: QEvent) -> None:
        """Qt's hook."""
        if event.type() == QEvent.Type.LanguageChange:
            self._retranslate()
        super().changeEvent(event)

    # --- inside ----------------------------------------------------------------------------------

    def _go_to_end(self) -> None:
        self._wanted = None
        self._is_following = True
        self._settle()
        self.verticalScrollBar().setValue(self.verticalScrollBar().maximum())
        self._update_jump()

    def _y(self, widget: QWidget) -> int:
        return widget.y() + self._column.y()

    @contextmanager
    def _unwatched(self) -> Iterator[None]:
        """While messages come and go, Qt moves the scroll bar; that is not the reader."""
        was_busy, self._is_busy = self._is_busy, True
        try:
            yield
        finally:
            self._is_busy = was_busy

    def _settle(self) -> None:
        """Lay out now what was added, so that heights are true."""
        with self._unwatched():
            for _ in range(_LEVELS):
                QApplication.sendPostedEvents(None, QEvent.Type.LayoutRequest.value)

    @Slot()
    def _on_scrolled(self) -> None:
        if not self._is_busy:
            self._wanted = None
            self._find_end()
            self._more.start()

    def _find_end(self) -> None:
        bar, column = self.verticalScrollBar(), self._column
        is_all_below = column.last == len(column.messages)
        self._is_following = is_all_below and bar.value() >= bar.maximum() - _AT_END_PX
        self._update_jump()

    @Slot()
    def _load_some(self) -> None:
        """Load what is missing around the reader, for `_SLICE_S`; the rest after other events."""
        end = time.perf_counter() + _SLICE_S
        while self.isVisible() and (load := self._missing()) is not None:
            self._keep_place(load)
            if time.perf_counter() > end:
                self._more.start()
                return
        if self._wanted is not None and self.isVisible():
            self._wanted = None
            self._find_end()

    def _missing(self) -> Callable[[], None] | None:
        """What to load next; None: all that is near the reader is there."""
        bar, column = self.verticalScrollBar(), self._column
        is_near_top = bar.value() < _NEAR_PX
        is_near_end = bar.value() > bar.maximum() - _NEAR_PX
        if not (is_near_top and is_near_end and column.is_full):  # else one would drop the other
            if is_near_end and column.last < len(column.messages):
                return column.load_after
            if is_near_top and column.first > 0:
                return column.load_before
        body = column.unbuilt()
        return body.build if body is not None else None

    def _keep_place(self, load: Callable[[], None]) -> None:
        """Load more without moving what the reader sees."""
        with self._unwatched():
            self._settle()
            bar = self.verticalScrollBar()
            top = bar.value()
            bottoms = ((w, self._y(w) + w.height()) for _, w in self._column.rows())
            # By its lower edge, as a text is built from its end.
            anchor, bottom = next((b for b in bottoms if b[1] > top), (None, 0))
            load()
            self._settle()
            if self._is_following:
                bar.setValue(bar.maximum())
            elif self._wanted is not None:
                self._go_to(self._wanted)
            elif anchor is not None:
                bar.setValue(top + self._y(anchor) + anchor.height() - bottom)

    def _go_to(self, position: float) -> None:
        """Scroll to a place, as far as heights are known."""
        # A thousandth of a message, so that 0.7 of 60 is message 42 and not the end of 41.
        place = max(position, 0.0) * len(self._column.messages) + 1e-6
        index, part = int(place), place % 1
        self._column.load_around(index)
        self._settle()
        widget = dict(self._column.rows())[index]
        y = self._y(widget) + int(part * self._column.row_height(widget))
        self.verticalScrollBar().setValue(y if place > 1e-3 else 0)

    @Slot()
    def _on_grown(self) -> None:
        if self._is_following and not self._is_busy:
            self.verticalScrollBar().setValue(self.verticalScrollBar().maximum())
        self._update_jump()

    def _update_jump(self) -> None:
        self._jump.setVisible(not self._is_following and bool(self._column.messages))
        self._place_jump()

    def _place_jump(self) -> None:
        if self._jump.isVisible():
            size = self._jump.sizeHint()
            x = (self.viewport().width() - size.width()) // 2
            y = self.height() - size.height() - UNIT
            self._jump.setGeometry(x, y, size.width(), size.height())
            self._jump.raise_()

    def _retranslate(self) -> None:
        self.setAccessibleName(self.tr("Conversation"))
        describe(self._jump, self.tr("Jump to the end (End)"))
