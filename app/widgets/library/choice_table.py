"""The table of a card: each file's size, what it needs, whether it fits, how fast it would be, and its button.

Zone: app.widgets.library. Neighbours: `app.item_models.choices`, `app.stores.downloads`, `card`.
"""

from typing import Final

from PySide6.QtCore import QModelIndex, QPersistentModelIndex, QRect, QSize, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFont, QFontMetrics, QPainter, QWheelEvent
from PySide6.QtWidgets import (
    QHBoxLayout,
    QHeaderView,
    QSizePolicy,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QTableView,
    QWidget,
)

from app.item_models.choices import ChoiceItems, Column, Role
from app.item_models.download_words import percent_text
from app.item_models.hub_words import plain_tip
from app.stores.downloads import MOVING, DownloadsStore
from app.stores.hub_card import CardStore
from app.theme import UNIT, Tokens, shown_tokens, tabular, text_font
from app.widgets.common.buttons import PushButton, plain_button, primary_button
from app.widgets.common.icons import pixmap
from app.widgets.library.painting import draw_text
from engine.api.hub import DownloadInfo, HubChoice

_ROW: Final = 44
_ICON: Final = 16


class ChoiceTable(QTableView):
    """As high as its rows: the page scrolls, not the table.

    Signals:
        download_wanted(str name): the user wants this file.
        resume_wanted(str id): the user wants this download to go on.
    """

    download_wanted = Signal(str)
    resume_wanted = Signal(str)

    def __init__(
        self, store: CardStore, downloads: DownloadsStore, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._store, self._downloads = store, downloads
        self._items = ChoiceItems(store, self)
        self._buttons: list[PushButton] = []
        self.setObjectName("hub-choices")
        self.setAccessibleName(self.tr("Files"))
        self.setToolTip(self.tr("Enter downloads"))
        self.setModel(self._items)
        self.setItemDelegate(_Cell(self))
        self._dress()
        self.selectionModel().currentChanged.connect(self._chosen)
        self.activated.connect(self._activated)
        self._items.modelReset.connect(self._fill)
        store.chosen_changed.connect(self._mark)
        store.changed.connect(self._show_buttons)
        downloads.changed.connect(self._show_buttons)
        self._fill()

    def _dress(self) -> None:
        self.setSelectionBehavior(QTableView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QTableView.SelectionMode.SingleSelection)
        self.setTabKeyNavigation(False)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        rows, columns = self.verticalHeader(), self.horizontalHeader()
        rows.hide()
        rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        rows.setDefaultSectionSize(_ROW)
        columns.setHighlightSections(False)
        columns.setSectionsClickable(False)
        columns.setSectionResizeMode(QHeaderView.ResizeMode.ResizeToContents)
        columns.setSectionResizeMode(Column.VERDICT, QHeaderView.ResizeMode.Stretch)
        columns.setMinimumSectionSize(8 * UNIT)

    def wheelEvent(self, event: QWheelEvent) -> None:
        """Qt's hook: only sideways; up and down is the page's."""
        if abs(event.angleDelta().x()) > abs(event.angleDelta().y()):
            super().wheelEvent(event)
        else:
            event.ignore()

    @Slot()
    def _fill(self) -> None:
        self._buttons = []
        for row, choice in enumerate(self._items.choices):
            make = primary_button if choice.recommended else plain_button
            button = make("", object_name=f"download-{row}")
            button.clicked.connect(lambda _=False, c=choice: self._press(c))
            self._buttons.append(button)
            self.setIndexWidget(self._items.index(row, Column.DOWNLOAD), _framed(button))
        self._show_buttons()
        self._mark()
        bar = self.horizontalScrollBar().sizeHint().height()
        head = self.horizontalHeader().sizeHint().height()
        self.setFixedHeight(head + _ROW * self._items.rowCount() + bar)

    @Slot()
    def _show_buttons(self) -> None:
        widest = 0
        for button, choice in zip(self._buttons, self._items.choices, strict=True):
            words, enabled = self._words(choice)
            button.ensurePolished()  # the style sheet decides how wide it is
            button.setText(words)
            button.setAccessibleName(f"{words}: {choice.quantization or choice.name}")
            button.setToolTip(plain_tip(button.accessibleName()))
            button.setEnabled(enabled)
            widest = max(widest, button.sizeHint().width())
        header = self.horizontalHeader()
        header.setSectionResizeMode(Column.DOWNLOAD, QHeaderView.ResizeMode.Fixed)
        header.resizeSection(Column.DOWNLOAD, widest + UNIT)

    def _words(self, choice: HubChoice) -> tuple[str, bool]:
        """What the button says, and whether it does anything."""
        if choice.missing_parts:
            return self.tr("%n part(s) missing", "", choice.missing_parts), False
        info = self._download(choice)
        if info is None:
            if choice.downloaded:
                return self.tr("Downloaded"), False
            return self.tr("Download"), not (self._store.card and self._store.card.problem)
        if info.state in MOVING:
            return percent_text(info), False
        if info.state == "done":
            return self.tr("Downloaded"), False
        return (self.tr("Resume") if info.state == "paused" else self.tr("Try again")), True

    def _download(self, choice: HubChoice) -> DownloadInfo | None:
        card = self._store.card
        return self._downloads.find(card.model.repo, choice.name) if card else None

    def _press(self, choice: HubChoice) -> None:
        _, enabled = self._words(choice)
        if not enabled:
            return
        info = self._download(choice)
        if info is None:
            self.download_wanted.emit(choice.name)
        else:
            self.resume_wanted.emit(info.id)

    @Slot(QModelIndex)
    def _activated(self, index: QModelIndex) -> None:
        self._press(self._items.choices[index.row()])

    @Slot(QModelIndex, QModelIndex)
    def _chosen(self, current: QModelIndex, _previous: QModelIndex) -> None:
        if current.isValid():
            self._store.choose(current.data(Role.NAME))

    @Slot()
    def _mark(self) -> None:
        row = self._items.row_of(self._store.chosen)
        if row >= 0 and row != self.currentIndex().row():
            self.setCurrentIndex(self._items.index(row, 0))


class _Cell(QStyledItemDelegate):
    """The ground of the row, and words; the verdict has a sign and a colour besides."""

    def sizeHint(
        self, option: QStyleOptionViewItem, index: QModelIndex | QPersistentModelIndex
    ) -> QSize:
        words = QFontMetrics(_font(index)).horizontalAdvance(index.data() or "")
        if index.column() == Column.VERDICT:
            words += _ICON + UNIT
        elif index.column() == Column.QUANTIZATION and (badge := index.data(Role.RECOMMENDED)):
            words = max(words, QFontMetrics(text_font("small")).horizontalAdvance(badge))
        del option
        return QSize(words + 3 * UNIT, _ROW)

    def updateEditorGeometry(
        self,
        editor: QWidget,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        del index  # the buttons have the whole cell, without the padding of words
        editor.setGeometry(option.rect)

    def paint(
        self,
        painter: QPainter,
        option: QStyleOptionViewItem,
        index: QModelIndex | QPersistentModelIndex,
    ) -> None:
        tokens = shown_tokens()
        painter.save()
        self._draw_ground(painter, option.rect, index, tokens)
        area = option.rect.adjusted(UNIT + UNIT // 2, 0, -UNIT, 0)
        font, text, colour = _font(index), index.data() or "", tokens.ink
        badge = index.data(Role.RECOMMENDED) if index.column() == Column.QUANTIZATION else ""
        if index.column() == Column.VERDICT:
            colour = getattr(tokens, index.data(Role.TONE))
            sign = pixmap(index.data(Role.ICON), colour, _ICON, self._table.devicePixelRatio())
            painter.drawPixmap(area.left(), area.center().y() - _ICON // 2 + 1, sign)
            area.adjust(_ICON + UNIT, 0, 0, 0)
        elif badge:
            half = area.height() // 2
            lower = area.adjusted(0, half, 0, -UNIT // 2)
            draw_text(painter, lower, badge, text_font("small"), tokens.ember)
            area.adjust(0, UNIT // 2, 0, -half)
        elif index.data(Qt.ItemDataRole.TextAlignmentRole) & Qt.AlignmentFlag.AlignRight.value:
            width = QFontMetrics(font).horizontalAdvance(text)
            area.adjust(max(0, area.width() - width - 2), 0, 0, 0)
        draw_text(painter, area, text, font, colour)
        painter.restore()

    def _draw_ground(
        self,
        painter: QPainter,
        area: QRect,
        index: QModelIndex | QPersistentModelIndex,
        tokens: Tokens,
    ) -> None:
        if index.row() != self._table.currentIndex().row():
            return
        painter.fillRect(area, QColor(tokens.hover))
        if self._table.hasFocus():
            foot = area.adjusted(0, area.height() - 2, 0, 0)
            painter.fillRect(foot, QColor(tokens.ember))

    @property
    def _table(self) -> QTableView:
        parent = self.parent()
        assert isinstance(parent, QTableView)
        return parent


def _font(index: QModelIndex | QPersistentModelIndex) -> QFont:
    weight = QFont.Weight.Medium if index.column() == Column.QUANTIZATION else QFont.Weight.Normal
    return tabular(text_font(weight=weight))


def _framed(button: PushButton) -> QWidget:
    """The button, with some air around it in its cell."""
    box = QWidget()
    row = QHBoxLayout(box)
    row.setContentsMargins(0, 0, UNIT, 0)
    row.addStretch(1)
    row.addWidget(button)
    return box
