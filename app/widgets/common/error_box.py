"""What went wrong: one sentence, a next step, one button, and details to unfold.

Zone: app.widgets.common; the words come from `engine.errors` through a store.
"""

from PySide6.QtCore import QEvent, Qt, Signal, Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPlainTextEdit, QVBoxLayout, QWidget

from app.theme import UNIT, code_font
from app.widgets.common.buttons import PushButton, plain_button
from app.widgets.common.labels import IconLabel, label


class ErrorBox(QFrame):
    """Shows one error where it happened; hidden until it has one.

    Signals:
        acted(): the button was pressed.
    """

    acted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("errorbox")
        self._message = label(wrap=True, selectable=True)
        self._hint = label(role="soft", wrap=True, selectable=True)
        self._button = plain_button("", object_name="error_action")
        self._button.clicked.connect(self.acted)
        self._fold = PushButton("", "quiet", "caret-right", None)
        self._fold.setObjectName("error_fold")
        self._fold.setCheckable(True)
        self._fold.toggled.connect(self._unfold)
        self._details = QPlainTextEdit()
        self._details.setObjectName("error_details")
        self._details.setReadOnly(True)
        self._details.setFont(code_font(12))
        self._details.setFixedHeight(16 * UNIT)
        self._details.setTabChangesFocus(True)
        self._details.hide()
        self._lay_out()
        self._retranslate()
        self.hide()

    def show_error(
        self, message: str, *, hint: str = "", action: str = "", details: str = ""
    ) -> None:
        """Show an error; parts that are empty are left out."""
        self._message.setText(message)
        self._hint.setText(hint)
        self._hint.setVisible(bool(hint))
        self._button.setText(action)
        self._button.setAccessibleName(action)
        self._button.setToolTip(action)
        self._button.setVisible(bool(action))
        self._details.setPlainText(details)
        self._fold.setChecked(False)
        self._fold.setVisible(bool(details))
        self.setAccessibleName(message)
        self.show()

    @Slot()
    def clear(self) -> None:
        """There is no error any more."""
        self.hide()

    def changeEvent(self, event: QEvent) -> None:
        """Qt's hook."""
        if event.type() == QEvent.Type.LanguageChange:
            self._retranslate()
        super().changeEvent(event)

    @Slot(bool)
    def _unfold(self, open_: bool) -> None:
        self._fold.set_icon("caret-down" if open_ else "caret-right")
        self._details.setVisible(open_)

    def _lay_out(self) -> None:
        words = QVBoxLayout()
        words.setSpacing(UNIT // 2)
        words.addWidget(self._message)
        words.addWidget(self._hint)
        buttons = QHBoxLayout()
        buttons.setSpacing(UNIT)
        buttons.addWidget(self._button)
        buttons.addWidget(self._fold)
        buttons.addStretch(1)
        words.addSpacing(UNIT // 2)
        words.addLayout(buttons)
        words.addWidget(self._details)
        row = QHBoxLayout(self)
        row.setContentsMargins(2 * UNIT, 3 * UNIT // 2, 2 * UNIT, 3 * UNIT // 2)
        row.setSpacing(3 * UNIT // 2)
        row.addWidget(IconLabel("warning", "error"), alignment=Qt.AlignmentFlag.AlignTop)
        row.addLayout(words, 1)

    def _retranslate(self) -> None:
        words = self.tr("Details")
        self._fold.setText(words)
        self._fold.setAccessibleName(words)
        self._fold.setToolTip(self.tr("Show the details"))
        self._details.setAccessibleName(words)
