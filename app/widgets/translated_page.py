"""A page that is built anew when the language changes; what it shows lives in stores, so nothing is lost.

Zone: app.widgets. Neighbours: `library.page`, `settings.page`.
"""

from PySide6.QtCore import QEvent, Qt, QTimer, Slot
from PySide6.QtWidgets import QHBoxLayout, QWidget


class TranslatedPage(QWidget):
    """Subclasses build their content in `build` and call `rebuild` once at the end of `__init__`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("ground")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._content: QWidget | None = None
        row = QHBoxLayout(self)
        row.setContentsMargins(0, 0, 0, 0)
        # Several LanguageChange events come in a row; and the field that caused them must outlive them.
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.setInterval(0)
        self._later.timeout.connect(self.rebuild)

    def build(self) -> QWidget:
        """Everything on the page, in the language in force."""
        raise NotImplementedError  # each page has its own; Qt's metaclass leaves no room for an ABC

    @Slot()
    def rebuild(self) -> None:
        """Replace the content; the focus stays on the control of the same name."""
        focus = self.focusWidget()
        focused = focus.objectName() if focus is not None and focus.hasFocus() else ""
        old, self._content = self._content, self.build()
        if old is not None:
            old.hide()
            old.deleteLater()
        layout = self.layout()
        assert layout is not None
        layout.addWidget(self._content)
        if focused and (control := self._content.findChild(QWidget, focused)) is not None:
            control.setFocus(Qt.FocusReason.OtherFocusReason)

    def changeEvent(self, event: QEvent) -> None:
        """Qt's hook."""
        if event.type() == QEvent.Type.LanguageChange and self._content is not None:
            self._later.start()
        super().changeEvent(event)
