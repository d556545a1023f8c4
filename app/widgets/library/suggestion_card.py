"""The one model that is recommended for this machine: why, how large, how fast, one button; then how far it is.

Zone: app.widgets.library. Neighbours: `welcome`, `app.stores.suggestion`, `app.stores.downloads`.
"""

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QFrame, QHBoxLayout, QVBoxLayout, QWidget

from app.item_models.download_words import fraction, progress_text, state_text
from app.item_models.hub_words import joined, parameters_text, speed_of, speed_text
from app.item_models.library import size_text
from app.stores.downloads import MOVING, DownloadsStore
from app.stores.suggestion import SuggestionStore
from app.theme import UNIT
from app.widgets.common.buttons import plain_button, primary_button
from app.widgets.common.error_box import ErrorBox
from app.widgets.common.labels import label
from app.widgets.common.progress_line import ProgressLine
from engine.api.hub import DownloadInfo, DownloadRequest, HubCard, HubChoice


class SuggestionCard(QFrame):
    """Hidden while there is no suggestion."""

    def __init__(
        self, store: SuggestionStore, downloads: DownloadsStore, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._store, self._downloads = store, downloads
        self.setObjectName("card")
        self._name = label(role="title", wrap=True)
        self._facts = label(role="soft", wrap=True)
        self._about = label(wrap=True)
        self._why = label(role="soft", wrap=True)
        self._get = primary_button(
            self.tr("Download"), object_name="suggestion-download", icon_name="download-simple"
        )
        self._get.setToolTip(self.tr("Download this model"))
        self._get.clicked.connect(self._start)
        self._cancel = plain_button(self.tr("Cancel"), object_name="suggestion-cancel")
        self._cancel.setToolTip(self.tr("Stop the download; nothing is left behind"))
        self._cancel.clicked.connect(self._stop)
        self._progress = ProgressLine()
        self._trouble = ErrorBox()
        self._trouble.acted.connect(self._start)
        words = QVBoxLayout()
        words.setSpacing(UNIT // 2)
        words.addWidget(self._name)
        words.addWidget(self._facts)
        top = QHBoxLayout()
        top.setSpacing(UNIT)
        top.addLayout(words, 1)
        top.addWidget(self._get)
        top.addWidget(self._cancel)
        column = QVBoxLayout(self)
        column.setContentsMargins(2 * UNIT, 2 * UNIT, 2 * UNIT, 2 * UNIT)
        column.setSpacing(UNIT)
        column.addLayout(top)
        for part in (self._about, self._why, self._progress, self._trouble):
            column.addWidget(part)
        store.changed.connect(self._show)
        downloads.changed.connect(self._show)
        self._show()

    @property
    def download(self) -> DownloadInfo | None:
        """Its download, if there is one."""
        card, choice = self._store.card, self._store.choice
        if card is None or choice is None:
            return None
        return self._downloads.find(card.model.repo, choice.name)

    @Slot()
    def _show(self) -> None:
        card, choice = self._store.card, self._store.choice
        self.setVisible(card is not None and choice is not None)
        if card is None or choice is None:
            return
        self._name.setText(card.model.repo.rpartition("/")[2])
        self._facts.setText(self._facts_words(card, choice))
        self._about.setText(card.model.about)
        self._about.setVisible(bool(card.model.about))
        self._why.setText(self.tr("Recommended: {0}").format(choice.recommended))
        self._show_download(self.download)

    def _facts_words(self, card: HubCard, choice: HubChoice) -> str:
        return joined(
            self.tr("{0} to download").format(size_text(choice.size_bytes)),
            speed_text(speed_of(choice.fit)),
            parameters_text(card.model.parameters),
            self.tr("{0} licence").format(card.model.license) if card.model.license else "",
        )

    def _show_download(self, info: DownloadInfo | None) -> None:
        on_its_way = info is not None and info.state != "failed"
        self._get.setVisible(not on_its_way)
        self._cancel.setVisible(on_its_way)
        self._progress.setVisible(on_its_way)
        failed = info is not None and info.state == "failed"
        if info is not None and on_its_way:
            words = joined(state_text(info), progress_text(info))
            self._progress.set_progress(fraction(info), words)
        if info is not None and info.problem:
            action = self.tr("Try again") if failed or info.state == "paused" else ""
            self._trouble.show_error(info.problem, action=action)
        else:
            self._trouble.clear()

    @Slot()
    def _start(self) -> None:
        card, choice, info = self._store.card, self._store.choice, self.download
        if info is not None and info.state not in MOVING:
            self._downloads.resume(info.id)
        elif info is None and card is not None and choice is not None:
            request = DownloadRequest(card.model.repo, choice.name, card.revision)
            self._downloads.start(request)

    @Slot()
    def _stop(self) -> None:
        if (info := self.download) is not None:
            self._downloads.cancel(info.id)
