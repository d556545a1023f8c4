"""The list of conversations: new, search, open, rename in place, delete."""

from PySide6.QtCore import QModelIndex, QPoint, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QKeySequence, QShortcut
from PySide6.QtWidgets import QFrame, QLineEdit, QListView, QMenu, QVBoxLayout, QWidget

from app.history import Conversation
from app.item_models.conversations import ConversationRole, ConversationsModel
from app.theme import UNIT, shown_tokens
from app.widgets.common.buttons import plain_button
from app.widgets.common.icons import icon

_WIDTH = 256
_SEARCH_DELAY_MS = 150


class Sidebar(QFrame):
    """The panel left of a chat.

    Signals:
        new_requested(): the user wants a new chat.
        search_changed(str query): after a short pause.
        open_requested(int conversation), rename_requested(int conversation, str title),
        delete_requested(int conversation).
    """

    new_requested = Signal()
    search_changed = Signal(str)
    open_requested = Signal(int)
    rename_requested = Signal(int, str)
    delete_requested = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("panel")
        self.setFixedWidth(_WIDTH)
        self.new_button = plain_button(
            self.tr("New chat"), object_name="new_chat", icon_name="plus"
        )
        self.new_button.setToolTip(self.tr("New chat (Ctrl+N)"))
        self.search = QLineEdit()
        self.search.setObjectName("chat_search")
        self.search.setAccessibleName(self.tr("Search chats"))
        self.search.setPlaceholderText(self.tr("Search chats"))
        self.search.setToolTip(self.tr("Search chats (Ctrl+F)"))
        self.search.setClearButtonEnabled(True)
        self.search.addAction(
            icon("magnifying-glass", shown_tokens().soft), QLineEdit.ActionPosition.LeadingPosition
        )
        self.model = ConversationsModel(self)
        self.list = QListView()
        self.list.setObjectName("conversations")
        self.list.setAccessibleName(self.tr("Chats"))
        self.list.setModel(self.model)
        self.list.setEditTriggers(QListView.EditTrigger.EditKeyPressed)
        self.list.setTextElideMode(Qt.TextElideMode.ElideRight)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.list.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 14, 12, 12)
        layout.setSpacing(UNIT)
        layout.addWidget(self.new_button)
        layout.addWidget(self.search)
        layout.addWidget(self.list, 1)
        self._search_timer = QTimer(self)
        self._search_timer.setSingleShot(True)
        self._search_timer.setInterval(_SEARCH_DELAY_MS)
        self._search_timer.timeout.connect(lambda: self.search_changed.emit(self.search.text()))
        self.new_button.clicked.connect(self.new_requested)
        self.search.textChanged.connect(lambda: self._search_timer.start())
        self.list.clicked.connect(self._open)
        self.list.activated.connect(self._open)
        self.list.customContextMenuRequested.connect(self._menu)
        self.model.renamed.connect(self.rename_requested)
        delete = QShortcut(QKeySequence(QKeySequence.StandardKey.Delete), self.list)
        delete.setContext(Qt.ShortcutContext.WidgetShortcut)
        delete.activated.connect(self._delete_current)

    def show_conversations(self, conversations: list[Conversation], current: int | None) -> None:
        """Fill the list and mark the open conversation."""
        self.model.show(conversations)
        row = -1 if current is None else self.model.row_of(current)
        if row >= 0:
            self.list.setCurrentIndex(self.model.index(row))
        else:
            self.list.setCurrentIndex(QModelIndex())

    def rename_current(self) -> None:
        """Edit the open conversation's title in place."""
        if self.list.currentIndex().isValid():
            self.list.setFocus()
            self.list.edit(self.list.currentIndex())

    def _open(self, index: QModelIndex) -> None:
        conversation = index.data(ConversationRole.ID)
        if conversation is not None:
            self.open_requested.emit(conversation)

    def _delete_current(self) -> None:
        conversation = self.list.currentIndex().data(ConversationRole.ID)
        if conversation is not None:
            self.delete_requested.emit(conversation)

    def _menu(self, point: QPoint) -> None:
        index = self.list.indexAt(point)
        conversation = index.data(ConversationRole.ID) if index.isValid() else None
        if conversation is None:
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        rename = QAction(self.tr("Rename (F2)"), menu)
        rename.triggered.connect(lambda: self.list.edit(index))
        delete = QAction(self.tr("Delete (Del)"), menu)
        delete.triggered.connect(lambda: self.delete_requested.emit(conversation))
        menu.addActions([rename, delete])
        menu.popup(self.list.viewport().mapToGlobal(point))
