"""The models page without models: the starter model, its progress, or a file of one's own.

Zone: app.widgets.library. Neighbours: `page`, `app.stores.starter`.
"""

from PySide6.QtCore import QSize, Qt, Signal, Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from app.item_models.library import size_text
from app.stores.starter import StarterStore
from app.theme import UNIT
from app.widgets.common.buttons import plain_button, primary_button
from app.widgets.common.error_box import ErrorBox
from app.widgets.common.labels import IconLabel, label
from app.widgets.common.progress_line import ProgressLine

_WIDTH = 460


class Welcome(QWidget):
    """The first thing a new user sees here.

    Signals:
        file_wanted(): the user wants to add a file.
    """

    file_wanted = Signal()

    def __init__(self, store: StarterStore, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self.setObjectName("welcome")
        centre = Qt.AlignmentFlag.AlignHCenter
        title = label(self.tr("A first model"), "display", wrap=True)
        intro = label(
            self.tr(
                "Models run on this machine: what you write to them stays here. "
                "This one is small enough for every machine and good for a first try."
            ),
            wrap=True,
        )
        drop = label(self.tr("Or drop a GGUF file anywhere on this page."), "soft", wrap=True)
        for words in (title, intro, drop):
            words.setAlignment(centre)
        self._add = plain_button(
            self.tr("Add a file…"), object_name="welcome-add", icon_name="plus"
        )
        self._add.setToolTip(self.tr("Add a model file that lies on this machine (Ctrl+O)"))
        self._add.clicked.connect(self.file_wanted)
        body = QWidget()
        body.setMaximumWidth(_WIDTH)
        column = QVBoxLayout(body)
        column.setSpacing(UNIT)
        column.addStretch(2)
        column.addWidget(IconLabel("cube", "ember", 32), alignment=centre)
        column.addWidget(title)
        column.addWidget(intro)
        column.addSpacing(2 * UNIT)
        column.addWidget(self._starter_card())
        column.addSpacing(2 * UNIT)
        column.addWidget(self._add, alignment=centre)
        column.addWidget(drop)
        column.addStretch(3)
        row = QHBoxLayout(self)
        row.addStretch(1)
        row.addWidget(body, 100)
        row.addStretch(1)
        store.changed.connect(self._show)
        self._show()

    def sizeHint(self) -> QSize:
        """Qt's hook: the column and some air."""
        return QSize(_WIDTH + 6 * UNIT, 60 * UNIT)

    def _starter_card(self) -> QFrame:
        self._name = label(role="title", wrap=True)
        self._facts = label(role="soft", wrap=True)
        self._fetch = primary_button(
            self.tr("Fetch"), object_name="welcome-fetch", icon_name="download-simple"
        )
        self._fetch.setToolTip(self.tr("Download this model"))
        self._fetch.clicked.connect(self._store.fetch)
        self._cancel = plain_button(self.tr("Cancel"), object_name="welcome-cancel")
        self._cancel.setToolTip(self.tr("Stop the download; nothing is left behind"))
        self._cancel.clicked.connect(self._store.cancel)
        self._progress = ProgressLine()
        self._trouble = ErrorBox()
        self._trouble.acted.connect(self._store.fetch)
        self._card = QFrame()
        self._card.setObjectName("card")
        words = QVBoxLayout()
        words.setSpacing(UNIT // 2)
        words.addWidget(self._name)
        words.addWidget(self._facts)
        top = QHBoxLayout()
        top.addLayout(words, 1)
        top.addWidget(self._fetch, 0, Qt.AlignmentFlag.AlignVCenter)
        top.addWidget(self._cancel, 0, Qt.AlignmentFlag.AlignVCenter)
        column = QVBoxLayout(self._card)
        column.setContentsMargins(2 * UNIT, 2 * UNIT, 2 * UNIT, 2 * UNIT)
        column.setSpacing(3 * UNIT // 2)
        column.addLayout(top)
        column.addWidget(self._progress)
        column.addWidget(self._trouble)
        return self._card

    @Slot()
    def _show(self) -> None:
        info, fetching = self._store.info, self._store.fetching
        self._card.setVisible(info is not None or bool(self._store.problem))
        self._fetch.setVisible(info is not None and not fetching and not self._store.problem)
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
