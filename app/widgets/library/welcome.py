"""The models page without models: one recommended for this machine, the starter model, or a file of one's own.

Zone: app.widgets.library. Neighbours: `page`, `suggestion_card`, `app.stores.starter`.
"""

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from app.item_models.library import size_text
from app.stores.downloads import DownloadsStore
from app.stores.starter import StarterStore
from app.stores.suggestion import SuggestionStore
from app.theme import UNIT
from app.widgets.common.buttons import plain_button, primary_button
from app.widgets.common.error_box import ErrorBox
from app.widgets.common.labels import IconLabel, label
from app.widgets.common.progress_line import ProgressLine
from app.widgets.library.suggestion_card import SuggestionCard

_WIDTH = 520


class Welcome(QScrollArea):
    """The first thing a new user sees here.

    Signals:
        file_wanted(): the user wants to add a file.
        search_wanted(): the user wants to look for another model.
    """

    file_wanted = Signal()
    search_wanted = Signal()

    def __init__(
        self,
        store: StarterStore,
        suggestion: SuggestionStore,
        downloads: DownloadsStore,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self._store, self._suggestion = store, suggestion
        self.setObjectName("ground")
        self.setAccessibleName(self.tr("A first model"))
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._intro = label(wrap=True)
        self._asking = label(
            self.tr("Looking for a model that suits this machine…"), "soft", wrap=True
        )
        self._asking.setObjectName("welcome-asking")
        self._suggested = SuggestionCard(suggestion, downloads)
        self._or = label(self.tr("Or a small one to begin with, good on every machine:"), "soft")
        self._lay_out()
        store.changed.connect(self._show)
        suggestion.changed.connect(self._show)
        self._show()

    def sizeHint(self) -> QSize:
        """Qt's hook: the column and some air."""
        return QSize(_WIDTH + 6 * UNIT, 60 * UNIT)

    def showEvent(self, event: QShowEvent) -> None:
        """Qt's hook: a model is looked for when somebody looks."""
        super().showEvent(event)
        self._suggestion.look()

    def _lay_out(self) -> None:
        centre = Qt.AlignmentFlag.AlignHCenter
        title = label(self.tr("A first model"), "display", wrap=True)
        drop = label(self.tr("Or drop a GGUF file anywhere on this page."), "soft", wrap=True)
        for words in (title, self._intro, self._asking, self._or, drop):
            words.setAlignment(centre)
        body = QWidget()
        body.setMaximumWidth(_WIDTH)
        column = QVBoxLayout(body)
        column.setSpacing(UNIT)
        column.addStretch(2)
        column.addWidget(IconLabel("cube", "ember", 32), alignment=centre)
        column.addWidget(title)
        column.addWidget(self._intro)
        column.addSpacing(UNIT)
        column.addWidget(self._asking)
        column.addWidget(self._suggested)
        column.addSpacing(UNIT)
        column.addWidget(self._or)
        column.addWidget(self._starter_card())
        column.addSpacing(UNIT)
        column.addLayout(self._other_ways())
        column.addWidget(drop)
        column.addStretch(3)
        page = QWidget()
        page.setObjectName("ground")
        row = QHBoxLayout(page)
        row.addStretch(1)
        row.addWidget(body, 100)
        row.addStretch(1)
        self.setWidget(page)

    def _other_ways(self) -> QHBoxLayout:
        search = plain_button(
            self.tr("Find others…"), object_name="welcome-search", icon_name="magnifying-glass"
        )
        search.setToolTip(self.tr("Look for other models"))
        search.clicked.connect(self.search_wanted)
        add = plain_button(self.tr("Add a file…"), object_name="welcome-add", icon_name="plus")
        add.setToolTip(self.tr("Add a model file that lies on this machine (Ctrl+O)"))
        add.clicked.connect(self.file_wanted)
        row = QHBoxLayout()
        row.setSpacing(UNIT)
        row.addStretch(1)
        row.addWidget(search)
        row.addWidget(add)
        row.addStretch(1)
        return row

    def _starter_card(self) -> QFrame:
        self._name = label(role="title", wrap=True)
        self._facts = label(role="soft", wrap=True)
        words = self.tr("Fetch"), self.tr("Download this model")
        self._fetch = primary_button(
            words[0], object_name="welcome-fetch", icon_name="download-simple"
        )
        self._fetch_small = plain_button(words[0], object_name="welcome-fetch-small")
        for button in (self._fetch, self._fetch_small):
            button.setToolTip(words[1])
            button.clicked.connect(self._store.fetch)
        self._cancel = plain_button(self.tr("Cancel"), object_name="welcome-cancel")
        self._cancel.setToolTip(self.tr("Stop the download; nothing is left behind"))
        self._cancel.clicked.connect(self._store.cancel)
        self._progress = ProgressLine()
        self._trouble = ErrorBox()
        self._trouble.acted.connect(self._store.fetch)
        self._card = QFrame()
        self._card.setObjectName("card")
        names = QVBoxLayout()
        names.setSpacing(UNIT // 2)
        names.addWidget(self._name)
        names.addWidget(self._facts)
        top = QHBoxLayout()
        top.addLayout(names, 1)
        for control in (self._fetch, self._fetch_small, self._cancel):
            top.addWidget(control, 0, Qt.AlignmentFlag.AlignVCenter)
        column = QVBoxLayout(self._card)
        column.setContentsMargins(2 * UNIT, 2 * UNIT, 2 * UNIT, 2 * UNIT)
        column.setSpacing(3 * UNIT // 2)
        column.addLayout(top)
        column.addWidget(self._progress)
        column.addWidget(self._trouble)
        return self._card

    @Slot()
    def _show(self) -> None:
        suggested = self._suggestion.phase == "found"
        own = self.tr("Models run on this machine: what you write to them stays here.")
        small = self.tr("This one is small enough for every machine and good for a first try.")
        large = self.tr("This one suits the memory and the speed of yours.")
        asking = self._suggestion.phase == "asking"
        self._intro.setText(own if asking else f"{own} {large if suggested else small}")
        self._asking.setVisible(asking)
        self._or.setVisible(suggested)
        self._show_starter(is_second=suggested)

    def _show_starter(self, *, is_second: bool) -> None:
        info, fetching = self._store.info, self._store.fetching
        self._card.setVisible(info is not None or bool(self._store.problem))
        possible = info is not None and not fetching and not self._store.problem
        self._fetch.setVisible(possible and not is_second)
        self._fetch_small.setVisible(possible and is_second)
        self._cancel.setVisible(fetching)
        self._progress.setVisible(fetching)
        if info is not None:
            self._name.setText(info.name)
            facts = self.tr("{0} to download · {1} licence")
            self._facts.setText(facts.format(size_text(info.download_bytes), info.license))
            percent = round(100 * info.fraction)
            self._progress.set_progress(info.fraction, self.tr("Fetching, {0} %").format(percent))
        if self._store.problem:
            self._trouble.show_error(self._store.problem, action=self.tr("Try again"))
        else:
            self._trouble.clear()
