"""One model: what the file says, how it would run here and why, and what can be done with it.

Zone: app.widgets.library. Shows what it is given and emits what the user wants. Neighbours: `facts`, `plan_view`, `defaults`,
`keeping`, `page`.
"""

from collections.abc import Callable
from pathlib import PurePath

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from app.item_models.library import origin_text, size_text, state_words, summary
from app.stores.models import ModelsStore
from app.stores.plan import read_plan
from app.stores.settings import SettingsStore
from app.theme import TEXT_WIDTH, UNIT
from app.widgets.common.buttons import describe, icon_button, plain_button, primary_button
from app.widgets.common.error_box import ErrorBox
from app.widgets.common.labels import figure_label, label
from app.widgets.common.progress_line import ProgressLine
from app.widgets.library.backend_choice import BackendChoice
from app.widgets.library.defaults import DefaultsForm
from app.widgets.library.facts import Facts
from app.widgets.library.keeping import KeepingView, may_delete
from app.widgets.library.plan_view import PlanView
from engine.api.models import ModelDetails, ModelInfo


class DetailsPane(QScrollArea):
    """The chosen model.

    Signals:
        remove_wanted(): the user wants it off the list.
        said(str sentence): something worth a short notice happened.
        backend_chosen(str model): it should be computed by another backend from the next start on.
    """

    remove_wanted = Signal()
    said = Signal(str)
    backend_chosen = Signal(str)

    def __init__(
        self, store: ModelsStore, settings: SettingsStore, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._store = store
        self.setObjectName("ground")
        self.setAccessibleName(self.tr("The chosen model"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._make_head()
        self._trouble = ErrorBox()
        self._trouble.acted.connect(self._act_on_trouble)
        self._mend: Callable[[], None] = self._load
        self._progress = ProgressLine()
        self._plan = PlanView()
        self._backend = BackendChoice(settings)
        self._backend.chosen.connect(self.backend_chosen)
        self._defaults = DefaultsForm(store)
        self._facts = Facts(self.tr("In the file"))
        self._place = Facts(self.tr("Where it lies"))
        self._keeping = KeepingView(store)
        self._keeping.said.connect(self.said)
        self._lay_out()
        store.changed.connect(self._show)
        store.details_changed.connect(self._show)
        self._show()

    def _make_head(self) -> None:
        self._name = label(role="display", wrap=True, selectable=True)
        self._name.setObjectName("model-name")
        self._summary = label(role="soft", wrap=True)
        self._state = figure_label(role="soft")
        self._state.setObjectName("model-state")
        self._load_button = primary_button(
            self.tr("Load"), object_name="model-load", icon_name="play"
        )
        self._load_button.setToolTip(self.tr("Read this model into memory (Enter in the list)"))
        self._load_button.clicked.connect(self._load)
        self._unload_button = plain_button(
            self.tr("Unload"), object_name="model-unload", icon_name="eject"
        )
        self._unload_button.setToolTip(self.tr("Free this model's memory"))
        self._unload_button.clicked.connect(self._unload)
        self._copy = icon_button("copy", self.tr("Copy the path"), object_name="model-copy-path")
        self._copy.clicked.connect(self._copy_path)
        self._remove = icon_button(
            "trash", self.tr("Remove (Delete in the list)"), object_name="model-remove"
        )
        self._remove.clicked.connect(self.remove_wanted)

    def _lay_out(self) -> None:
        words = QVBoxLayout()
        words.setSpacing(UNIT // 2)
        words.addWidget(self._name)
        words.addWidget(self._summary)
        head = QHBoxLayout()
        head.setSpacing(UNIT)
        head.addLayout(words, 1)
        for widget in (self._load_button, self._unload_button, self._copy, self._remove):
            head.addWidget(widget, 0, Qt.AlignmentFlag.AlignTop)
        column = QWidget()
        column.setObjectName("column")
        column.setMaximumWidth(TEXT_WIDTH)
        inner = QVBoxLayout(column)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.setSpacing(2 * UNIT)
        inner.addLayout(head)
        inner.addWidget(self._state)
        inner.addWidget(self._progress)
        inner.addWidget(self._trouble)
        inner.addWidget(self._plan)
        inner.addWidget(self._backend, alignment=Qt.AlignmentFlag.AlignLeft)
        for part in (self._defaults, self._facts, self._place, self._keeping):
            inner.addWidget(part)
        inner.addStretch(1)
        page = QWidget()
        page.setObjectName("ground")
        row = QHBoxLayout(page)
        row.setContentsMargins(4 * UNIT, 3 * UNIT, 4 * UNIT, 3 * UNIT)
        row.addStretch(1)
        row.addWidget(column, 100)
        row.addStretch(1)
        self.setWidget(page)

    # --- showing --------------------------------------------------------------------------------

    @Slot()
    def _show(self) -> None:
        store = self._store
        info = store.get(store.selected)
        if info is None:
            return
        details = store.details
        self._name.setText(info.id)
        maker = details.name if details and details.name != info.id else ""
        self._summary.setText(" · ".join(part for part in (maker, summary(info)) if part))
        self._show_state(info)
        self._show_trouble(info)
        self._show_plan(info, details)
        self._backend.show_model(info.id)
        self._facts.setVisible(details is not None and bool(details.architecture))
        if details is not None:
            self._facts.set_facts(self._file_facts(details))
        self._place.set_facts(self._place_facts(info, details))
        self._keeping.show_kept()

    def _show_state(self, info: ModelInfo) -> None:
        busy = self._store.busy(info.id) or info.state in ("loading", "stopping")
        loaded = info.state in ("ready", "stopping")
        usable = info.problem is None or info.state == "failed"
        self._load_button.setVisible(not loaded and info.state != "failed")  # the error has it
        self._load_button.setEnabled(usable and not busy)
        self._unload_button.setVisible(loaded)
        self._unload_button.setEnabled(not busy)
        self._remove.setEnabled(not busy)
        self._show_removing(info)
        words = state_words(info)
        if info.num_running:
            words += " · " + self.tr("%n answer(s) running", "", info.num_running)
        self._state.setText(words)
        self._progress.setVisible(info.state == "loading")
        self._state.setVisible(info.state != "loading")
        if info.state == "loading":
            self._progress.set_progress(info.progress or 0.0, words)

    def _show_removing(self, info: ModelInfo) -> None:
        self._remove.set_icon("x" if info.origin else "trash")
        if not info.origin:
            tip = self.tr("Remove (Delete in the list)")
        elif may_delete(info):
            tip = self.tr("Hide (Delete in the list): the file stays")
        else:
            tip = self.tr("Hide (Delete in the list): the file stays, {0} may still use it")
        describe(self._remove, tip.format(info.origin))

    def _show_trouble(self, info: ModelInfo) -> None:
        if info.state == "failed":
            action, self._mend = self.tr("Load again"), self._load
        elif info.problem:
            action = self.tr("Hide") if info.origin else self.tr("Remove")
            self._mend = self.remove_wanted.emit
        else:
            action, self._mend = self.tr("Try again"), self._store.refresh_details
        # without a service the page says so already, over the details
        unknown = self._store.details_problem if self._store.phase != "offline" else ""
        if sentence := info.problem or unknown:
            self._trouble.show_error(sentence, action="" if self._store.busy(info.id) else action)
        else:
            self._trouble.clear()

    def _show_plan(self, info: ModelInfo, details: ModelDetails | None) -> None:
        plan = read_plan(details.plan) if details else None
        reason = details.plan_problem if details else self.tr("Being worked out…")
        self._plan.setVisible(plan is not None or bool(reason and reason != info.problem))
        if plan is not None:
            resident = info.resident_bytes if info.state == "ready" else None
            self._plan.show_plan(plan, self._store.free_bytes, resident)
        else:
            self._plan.show_problem(reason or "")

    def _file_facts(self, details: ModelDetails) -> list[tuple[str, str]]:
        def number(value: int | None, words: str = "{0}") -> str:
            return "" if value is None else words.format(f"{value:,}")

        template = (
            self.tr("yes") if details.has_chat_template else self.tr("no: a plain one is used")
        )
        return [
            (self.tr("Name"), details.name),
            (self.tr("Family"), details.architecture),
            (self.tr("Quantization"), details.quantization),
            (self.tr("Parameters"), number(details.parameters)),
            (self.tr("Trained context"), number(details.context_length, self.tr("{0} tokens"))),
            (self.tr("Layers"), number(details.layers)),
            (self.tr("Width"), number(details.embedding_length)),
            (self.tr("Vocabulary"), number(details.vocabulary, self.tr("{0} tokens"))),
            (self.tr("Chat template"), template),
            (self.tr("Licence"), details.license),
        ]

    def _place_facts(self, info: ModelInfo, details: ModelDetails | None) -> list[tuple[str, str]]:
        facts = [(self.tr("Path"), info.path), (self.tr("Size"), size_text(info.size_bytes))]
        facts.append((self.tr("Comes from"), origin_text(info)))
        if details is not None and details.parts_total > 1:
            parts = self.tr("{0} of {1}").format(len(details.files), details.parts_total)
            facts.append((self.tr("Parts"), parts))
        if details is not None and details.companions:
            names = ", ".join(PurePath(file).name for file in details.companions)
            facts.append((self.tr("Belongs to it"), names))
        if details is not None and details.registered:
            kept = self.tr("Outside the models folder: hiding it here leaves the file alone")
            facts.append((self.tr("Kept"), kept))
        return facts

    # --- wishes ---------------------------------------------------------------------------------

    @Slot()
    def _act_on_trouble(self) -> None:
        self._mend()

    @Slot()
    def _load(self) -> None:
        self._store.load(self._store.selected)

    @Slot()
    def _unload(self) -> None:
        self._store.unload(self._store.selected)

    @Slot()
    def _copy_path(self) -> None:
        info = self._store.get(self._store.selected)
        if info is not None:
            QGuiApplication.clipboard().setText(info.path)
            self.said.emit(self.tr("The path was copied."))
