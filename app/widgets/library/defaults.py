"""Defaults of one model: how it is loaded and asked unless somebody says otherwise; folded behind one line.

Zone: app.widgets.library. Saved by the store soon after the last change. Neighbours: `default_fields`, `app.stores.keeping`.
"""

from functools import partial

from PySide6.QtCore import Qt, Slot
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from app.stores.models import ModelsStore
from app.theme import UNIT
from app.widgets.common.buttons import PushButton, plain_button
from app.widgets.common.labels import divider, label
from app.widgets.library.default_fields import ChoiceDefault, NumberDefault, TextDefault

Field = NumberDefault | ChoiceDefault | TextDefault
_MOST_TOKENS = 10_000_000
_LONGEST_SHOWN = 60
"""Characters of a suggestion beside its field; the tooltip has all."""


class DefaultsForm(QWidget):
    """The chosen model's own defaults, with what another program suggests beside them."""

    def __init__(self, store: ModelsStore, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store, self._keeping = store, store.keeping
        self._fields: dict[str, Field] = {}
        self._hints: dict[str, QLabel] = {}
        self._fold = PushButton("", "quiet", "caret-right", None)
        self._fold.setObjectName("model-defaults")
        self._fold.setCheckable(True)
        # in line with the titles above and below
        self._fold.setStyleSheet("QPushButton { padding: 7px 6px 7px 0; text-align: left; }")
        self._fold.setToolTip(self.tr("How this model is loaded and asked, other than the others"))
        self._fold.toggled.connect(self._unfold)
        self._body = QWidget()
        self._body.hide()
        self._lay_out()
        self._keeping.changed.connect(self.show_defaults)
        self.show_defaults()

    def _lay_out(self) -> None:
        inner = QVBoxLayout(self._body)
        inner.setContentsMargins(0, 0, 0, 0)
        inner.setSpacing(UNIT)
        inner.addWidget(
            label(
                self.tr(
                    "Context and KV cache hold from the next load, the rest from the next message. "
                    "What is not set here follows the settings and the chat."
                ),
                "soft",
                wrap=True,
            )
        )
        inner.addLayout(self._grid())
        self._others = label("", "soft", wrap=True, selectable=True)
        self._others.setObjectName("model-defaults-others")
        inner.addWidget(self._others)
        inner.addLayout(self._buttons())
        head = QHBoxLayout()
        head.addWidget(self._fold)
        head.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(UNIT)
        column.addWidget(divider())
        column.addLayout(head)
        column.addWidget(self._body)

    def _grid(self) -> QGridLayout:
        self._form = QGridLayout()
        self._form.setHorizontalSpacing(2 * UNIT)
        self._form.setVerticalSpacing(UNIT)
        self._form.setColumnStretch(2, 1)
        settings, usual = self.tr("From settings"), self.tr("Default")
        caches = [("", settings), ("f16", self.tr("16 bits")), ("q8_0", self.tr("8 bits"))]
        for name, title, field in (
            (
                "context",
                self.tr("Context"),
                NumberDefault(settings, 1, _MOST_TOKENS, 1024, whole=True),
            ),
            ("kv_type", self.tr("KV cache"), ChoiceDefault(caches)),
            ("temperature", self.tr("Temperature"), NumberDefault(usual, 0, 10, 0.05)),
            ("top_p", self.tr("Top-p"), NumberDefault(usual, 0.001, 1, 0.05)),
            ("top_k", self.tr("Top-k"), NumberDefault(usual, 0, 100_000, 1, whole=True)),
            ("min_p", self.tr("Min-p"), NumberDefault(usual, 0, 1, 0.05)),
            (
                "repetition_penalty",
                self.tr("Repetition penalty"),
                NumberDefault(usual, 0.001, 10, 0.05),
            ),
            ("system", self.tr("System prompt"), TextDefault(self.tr("How it should behave"))),
        ):
            self._add(name, title, field)
        return self._form

    def _add(self, name: str, title: str, field: Field) -> None:
        field.setObjectName(f"default-{name}")
        field.setAccessibleName(title)
        field.chosen.connect(partial(self._keeping.set_default, name))
        words = label(title)
        words.setBuddy(field)
        hint = label("", "soft", wrap=True)
        row = self._form.rowCount()
        if isinstance(field, TextDefault):
            self._form.addWidget(words, row, 0, Qt.AlignmentFlag.AlignTop)
            self._form.addWidget(field, row, 1, 1, 2)
            self._form.addWidget(hint, row + 1, 1, 1, 2)
        else:
            self._form.addWidget(words, row, 0)
            self._form.addWidget(field, row, 1)
            self._form.addWidget(hint, row, 2)
        self._fields[name], self._hints[name] = field, hint

    def _buttons(self) -> QHBoxLayout:
        self._use = plain_button(self.tr("Use these"), object_name="defaults-use-suggested")
        self._use.clicked.connect(self._keeping.use_suggested)
        self._reset = plain_button(
            self.tr("Reset"), object_name="defaults-reset", icon_name="arrow-counter-clockwise"
        )
        self._reset.setToolTip(self.tr("Nothing of its own for this model"))
        self._reset.clicked.connect(self._keeping.reset)
        row = QHBoxLayout()
        row.setSpacing(UNIT)
        row.addWidget(self._use)
        row.addWidget(self._reset)
        row.addStretch(1)
        return row

    # --- showing --------------------------------------------------------------------------------

    @Slot()
    def show_defaults(self) -> None:
        """Show what is chosen and suggested."""
        chosen, suggested = self._keeping.chosen, self._keeping.suggested
        info = self._store.get(self._keeping.model)
        program = (info.origin if info else "") or self.tr("The file")
        title = self.tr("Defaults of this model")
        if chosen:
            title += " · " + self.tr("%n set", "", len(chosen))
        self._fold.setText(title)
        self._fold.setAccessibleName(title)
        for name, field in self._fields.items():
            field.setEnabled(self._keeping.known)
            field.show_value(chosen.get(name))
            _say(self._hints[name], program, suggested.get(name))
        self._show_others()
        news = any(chosen.get(name) != value for name, value in suggested.items())
        self._use.setVisible(bool(suggested))
        self._use.setEnabled(news)
        self._use.setToolTip(self.tr("Set everything that {0} suggests").format(program))
        self._reset.setEnabled(bool(chosen))

    def _show_others(self) -> None:
        """What has no field here is told all the same: it holds, too."""
        lines = []
        for words, values in (
            (self.tr("Also set: {0}"), self._keeping.chosen),
            (self.tr("Also suggested: {0}"), self._keeping.suggested),
        ):
            others = [name for name in values if name not in self._fields]
            if others:
                told = ", ".join(f"{name} {_text(values[name])}" for name in others)
                lines.append(words.format(told))
        self._others.setText("\n".join(lines))
        self._others.setVisible(bool(lines))

    @Slot(bool)
    def _unfold(self, on: bool) -> None:
        self._fold.set_icon("caret-down" if on else "caret-right")
        self._body.setVisible(on)


def _say(hint: QLabel, program: str, value: object) -> None:
    text = "" if value is None else _text(value)
    short = text if len(text) <= _LONGEST_SHOWN else text[:_LONGEST_SHOWN] + "…"
    hint.setText(f"{program}: {short}" if text else "")
    hint.setToolTip(text if short != text else "")
    hint.setVisible(bool(text))


def _text(value: object) -> str:
    if isinstance(value, list | tuple):
        return " ".join(repr(part) for part in value)
    return " ".join(str(value).split())
