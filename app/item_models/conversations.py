"""The conversation list as a Qt model: conversations by day, with headings between them."""

from datetime import date, datetime, timedelta
from enum import IntEnum
from typing import Any

from PySide6.QtCore import (
    QAbstractListModel,
    QCoreApplication,
    QModelIndex,
    QObject,
    QPersistentModelIndex,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QColor

from app.history import Conversation
from app.theme import shown_tokens, text_font

Index = QModelIndex | QPersistentModelIndex
_ROOT = QModelIndex()
_ROW_HEIGHT, _HEADING_HEIGHT = 34, 30


class ConversationRole(IntEnum):
    """What a row tells besides its text."""

    ID = Qt.ItemDataRole.UserRole + 1
    """The conversation's id; None for a heading."""


class ConversationsModel(QAbstractListModel):
    """Rows: str headings and conversations.

    Signals:
        renamed(int conversation, str title): the user edited a title in place.
    """

    renamed = Signal(int, str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._rows: list[str | Conversation] = []

    def show(self, conversations: list[Conversation], today: date | None = None) -> None:
        """Replace everything; newest first."""
        self.beginResetModel()
        self._rows = []
        heading = ""
        for conversation in conversations:
            name = day_name(conversation.updated_at, today or datetime.now().astimezone().date())
            if name != heading:
                heading = name
                self._rows.append(name)
            self._rows.append(conversation)
        self.endResetModel()

    def row_of(self, conversation_id: int) -> int:
        """Where a conversation is; -1 if it is not shown."""
        for row, item in enumerate(self._rows):
            if isinstance(item, Conversation) and item.id == conversation_id:
                return row
        return -1

    def rowCount(self, parent: Index = _ROOT) -> int:
        return 0 if parent.isValid() else len(self._rows)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or index.row() >= len(self._rows):
            return None
        item = self._rows[index.row()]
        if role == ConversationRole.ID:
            return None if isinstance(item, str) else item.id
        if role in (
            Qt.ItemDataRole.DisplayRole,
            Qt.ItemDataRole.EditRole,
            Qt.ItemDataRole.AccessibleTextRole,
        ):
            if isinstance(item, str):
                return item
            return item.title or QCoreApplication.translate("ConversationsModel", "New chat")
        if role == Qt.ItemDataRole.SizeHintRole:
            return QSize(0, _HEADING_HEIGHT if isinstance(item, str) else _ROW_HEIGHT)
        if isinstance(item, str) and role == Qt.ItemDataRole.FontRole:
            return text_font("small")
        if isinstance(item, str) and role == Qt.ItemDataRole.ForegroundRole:
            return QColor(shown_tokens().soft)
        if role == Qt.ItemDataRole.ToolTipRole and isinstance(item, Conversation):
            return datetime.fromtimestamp(item.updated_at).astimezone().strftime("%x %X")
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        if not index.isValid() or isinstance(self._rows[index.row()], str):
            return Qt.ItemFlag.NoItemFlags  # the arrow keys pass over headings
        return Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsEditable

    def setData(self, index: Index, value: Any, role: int = Qt.ItemDataRole.EditRole) -> bool:
        conversation = index.data(ConversationRole.ID)
        if role != Qt.ItemDataRole.EditRole or conversation is None or not str(value).strip():
            return False
        self.renamed.emit(conversation, str(value).strip())
        return True


def day_name(moment: float, today: date) -> str:
    """The heading a conversation stands under, by local date."""
    day = datetime.fromtimestamp(moment).astimezone().date()
    if day >= today:
        return QCoreApplication.translate("ConversationsModel", "Today")
    if day == today - timedelta(days=1):
        return QCoreApplication.translate("ConversationsModel", "Yesterday")
    if day > today - timedelta(days=7):
        return QCoreApplication.translate("ConversationsModel", "Last 7 days")
    if day > today - timedelta(days=31):
        return QCoreApplication.translate("ConversationsModel", "Last 30 days")
    return QCoreApplication.translate("ConversationsModel", "Older")
