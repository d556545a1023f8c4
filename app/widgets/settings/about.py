"""Settings: what this is and what machine it runs on, as text to copy. Neighbours: `section`, `app.stores.diagnostics`."""

from PySide6.QtCore import Signal, Slot
from PySide6.QtGui import QGuiApplication, QShowEvent
from PySide6.QtWidgets import QHBoxLayout, QPlainTextEdit, QWidget

from app.stores.diagnostics import DiagnosticsStore
from app.theme import code_font
from app.widgets.common.buttons import plain_button
from app.widgets.settings.section import Section, soft_label


class AboutSection(Section):
    """Versions, machine, folders.

    Signals:
        said(str sentence): something worth a short notice happened.
    """

    said = Signal(str)

    def __init__(self, store: DiagnosticsStore, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self.set_title(self.tr("About"))
        self.add_widget(
            soft_label(
                self.tr(
                    "Inglenook runs language models on this machine. Nothing you write leaves it."
                )
            )
        )
        self._text = QPlainTextEdit()
        self._text.setObjectName("about-text")
        self._text.setAccessibleName(self.tr("Diagnostics"))
        self._text.setToolTip(self.tr("For a report of a problem: no prompts, no answers, no key"))
        self._text.setReadOnly(True)
        self._text.setTabChangesFocus(True)
        self._text.setLineWrapMode(QPlainTextEdit.LineWrapMode.WidgetWidth)
        self._text.setFont(code_font(12))
        self._text.setMinimumHeight(320)
        copy = plain_button(self.tr("Copy"), object_name="about-copy", icon_name="copy")
        copy.setToolTip(self.tr("Copy the diagnostics"))
        copy.clicked.connect(self._copy)
        foot = QWidget()
        row = QHBoxLayout(foot)
        row.setContentsMargins(0, 12, 0, 12)
        row.addWidget(copy)
        row.addStretch(1)
        self.add_widget(foot)
        self.add_widget(self._text, 1)
        store.changed.connect(self._show)
        self._show()

    def showEvent(self, event: QShowEvent) -> None:
        """Qt's hook: figures such as free memory are fetched when somebody looks."""
        super().showEvent(event)
        self._store.refresh()

    @Slot()
    def _copy(self) -> None:
        QGuiApplication.clipboard().setText(self._store.text)
        self.said.emit(self.tr("The diagnostics were copied."))

    @Slot()
    def _show(self) -> None:
        self._text.setPlainText(self._store.text)
