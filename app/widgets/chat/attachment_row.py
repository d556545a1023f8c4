"""The attachments of a draft or a message, as chips under each other.

Zone: app.widgets.chat. A chip opens its text; in a draft it can be taken away.
"""

from collections.abc import Sequence
from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QHBoxLayout, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from app.attachments import Attachment
from app.theme import UNIT
from app.widgets.common.buttons import HIT_AREA, chip_button, icon_button

_NAME_WIDTH = 240
_MOST_ROWS = 3
"""More of them scroll: the text field must keep its room."""


class AttachmentRow(QScrollArea):
    """Hidden while there are none.

    Signals:
        opened(object Attachment): its text is wanted.
        removed(object Attachment): it should not go along.
    """

    opened = Signal(object)
    removed = Signal(object)

    def __init__(self, *, can_remove: bool, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("attachments")
        self.setAccessibleName(self.tr("Attachments"))
        self._can_remove = can_remove
        self._items: tuple[Attachment, ...] = ()
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)  # its chips have it
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setWidgetResizable(True)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.hide()

    @property
    def items(self) -> tuple[Attachment, ...]:
        """What is shown."""
        return self._items

    def show_items(self, items: Sequence[Attachment]) -> None:
        """Show these instead."""
        if tuple(items) == self._items:
            return
        self._items = tuple(items)
        rows = QWidget()
        column = QVBoxLayout(rows)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(UNIT // 2)
        for item in items:
            column.addLayout(self._row(item))
        self.setWidget(rows)  # Qt deletes the one before
        count = min(max(len(items), 1), _MOST_ROWS)
        self.setFixedHeight(count * HIT_AREA + (count - 1) * UNIT // 2)
        self.setMinimumWidth(rows.sizeHint().width())
        self.setVisible(bool(items))

    def _row(self, item: Attachment) -> QHBoxLayout:
        row = QHBoxLayout()
        row.setSpacing(2)
        name = self.fontMetrics().elidedText(item.name, Qt.TextElideMode.ElideMiddle, _NAME_WIDTH)
        words = self.tr("{0} · {1} characters").format(name, f"{item.characters:,}")
        words = words.replace("&", "&&")  # else Qt takes it for an accelerator
        chip = chip_button(words, object_name="attachment", icon_name="paperclip")
        chip.setAccessibleName(self.tr("Attachment {0}").format(item.name))
        chip.setToolTip(self.tr("Show {0}").format(item.name))
        chip.setMinimumHeight(HIT_AREA)
        chip.clicked.connect(partial(self.opened.emit, item))
        row.addWidget(chip)
        if self._can_remove:
            cross = icon_button("x", self.tr("Remove"), object_name="detach", size=16)
            cross.setAccessibleName(self.tr("Remove {0}").format(item.name))
            cross.clicked.connect(partial(self.removed.emit, item))
            row.addWidget(cross)
        row.addStretch(1)
        return row
