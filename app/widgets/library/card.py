"""The card of a repository: facts, its licence, the table of files, the chosen one's figures, its own text.

Zone: app.widgets.library. Neighbours: `choice_table`, `choice_details`, `readme`, `app.stores.hub_card`.
"""

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QCheckBox, QFrame, QHBoxLayout, QScrollArea, QVBoxLayout, QWidget

from app.item_models.hub_words import day_text, downloads_text, joined, parameters_text, plain_tip
from app.item_models.library import size_text
from app.stores.downloads import DownloadsStore
from app.stores.hub_card import CardStore
from app.theme import TEXT_WIDTH, UNIT
from app.widgets.common.buttons import plain_button
from app.widgets.common.labels import IconLabel, label
from app.widgets.library.choice_details import ChoiceDetails
from app.widgets.library.choice_table import ChoiceTable
from app.widgets.library.readme import Readme
from app.widgets.library.web_page import open_web_page
from engine.api.hub import DownloadRequest, HubCard, HubModel


class CardPane(QScrollArea):
    """The repository that is open."""

    def __init__(
        self, store: CardStore, downloads: DownloadsStore, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._store, self._downloads = store, downloads
        self.setObjectName("ground")
        self.setAccessibleName(self.tr("The chosen repository"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._name = label(role="display", wrap=True, selectable=True)
        self._name.setObjectName("hub-repo")
        self._facts = label(role="soft", wrap=True)
        self._about = label(wrap=True)
        self._page = plain_button(
            self.tr("Open its page"), object_name="hub-page", icon_name="link"
        )
        self._page.clicked.connect(self._open_page)
        self._gate = self._make_gate()
        self._why = label(wrap=True)
        self._why.setObjectName("hub-why")
        self._table = ChoiceTable(store, downloads)
        self._table.download_wanted.connect(self._download)
        self._table.resume_wanted.connect(downloads.resume)
        self._nothing = label(
            self.tr("There is no model file in it that could run here."), wrap=True
        )
        self._companions = QVBoxLayout()
        self._boxes: list[QCheckBox] = []
        self._details = ChoiceDetails(store)
        self._readme = Readme()
        self._lay_out()
        store.changed.connect(self._show)
        self._show()

    def _make_gate(self) -> QFrame:
        self._gate_words = label(wrap=True, selectable=True)
        self._gate_words.setObjectName("hub-gate")
        self._gate_page = plain_button(
            self.tr("Open its page"), object_name="hub-gate-page", icon_name="link"
        )
        self._gate_page.clicked.connect(self._open_page)
        self._again = plain_button(
            self.tr("Look again"), object_name="hub-gate-again", icon_name="arrows-clockwise"
        )
        self._again.setToolTip(self.tr("Ask the hub whether it may be downloaded now"))
        self._again.clicked.connect(self._store.reload)
        gate = QFrame()
        gate.setObjectName("card")
        buttons = QHBoxLayout()
        buttons.setSpacing(UNIT)
        buttons.addWidget(self._gate_page)
        buttons.addWidget(self._again)
        buttons.addStretch(1)
        words = QVBoxLayout()
        words.setSpacing(UNIT)
        words.addWidget(self._gate_words)
        words.addLayout(buttons)
        row = QHBoxLayout(gate)
        row.setContentsMargins(2 * UNIT, 3 * UNIT // 2, 2 * UNIT, 3 * UNIT // 2)
        row.setSpacing(3 * UNIT // 2)
        row.addWidget(IconLabel("warning", "warn"), alignment=Qt.AlignmentFlag.AlignTop)
        row.addLayout(words, 1)
        return gate

    def _lay_out(self) -> None:
        words = QVBoxLayout()
        words.setSpacing(UNIT // 2)
        words.addWidget(self._name)
        words.addWidget(self._facts)
        head = QHBoxLayout()
        head.setSpacing(UNIT)
        head.addLayout(words, 1)
        head.addWidget(self._page, 0, Qt.AlignmentFlag.AlignTop)
        column = QWidget()
        column.setObjectName("column")
        column.setMaximumWidth(TEXT_WIDTH)
        inner = QVBoxLayout(column)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.setSpacing(2 * UNIT)
        inner.addLayout(head)
        for part in (self._about, self._gate, self._why, self._table, self._nothing):
            inner.addWidget(part)
        inner.addLayout(self._companions)
        inner.addWidget(self._details)
        inner.addWidget(self._readme)
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
        card = self._store.card
        if card is None:
            return
        self._name.setText(card.model.repo)
        self._facts.setText(self._facts_words(card.model))
        self._about.setText(card.model.about)
        self._about.setVisible(bool(card.model.about))
        for button in (self._page, self._gate_page):
            button.setToolTip(plain_tip(card.url))
        self._show_gate(card)
        best = next((choice for choice in self._store.models if choice.recommended), None)
        if best is not None:
            words = self.tr("Recommended for this machine: {0}, {1}.")
            self._why.setText(words.format(best.quantization or best.name, best.recommended))
        self._why.setVisible(best is not None)
        self._table.setVisible(bool(self._store.models))
        self._nothing.setVisible(not self._store.models)
        self._show_companions()
        self._readme.show_source(card.readme)

    def _facts_words(self, model: HubModel) -> str:
        context = f"{model.context_length:,}" if model.context_length else ""
        licence = self.tr("{0} licence").format(model.license) if model.license else ""
        day = day_text(model.updated)
        return joined(
            parameters_text(model.parameters),
            model.architecture,
            self.tr("{0} tokens of context").format(context) if context else "",
            licence,
            downloads_text(model.downloads),
            self.tr("updated {0}").format(day) if day else "",
        )

    def _show_gate(self, card: HubCard) -> None:
        """Why it cannot be downloaded; or that a licence stands before it, which may be accepted already."""
        self._gate.setVisible(card.model.gated or bool(card.problem))
        self._page.setVisible(self._gate.isHidden())  # one such button is enough
        self._gate_words.setText(
            card.problem
            or self.tr(
                "Its authors want their licence to be accepted first: sign in on its page and accept it, "
                "then put your token into the network settings."
            )
        )

    def _show_companions(self) -> None:
        for box in self._boxes:
            self._companions.removeWidget(box)
            box.hide()
            box.deleteLater()
        self._boxes = []
        for number, choice in enumerate(self._store.companions):
            words = (
                self.tr("With its part for pictures ({0})")
                if choice.kind == "mmproj"
                else self.tr("With its draft model ({0})")
            )
            shown = words.format(size_text(choice.size_bytes))
            box = QCheckBox(shown)
            box.setObjectName(f"hub-also-{number}")
            box.setAccessibleName(shown)
            box.setToolTip(plain_tip(self.tr("Downloaded together: {0}").format(choice.name)))
            self._companions.addWidget(box)
            self._boxes.append(box)

    # --- wishes ---------------------------------------------------------------------------------

    @Slot()
    def _open_page(self) -> None:
        if self._store.card is not None:
            open_web_page(self._store.card.url)

    @Slot(str)
    def _download(self, name: str) -> None:
        card = self._store.card
        if card is None:
            return
        chosen = zip(self._store.companions, self._boxes, strict=True)
        also = tuple(choice.name for choice, box in chosen if box.isChecked())
        self._downloads.start(DownloadRequest(card.model.repo, name, card.revision, also))
