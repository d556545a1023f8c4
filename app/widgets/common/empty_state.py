"""What a page shows when it has nothing to show: an icon, a sentence, one action.

Zone: app.widgets.common.
"""

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.theme import UNIT
from app.widgets.common.buttons import primary_button
from app.widgets.common.labels import IconLabel, label


class EmptyState(QWidget):
    """Centred in the room it is given.

    Signals:
        acted(): the button was pressed.
    """

    acted = Signal()

    def __init__(
        self,
        icon_name: str,
        title: str,
        sentence: str = "",
        action: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("empty_state")
        centre = Qt.AlignmentFlag.AlignHCenter
        self._title = label(role="title", wrap=True)
        self._sentence = label(wrap=True)
        for words in (self._title, self._sentence):
            words.setAlignment(centre)
        self._button = primary_button("", object_name="empty_action")
        self._button.clicked.connect(self.acted)
        column = QVBoxLayout(self)
        column.setContentsMargins(3 * UNIT, 3 * UNIT, 3 * UNIT, 3 * UNIT)
        column.setSpacing(UNIT)
        column.addStretch(2)
        column.addWidget(IconLabel(icon_name, "soft", 32), alignment=centre)
        column.addSpacing(UNIT // 2)
        column.addWidget(self._title)
        column.addWidget(self._sentence)
        column.addSpacing(UNIT)
        column.addWidget(self._button, alignment=centre)
        column.addStretch(3)
        self.set_words(title, sentence, action)

    def set_words(self, title: str, sentence: str = "", action: str = "") -> None:
        """Say something else; parts that are empty are left out."""
        self._title.setText(title)
        self._sentence.setText(sentence)
        self._sentence.setVisible(bool(sentence))
        self._button.setText(action)
        self._button.setAccessibleName(action)
        self._button.setToolTip(action)
        self._button.setVisible(bool(action))
