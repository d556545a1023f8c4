"""The downloads at the foot of the page, shown while there are any. Neighbours: `download_row`, `app.stores.downloads`."""

from functools import partial
from typing import Final

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from app.stores.downloads import MOVING, DownloadsStore
from app.theme import TEXT_WIDTH, UNIT
from app.widgets.common.labels import divider, label
from app.widgets.library.download_row import DownloadRow
from engine.api.hub import DownloadInfo

_MOST_HEIGHT: Final = 26 * UNIT
"""About three of them; the rest is scrolled to."""


class DownloadsPanel(QFrame):
    """All downloads, in the order of the queue, then those that ended.

    Signals:
        model_wanted(str model): show this model.
    """

    model_wanted = Signal(str)

    def __init__(self, store: DownloadsStore, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._shown: dict[str, DownloadRow] = {}
        self.setObjectName("downloads")
        self.setAccessibleName(self.tr("Downloads"))
        self._make_area()
        self._lay_out()
        store.changed.connect(self._show)
        self._show()

    def _make_area(self) -> None:
        self._rows = QVBoxLayout()
        self._rows.setContentsMargins(0, 0, UNIT, 0)
        self._rows.setSpacing(UNIT // 2)
        inner = QWidget()
        inner.setObjectName("ground")
        inner.setLayout(self._rows)
        self._area = QScrollArea()
        self._area.setObjectName("ground")
        self._area.setAccessibleName(self.tr("Downloads"))
        self._area.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._area.setFrameShape(QFrame.Shape.NoFrame)
        self._area.setWidgetResizable(True)
        self._area.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._area.setWidget(inner)

    def _lay_out(self) -> None:
        body = QWidget()
        body.setMaximumWidth(TEXT_WIDTH)
        column = QVBoxLayout(body)
        column.setContentsMargins(0, UNIT, 0, UNIT)
        column.setSpacing(UNIT)
        title = label(self.tr("Downloads"), "title")
        title.setContentsMargins(2, 0, 0, 0)  # the frame of the area below
        column.addWidget(title)
        column.addWidget(self._area)
        row = QHBoxLayout()
        row.setContentsMargins(4 * UNIT, 0, 4 * UNIT, 0)
        row.addStretch(1)
        row.addWidget(body, 100)
        row.addStretch(1)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        whole.addWidget(divider())
        whole.addLayout(row)

    def resizeEvent(self, event: QResizeEvent) -> None:
        """Qt's hook: another width, other lines."""
        super().resizeEvent(event)
        self._fit()

    def _fit(self) -> None:
        """As high as the rows need, up to a limit."""
        width = self._area.viewport().width()
        needed = self._rows.heightForWidth(width) if self._rows.hasHeightForWidth() else 0
        needed = max(needed, self._rows.minimumSize().height())
        self._area.setFixedHeight(min(needed + UNIT // 2, _MOST_HEIGHT))

    @Slot()
    def _show(self) -> None:
        downloads = self._store.downloads
        wanted = {info.id for info in downloads}
        for gone in set(self._shown) - wanted:
            row = self._shown.pop(gone)
            self._rows.removeWidget(row)
            row.hide()
            row.deleteLater()
        for place, info in enumerate(downloads):
            row = self._shown.get(info.id) or self._new_row(info.id)
            if self._rows.indexOf(row) != place:
                self._rows.insertWidget(place, row)
            row.show_download(info, self._store.num_queued)
        self.setVisible(bool(downloads))
        self._fit()

    def _new_row(self, download: str) -> DownloadRow:
        row = self._shown[download] = DownloadRow()
        row.switched.connect(partial(self._switch, download))
        row.moved.connect(partial(self._move, download))
        row.cancelled.connect(partial(self._store.cancel, download))
        row.show_wanted.connect(partial(self._show_model, download))
        return row

    def _get(self, download: str) -> DownloadInfo | None:
        return next((info for info in self._store.downloads if info.id == download), None)

    def _switch(self, download: str) -> None:
        info = self._get(download)
        if info is not None and info.state in MOVING:
            self._store.pause(download)
        else:
            self._store.resume(download)

    def _move(self, download: str, by: int) -> None:
        info = self._get(download)
        if info is not None:
            self._store.move(download, info.position + by)

    def _show_model(self, download: str) -> None:
        info = self._get(download)
        if info is not None:
            self.model_wanted.emit(info.model)
