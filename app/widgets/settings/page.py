"""The Settings page: sections on the left, their rows on the right, notices on top.

Zone: app.widgets. Neighbours: `app.stores.settings`, `app.stores.diagnostics`, the sections beside this file.
"""

from collections.abc import Callable, Sequence

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QListWidget,
    QScrollArea,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.stores.diagnostics import DiagnosticsStore
from app.stores.kept import KeptStore
from app.stores.network import NetworkStore
from app.stores.settings import SettingsStore
from app.theme import TEXT_WIDTH, UNIT
from app.widgets.common.buttons import plain_button
from app.widgets.common.error_box import ErrorBox
from app.widgets.common.labels import IconLabel, label
from app.widgets.settings.about import AboutSection
from app.widgets.settings.answers import AnswersSection
from app.widgets.settings.conversations import ConversationsSection
from app.widgets.settings.general import GeneralSection
from app.widgets.settings.network import NetworkSection
from app.widgets.settings.running import RunningSection
from app.widgets.settings.section import Section
from app.widgets.settings.service import ServiceSection
from app.widgets.settings.shortcuts import ShortcutsSection
from app.widgets.translated_page import TranslatedPage

WIDTH = 256


class SettingsPage(TranslatedPage):
    """Settings.

    Args:
        store: the values.
        diagnostics: the text about this machine.
        kept: what the service keeps of conversations.
        network: how the hub is reached.
        shortcuts: gives (what it does, its keys) in the language in force.
        parent: as Qt's.

    Signals:
        restart_wanted(): the service should be started again with the new values.
        said(str sentence, str action, object callback): for a short notice; both are empty here.
    """

    restart_wanted = Signal()
    said = Signal(str, str, object)

    def __init__(
        self,
        store: SettingsStore,
        diagnostics: DiagnosticsStore,
        kept: KeptStore,
        network: NetworkStore,
        shortcuts: Callable[[], Sequence[tuple[str, str]]] = tuple,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._store, self._diagnostics = store, diagnostics
        self._kept, self._network = kept, network
        self._shortcuts = shortcuts
        self._section = 0
        self.rebuild()
        store.trouble_changed.connect(self._show)
        store.restart_needed_changed.connect(self._show)

    def build(self) -> QWidget:
        """See `TranslatedPage`."""
        store = self._store
        self.setAccessibleName(self.tr("Settings"))
        service, about = ServiceSection(store), AboutSection(self._diagnostics)
        service.said.connect(self._say)
        about.said.connect(self._say)
        self._trouble = ErrorBox()
        self._trouble.acted.connect(store.retry)
        self._restart = self._restart_strip()
        sections = [
            GeneralSection(store),
            AnswersSection(store),
            RunningSection(store),
            ConversationsSection(store, self._kept),
            service,
            NetworkSection(store, self._network),
            ShortcutsSection(self._shortcuts()),
            about,
        ]
        content = self._laid_out(sections)
        self._show()
        return content

    def _restart_strip(self) -> QFrame:
        strip = QFrame()
        strip.setObjectName("card")
        words = label(self.tr("Some changes wait for the service to start again."), wrap=True)
        button = plain_button(
            self.tr("Restart now"), object_name="settings-restart", icon_name="arrows-clockwise"
        )
        button.setToolTip(self.tr("Start the service again; answers that run are stopped"))
        button.clicked.connect(self.restart_wanted)
        row = QHBoxLayout(strip)
        row.setContentsMargins(2 * UNIT, UNIT, UNIT, UNIT)
        row.addWidget(IconLabel("info"))
        row.addWidget(words, 1)
        row.addWidget(button)
        return strip

    def _laid_out(self, sections: Sequence[Section]) -> QWidget:
        self._names = QListWidget()
        self._names.setObjectName("settings-sections")
        self._names.setAccessibleName(self.tr("Sections"))
        self._names.setToolTip(self.tr("Sections of the settings"))
        self._stack = QStackedWidget()
        for section in sections:
            self._names.addItem(section.title)
            self._stack.addWidget(_scrolled(section))
        self._names.currentRowChanged.connect(self._stack.setCurrentIndex)
        self._names.currentRowChanged.connect(self._remember)
        self._names.setCurrentRow(self._section)
        body = QVBoxLayout()
        body.setSpacing(0)
        body.addLayout(self._notices())
        body.addWidget(self._stack, 1)
        content = QWidget()
        row = QHBoxLayout(content)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(0)
        row.addWidget(self._panel())
        row.addLayout(body, 1)
        return content

    def _panel(self) -> QFrame:
        panel = QFrame()
        panel.setObjectName("panel")
        panel.setFixedWidth(WIDTH)
        title = label(self.tr("Settings"), "title")
        title.setContentsMargins(UNIT, UNIT // 2, 0, UNIT)
        side = QVBoxLayout(panel)
        side.setContentsMargins(3 * UNIT // 2, 14, 3 * UNIT // 2, 3 * UNIT // 2)
        side.addWidget(title)
        side.addWidget(self._names, 1)
        return panel

    def _notices(self) -> QHBoxLayout:
        notices = QWidget()
        notices.setMaximumWidth(TEXT_WIDTH)
        column = QVBoxLayout(notices)
        column.setContentsMargins(0, 2 * UNIT, 0, 0)
        column.addWidget(self._trouble)
        column.addWidget(self._restart)
        row = QHBoxLayout()
        row.setContentsMargins(4 * UNIT, 0, 4 * UNIT, 0)
        row.addStretch(1)
        row.addWidget(notices, 100)
        row.addStretch(1)
        return row

    @Slot(int)
    def _remember(self, section: int) -> None:
        self._section = section

    def show_section(self, title: str) -> None:
        """Open the section of that title; used for links from elsewhere."""
        found = self._names.findItems(title, Qt.MatchFlag.MatchExactly)
        if found:
            self._names.setCurrentItem(found[0])

    @Slot()
    def _show(self) -> None:
        self._restart.setVisible(self._store.restart_needed)
        if self._store.trouble:
            self._trouble.show_error(self._store.trouble, action=self.tr("Try again"))
        else:
            self._trouble.clear()

    @Slot(str)
    def _say(self, sentence: str) -> None:
        self.said.emit(sentence, "", None)


def _scrolled(section: Section) -> QScrollArea:
    page = QWidget()
    page.setObjectName("ground")
    row = QHBoxLayout(page)
    row.setContentsMargins(4 * UNIT, 3 * UNIT, 4 * UNIT, 3 * UNIT)
    row.addStretch(1)
    row.addWidget(section, 100)
    row.addStretch(1)
    area = QScrollArea()
    area.setObjectName("ground")
    area.setAccessibleName(section.title)
    area.setFrameShape(QFrame.Shape.NoFrame)
    area.setWidgetResizable(True)
    area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
    area.setWidget(page)
    return area
