"""The window: rail, pages, toast, shortcuts, and what is kept between two starts."""

import base64
from collections.abc import Callable

from PySide6.QtCore import QByteArray, Qt, Signal
from PySide6.QtGui import QCloseEvent, QKeySequence, QShortcut
from PySide6.QtWidgets import (
    QApplication,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QMainWindow,
    QMessageBox,
    QPlainTextEdit,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from app.theme import UNIT
from app.widgets.chat.page import ChatPage
from app.widgets.common.buttons import IconButton, icon_button
from app.widgets.common.toast import Toast
from app.widgets.keyboard_map import KeyboardMap
from app.widgets.library.page import ModelsPage
from app.widgets.settings.page import SettingsPage

_RAIL_WIDTH = 56
_FIRST_SIZE = (1200, 780)
_LEAST_SIZE = (760, 520)


class MainWindow(QMainWindow):
    """Puts the pages together; knows nothing of what is on them.

    Signals:
        close_asked(): the user wants to close; `close_now` does it.
        closing(): the window is about to close; what must be saved is saved now.
    """

    close_asked = Signal()
    closing = Signal()

    def __init__(self, chat: ChatPage, models: ModelsPage, settings: SettingsPage) -> None:
        super().__init__()
        self.setObjectName("window")
        self.setWindowTitle("Inglenook")
        self.setMinimumSize(*_LEAST_SIZE)
        self.resize(*_FIRST_SIZE)
        self._may_close = False
        self.chat = chat
        self.models = models
        self.settings = settings
        self.pages = QStackedWidget()
        self._rail_buttons: list[IconButton] = []
        rail = self._rail(chat, models, settings)
        body = QWidget()
        body.setObjectName("ground")
        layout = QHBoxLayout(body)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(rail)
        layout.addWidget(self.pages, 1)
        self.setCentralWidget(body)
        self.toast = Toast(body)
        self._keyboard_map = KeyboardMap(self)
        self._add_shortcuts()
        chat.said.connect(self.say)
        chat.undo_offered.connect(self.offer_undo)
        models.said.connect(self.say_with_action)
        settings.said.connect(self.say_with_action)
        chat.models_requested.connect(lambda: self.show_page(1))
        self.show_page(0)

    def _rail(self, chat: QWidget, models: QWidget, settings: QWidget) -> QFrame:
        """The pages' buttons; fills `pages`."""
        rail = QFrame()
        rail.setObjectName("rail")
        rail.setFixedWidth(_RAIL_WIDTH)
        rail_layout = QVBoxLayout(rail)
        rail_layout.setContentsMargins(10, 14, 10, 14)
        rail_layout.setSpacing(UNIT // 2)
        entries: list[tuple[QWidget, str, str, str]] = [
            (chat, "chat-circle-text", self.tr("Chat (Ctrl+1)"), "rail_chat"),
            (models, "cube", self.tr("Models (Ctrl+2)"), "rail_models"),
            (settings, "gear-six", self.tr("Settings (Ctrl+,)"), "rail_settings"),
        ]
        for number, (page, icon_name, tip, name) in enumerate(entries):
            self.pages.addWidget(page)
            button = icon_button(icon_name, tip, object_name=name)
            button.clicked.connect(lambda _=False, n=number: self.show_page(n))
            self._rail_buttons.append(button)
            if page is settings:
                rail_layout.addStretch(1)
            rail_layout.addWidget(button)
        return rail

    def _add_shortcuts(self) -> None:
        chat = self.chat
        actions: list[tuple[str, Callable[[], object]]] = [
            ("Ctrl+1", lambda: self.show_page(0)),
            ("Ctrl+2", lambda: self.show_page(1)),
            ("Ctrl+,", lambda: self.show_page(2)),
            ("Ctrl+N", lambda: self._on_chat(chat.new_chat)),
            ("Ctrl+F", self._search),
            ("Ctrl+L", lambda: self._on_chat(chat.composer.editor.setFocus)),
            ("Ctrl+B", lambda: chat.sidebar.setVisible(not chat.sidebar.isVisible())),
            ("F2", chat.sidebar.rename_current),
            ("Ctrl+R", chat.regenerate_last),
            ("Ctrl+Shift+C", chat.copy_last_answer),
            ("Ctrl+/", self.show_keyboard_map),
            ("Ctrl+Q", self.close),
            ("?", self._on_question_mark),
        ]
        for keys, action in actions:
            QShortcut(QKeySequence(keys), self).activated.connect(action)

    def _search(self) -> None:
        if self.pages.currentWidget() is self.models:
            self.models.focus_search()
        else:
            self._on_chat(self.chat.sidebar.search.setFocus)

    def _on_chat(self, action: Callable[[], object]) -> None:
        self.show_page(0)
        action()

    def show_page(self, number: int) -> None:
        """0 chat, 1 models, 2 settings."""
        self.pages.setCurrentIndex(number)
        for i, button in enumerate(self._rail_buttons):
            button.set_on(i == number)

    def say(self, sentence: str) -> None:
        """Tell the user something that needs no answer."""
        self.toast.show_text(sentence)

    def say_with_action(self, sentence: str, action: str, callback: object) -> None:
        """Tell something that may have one answer."""
        self.toast.show_text(sentence, action, callback if callable(callback) else None)

    def offer_undo(self, text: str, undo: Callable[[], None]) -> None:
        """Tell that something was deleted, with the way back."""
        self.toast.show_text(text, self.tr("Undo"), undo)

    def show_keyboard_map(self) -> None:
        """All shortcuts on one sheet."""
        self._keyboard_map.open()

    def geometry_text(self) -> str:
        """Size and place, to be given to `restore_geometry_text` at the next start."""
        return base64.b64encode(bytes(self.saveGeometry().data())).decode()

    def restore_geometry_text(self, text: str) -> None:
        """Undo `geometry_text`; nonsense is ignored."""
        if text:
            self.restoreGeometry(QByteArray.fromBase64(text.encode()))

    def close_now(self) -> None:
        """Close without asking anybody."""
        self._may_close = True
        self.close()

    def ask_to_keep(self, num_answers: int, num_downloads: int, keep: Callable[[], None]) -> None:
        """Others are being answered, or models downloaded: the user says whether the service stays."""
        box = QMessageBox(self)
        box.setObjectName("keep_service")
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.setIcon(QMessageBox.Icon.Question)
        answers = self.tr("Other programs are being answered (%n answer(s)).", "", num_answers)
        downloads = self.tr("Models are being downloaded (%n download(s)).", "", num_downloads)
        whom = answers if num_answers else "", downloads if num_downloads else ""
        box.setText(" ".join(filter(None, whom)))
        if num_answers:
            question = self.tr("Keep the service running for them? The next start finds it again.")
            keep_words, stop_words = self.tr("Keep running"), self.tr("Stop it")
        else:
            question = self.tr(
                "Finish in the background? Otherwise they go on with what is there at the next start."
            )
            keep_words, stop_words = self.tr("Finish in the background"), self.tr("Stop for now")
        box.setInformativeText(question)
        yes = box.addButton(keep_words, QMessageBox.ButtonRole.AcceptRole)
        no = box.addButton(stop_words, QMessageBox.ButtonRole.DestructiveRole)
        box.addButton(QMessageBox.StandardButton.Cancel)
        yes.clicked.connect(keep)
        no.clicked.connect(self.close_now)
        box.open()

    def closeEvent(self, event: QCloseEvent) -> None:
        if not self._may_close:
            event.ignore()
            self.close_asked.emit()
            return
        self.closing.emit()
        super().closeEvent(event)

    def _on_question_mark(self) -> None:
        focus = QApplication.focusWidget()
        if isinstance(focus, QLineEdit):
            focus.insert("?")
        elif isinstance(focus, QPlainTextEdit) and not focus.isReadOnly():
            focus.insertPlainText("?")
        else:
            self.show_keyboard_map()
