"""What the chosen file of a card would cost here, part by part, and why. Neighbours: `card`, `app.stores.hub_card`."""

from PySide6.QtCore import Slot
from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.item_models.hub_words import speed_text, verdict_text
from app.item_models.library import size_text
from app.stores.hub_card import CardStore
from app.theme import UNIT
from app.widgets.common.error_box import ErrorBox
from app.widgets.common.labels import label
from app.widgets.library.facts import Facts
from engine.api.hub import Fit, HubChoice


class ChoiceDetails(QWidget):
    """The figures of one file; hidden while none is chosen."""

    def __init__(self, store: CardStore, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self._facts = Facts(self.tr("What it costs here"))
        self._source = label(role="soft", wrap=True)
        self._source.setObjectName("fit-source")
        self._reasons = label(wrap=True, selectable=True)
        self._reasons.setObjectName("fit-reasons")
        self._trouble = ErrorBox()
        self._trouble.acted.connect(self._try_again)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(UNIT)
        for part in (self._facts, self._source, self._reasons, self._trouble):
            column.addWidget(part)
        store.changed.connect(self._show)
        store.chosen_changed.connect(self._show)
        self._show()

    @Slot()
    def _show(self) -> None:
        store, choice = self._store, self._store.choice
        self.setVisible(choice is not None)
        if choice is None:
            return
        fit = store.fit_of(choice)
        self._facts.set_facts(self._lines(choice, fit))
        self._source.setText(self._source_words(fit))
        reasons = fit.reasons if fit else ()
        self._reasons.setText("\n".join(f"•  {reason}" for reason in reasons))
        self._reasons.setVisible(bool(reasons))
        if store.fit_problem:
            self._trouble.show_error(store.fit_problem, action=self.tr("Try again"))
        else:
            self._trouble.clear()

    def _lines(self, choice: HubChoice, fit: Fit | None) -> list[tuple[str, str]]:
        lines = [(self.tr("File"), choice.files[0].path if choice.files else choice.name)]
        if len(choice.files) > 1:
            lines.append((self.tr("Parts"), str(len(choice.files))))
        if choice.recommended:
            lines.append((self.tr("Recommended"), choice.recommended))
        if fit is None:
            return lines
        context = self.tr("{0} ({1} tokens of context)")
        return [
            *lines,
            (self.tr("On this machine"), verdict_text(fit.verdict)),
            (self.tr("Needs"), _bytes(fit.needed_bytes)),
            (self.tr("Weights"), _bytes(fit.weights_bytes)),
            (
                self.tr("KV cache"),
                context.format(_bytes(fit.kv_cache_bytes), f"{fit.context:,}")
                if fit.kv_cache_bytes
                else "",
            ),
            (self.tr("Computing"), _bytes(fit.compute_bytes)),
            (self.tr("Free memory"), _bytes(fit.free_bytes)),
            (self.tr("Writes"), speed_text(fit.writes)),
            (self.tr("Reads"), speed_text(fit.reads)),
        ]

    def _source_words(self, fit: Fit | None) -> str:
        if self._store.asking_fit and not (fit and fit.exact):
            return self.tr("By formula; the exact figures are being worked out…")
        if fit is not None and fit.exact:
            return self.tr("Exact: llama.cpp's own figures for this file.")
        return self.tr("By formula, from the file's size and what is known of the model.")

    @Slot()
    def _try_again(self) -> None:
        self._store.ask_fit()
        self._show()


def _bytes(count: int) -> str:
    return size_text(count) if count else ""
