"""The chat page: conversations, transcript, composer, parameters, put together over the store."""

from collections.abc import Sequence

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QGuiApplication, QKeySequence, QShortcut
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.attachments import Attachment
from app.history import StoredMessage
from app.stores.attachments import AttachmentsStore
from app.stores.chat import ChatStore
from app.stores.models import ModelsStore
from app.theme import TEXT_WIDTH, UNIT
from app.widgets.chat import model_words
from app.widgets.chat.attaching import Attaching
from app.widgets.chat.composer import Composer
from app.widgets.chat.model_picker import Choice, ModelPicker
from app.widgets.chat.parameters import ParametersPanel
from app.widgets.chat.sidebar import Sidebar
from app.widgets.chat.transcript import Transcript
from app.widgets.common.buttons import icon_button
from app.widgets.common.empty_state import EmptyState
from app.widgets.common.labels import figure_label

_DRAFT_DELAY_MS = 400


class ChatPage(QWidget):
    """Everything of the Chat page.

    Signals:
        undo_offered(str text, object undo): something was deleted; undo is a callable.
        said(str sentence): something for the user to read.
        models_requested(): the user should see the models page.
    """

    undo_offered = Signal(str, object)
    said = Signal(str)
    models_requested = Signal()

    def __init__(
        self,
        store: ChatStore,
        models: ModelsStore,
        attachments: AttachmentsStore,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("ground")
        self._store = store
        self._models = models
        self._query = ""
        self._used = 0
        """Tokens that the open conversation takes in the context."""
        self.sidebar = Sidebar()
        self.transcript = Transcript()
        self.composer = Composer()
        self.composer.setMaximumWidth(TEXT_WIDTH)
        self.parameters = ParametersPanel()
        self.parameters.hide()
        self.picker = ModelPicker(self)
        self.empty = EmptyState("chat-circle-text", "")
        self.title = QLabel()
        self.title.setProperty("role", "title")
        self.title.setTextFormat(Qt.TextFormat.PlainText)
        self.figures = figure_label()
        self.foot = QLabel()
        self.foot.setProperty("role", "soft")
        self.foot.setTextFormat(Qt.TextFormat.PlainText)
        self.foot.setAlignment(Qt.AlignmentFlag.AlignCenter)
        self.panel_button = icon_button(
            "sliders-horizontal", self.tr("Parameters (Ctrl+P)"), object_name="toggle_parameters"
        )
        self._edits: dict[int, str | None] = {}
        """Messages that are being edited, where it is not saved yet."""
        self._draft_timer = QTimer(self)
        self._draft_timer.setSingleShot(True)
        self._draft_timer.setInterval(_DRAFT_DELAY_MS)
        self.attaching = Attaching(attachments, self.composer, self.save_draft, self)
        attachments.failed.connect(self.said)
        self._lay_out()
        self._connect()
        self._show_conversation()
        self._show_models()

    # --- construction ----------------------------------------------------------------------------

    def _lay_out(self) -> None:
        head = QHBoxLayout()
        head.setContentsMargins(3 * UNIT, 12, 2 * UNIT, UNIT)
        head.addWidget(self.title)
        head.addStretch(1)
        head.addWidget(self.figures)
        head.addWidget(self.panel_button)
        middle = QHBoxLayout()
        middle.addStretch(1)
        middle.addWidget(self.composer, 10)
        middle.addStretch(1)
        foot = QVBoxLayout()
        foot.setContentsMargins(3 * UNIT, 0, 3 * UNIT, 12)
        foot.setSpacing(6)
        foot.addLayout(middle)
        foot.addWidget(self.foot)
        main = QVBoxLayout()
        main.setSpacing(0)
        main.addLayout(head)
        main.addWidget(self.empty, 1)
        main.addWidget(self.transcript, 1)
        main.addLayout(foot)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        layout.addWidget(self.sidebar)
        layout.addLayout(main, 1)
        layout.addWidget(self.parameters)

    def _connect(self) -> None:
        store, models = self._store, self._models
        store.conversations_changed.connect(self._show_conversations)
        store.opened.connect(self._show_conversation)
        store.message_added.connect(self._add_message)
        store.streamed.connect(self.transcript.stream_delta)
        store.message_changed.connect(self.transcript.update_message)
        store.status_changed.connect(self._show_status)
        store.speed_changed.connect(self._show_speed)
        store.failed.connect(self.said)
        models.changed.connect(self._show_models)
        self.empty.acted.connect(self.models_requested)
        self.sidebar.new_requested.connect(self.new_chat)
        self.sidebar.search_changed.connect(self._search)
        self.sidebar.open_requested.connect(self.open)
        self.sidebar.rename_requested.connect(store.rename)
        self.sidebar.delete_requested.connect(self._delete)
        self.composer.submitted.connect(self._send)
        self.composer.stop_requested.connect(store.stop)
        self.composer.text_changed.connect(self._on_typed)
        self.composer.model_menu_requested.connect(self.choose_model)
        self.picker.chosen.connect(store.set_model)
        self.parameters.changed.connect(self._set_options)
        self.panel_button.clicked.connect(self.toggle_parameters)
        self._draft_timer.timeout.connect(self.save_draft)
        self.attaching.undo_offered.connect(self.undo_offered)
        self.transcript.regenerate_requested.connect(self._regenerate)
        self.transcript.sibling_requested.connect(self._select_sibling)
        self.transcript.continue_requested.connect(store.continue_answer)
        self.transcript.edited.connect(self._edit)
        self.transcript.edit_changed.connect(self._on_edit_changed)
        self.transcript.attachment_opened.connect(self.attaching.open)
        self.transcript.link_clicked.connect(_open_link)
        for keys, slot in (
            ("Esc", store.stop),
            ("Ctrl+P", self.toggle_parameters),
            ("Ctrl+M", self.choose_model),
            ("Ctrl+U", self.attaching.choose_files),
        ):
            QShortcut(QKeySequence(keys), self).activated.connect(slot)

    # --- what the window asks ----------------------------------------------------------------------

    def new_chat(self) -> None:
        """Begin a new conversation."""
        self.save_draft()
        self._store.open(None)
        self.composer.editor.setFocus()

    def open(self, conversation: int) -> None:
        """Show a conversation."""
        self.save_draft()
        self._store.open(conversation)
        self.composer.editor.setFocus()

    def save_draft(self) -> None:
        """Keep what is typed and where the reader is."""
        self._draft_timer.stop()
        self._store.set_draft(self.composer.text, self.transcript.position())
        self._save_edits()

    def toggle_parameters(self) -> None:
        """Show or hide the parameters."""
        self.parameters.setVisible(not self.parameters.isVisible())
        self.panel_button.set_on(self.parameters.isVisible())

    def choose_model(self) -> None:
        """Open the list of models, or send the user to the models page if there are none."""
        choices = [
            Choice(m.id, model_words.note(m), usable=not m.problem) for m in self._models.models
        ]
        if not choices:
            self.models_requested.emit()
            return
        chip = self.composer.chip
        self.picker.open_at(chip.mapToGlobal(chip.rect().topLeft()), choices)

    def copy_last_answer(self) -> None:
        """Put the last answer's own text on the clipboard."""
        answers = [m for m in self._store.messages() if m.role == "assistant"]
        if answers:
            QGuiApplication.clipboard().setText(answers[-1].content)
            self.said.emit(self.tr("Copied."))

    def regenerate_last(self) -> None:
        """Ask for another answer to the last question."""
        answers = [m for m in self._store.messages() if m.role == "assistant"]
        if answers:
            self._regenerate(answers[-1].id)

    # --- what the store says -----------------------------------------------------------------------

    def _show_conversations(self) -> None:
        current = self._store.conversation
        self.sidebar.show_conversations(
            self._store.conversations(self._query), current.id if current else None
        )
        self._show_title()

    def _show_title(self) -> None:
        current = self._store.conversation
        self.title.setText((current.title if current else "") or self.tr("New chat"))

    def _show_conversation(self) -> None:
        current = self._store.conversation
        messages = self._store.messages()
        self.transcript.show_messages(messages)
        self.empty.setVisible(not messages)
        self.transcript.setVisible(bool(messages))
        if current and messages:
            self.transcript.set_position(current.scroll)
        draft = current.draft if current else ""
        if self.composer.text != draft:
            self.composer.set_text(draft)
        self._draft_timer.stop()
        self.parameters.show_values(
            current.system_prompt if current else "", current.parameters if current else {}
        )
        self._show_conversations()
        self._show_status()

    def _add_message(self, message: StoredMessage) -> None:
        self.empty.hide()
        self.transcript.show()
        self.transcript.add(message)

    def _show_status(self) -> None:
        self.composer.set_busy(busy=self._store.busy)
        answers = [m for m in self._store.messages() if m.role == "assistant" and m.figures]
        figures = answers[-1].figures if answers else {}
        if not self._store.busy:
            self._show_speed(figures.get("tokens_per_s", 0), figures.get("first_token_ms", 0))
        self._used = int(figures.get("prompt_tokens", 0) + figures.get("tokens", 0))
        self._show_models()

    def _show_speed(self, speed: float, first_ms: float) -> None:
        parts = []
        if speed:
            parts.append(self.tr("{0} tokens/s").format(f"{speed:.0f}"))
        if first_ms:
            parts.append(self.tr("first token {0} ms").format(f"{first_ms:,.0f}"))
        self.figures.setText("   ·   ".join(parts))

    def _show_models(self) -> None:
        first = model_words.first_usable(self._models.models)
        if first and not self._store.model:
            self._store.set_model(first)
            return
        model = self._models.get(self._store.model)
        self.composer.set_context(self._used, (model.n_ctx or 0) if model else 0)
        self.composer.set_model(self._store.model, model_words.chip_note(model))
        self.foot.setText(self._store.status or model_words.foot_line(model))
        if self._models.phase == "ready" and not self._models.models:
            self.empty.set_words(
                self.tr("There is no model on this machine yet."),
                self.tr("What you type here is kept meanwhile."),
                self.tr("Get a model"),
            )
        else:
            self.empty.set_words(
                self.tr(
                    "Ask anything. The answer is computed on this machine, and nothing leaves it."
                )
            )

    # --- what the user does -----------------------------------------------------------------------

    def _on_typed(self) -> None:
        if not self._draft_timer.isActive():  # started anew by each key, it would wait for a pause
            self._draft_timer.start()

    def _on_edit_changed(self, message: int, text: str | None) -> None:
        self._edits[message] = text
        self._on_typed()

    def _save_edits(self) -> None:
        for message, text in self._edits.items():
            self._store.set_edit(message, text)
        self._edits = {}

    def _send(self, text: str) -> None:
        if not self._store.model:
            self.models_requested.emit()
            return
        self._draft_timer.stop()
        if self._store.send(text):
            self.composer.set_text("")
            self._draft_timer.stop()

    # Each of these shows the conversation anew, and with it the saved draft.

    def _edit(self, message: int, text: str, attachments: Sequence[Attachment]) -> None:
        self._store.set_draft(self.composer.text, scroll=1.0)
        self._edits[message] = text
        self._save_edits()
        self._store.edit(message, text, attachments)

    def _regenerate(self, message: int) -> None:
        self._store.set_draft(self.composer.text, scroll=1.0)
        self._save_edits()
        self._store.regenerate(message)

    def _select_sibling(self, message: int, step: int) -> None:
        self.save_draft()
        self._store.select_sibling(message, step)

    def _search(self, query: str) -> None:
        self._query = query
        self._show_conversations()

    def _delete(self, conversation: int) -> None:
        found = next((c for c in self._store.conversations() if c.id == conversation), None)
        self._store.delete(conversation)
        title = (found.title if found else "") or self.tr("New chat")
        self.undo_offered.emit(
            self.tr("“{0}” was deleted.").format(title), lambda: self._store.restore(conversation)
        )

    def _set_options(self, system_prompt: str, parameters: dict[str, float | int]) -> None:
        self._store.set_options(system_prompt=system_prompt, parameters=parameters)


def _open_link(url: str) -> None:
    from PySide6.QtCore import QUrl
    from PySide6.QtGui import QDesktopServices

    if url.startswith(("http://", "https://")):
        QDesktopServices.openUrl(QUrl(url))
