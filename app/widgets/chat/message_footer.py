"""The row under an answer: what to do with it, and what it cost."""

from collections.abc import Callable, Mapping

from PySide6.QtCore import QEvent, Signal, Slot
from PySide6.QtWidgets import QHBoxLayout, QWidget

from app.widgets.chat.copy_button import CopyButton
from app.widgets.chat.versions import Versions
from app.widgets.common.buttons import PushButton, describe, icon_button, plain_button
from app.widgets.common.labels import figure_label


class MessageFooter(QWidget):
    """Copy, regenerate, other answers, figures, Continue.

    Signals:
        regenerate_requested(): another answer is wanted.
        sibling_requested(int step): the answer before (-1) or after (1) is wanted.
        continue_requested(): the answer should go on.
    """

    regenerate_requested = Signal()
    sibling_requested = Signal(int)
    continue_requested = Signal()

    def __init__(self, text: Callable[[], str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._figures: Mapping[str, float | int] = {}
        self.copy = CopyButton(text, object_name="copy_answer", parent=self)
        self._regenerate = icon_button(
            "arrows-clockwise", "", object_name="regenerate", size=16, parent=self
        )
        self._regenerate.clicked.connect(self.regenerate_requested)
        self._versions: Versions | None = None
        self._cost = figure_label(parent=self)
        self._continue: PushButton | None = None
        self._layout = QHBoxLayout(self)
        self._layout.setContentsMargins(0, 0, 0, 0)
        self._layout.setSpacing(2)
        self._layout.addWidget(self.copy)
        self._layout.addWidget(self._regenerate)
        self._layout.addSpacing(6)
        self._layout.addWidget(self._cost)
        self._layout.addStretch(1)
        self._retranslate()

    def show_message(
        self,
        *,
        figures: Mapping[str, float | int],
        sibling: int,
        num_siblings: int,
        can_continue: bool,
        has_text: bool,
    ) -> None:
        """Show what goes with a finished answer; `sibling` counts from 0."""
        self._figures = figures
        if num_siblings > 1 and self._versions is None:
            self._versions = Versions(self)
            self._versions.step_requested.connect(self.sibling_requested)
            self._layout.insertWidget(2, self._versions)
        if self._versions is not None:
            self._versions.show_place(sibling, num_siblings)
        if can_continue and self._continue is None:
            self._continue = plain_button("", object_name="continue", icon_name="play", parent=self)
            self._continue.clicked.connect(self.continue_requested)
            self._layout.addWidget(self._continue)
        if self._continue is not None:
            self._continue.setVisible(can_continue)
        self.copy.setVisible(has_text)
        self._retranslate()

    def changeEvent(self, event: QEvent) -> None:
        """Qt's hook."""
        if event.type() == QEvent.Type.LanguageChange:
            self._retranslate()
        super().changeEvent(event)

    @Slot()
    def _retranslate(self) -> None:
        describe(self._regenerate, self.tr("Answer again (the earlier answer is kept)"))
        if self._continue is not None:
            self._continue.setText(self.tr("Continue"))
            self._continue.setAccessibleName(self.tr("Continue"))
            self._continue.setToolTip(self.tr("Go on from the last word"))
        self._cost.setText(self._words())
        self._cost.setToolTip(self._restored())

    def _restored(self) -> str:
        """Where the reused tokens came from, if not from the model's own memory."""
        restored = int(self._figures.get("restored", 0))
        if not restored:
            return ""
        words = self.tr("{0} of the reused tokens were restored from memory or disk, in {1} ms")
        return words.format(f"{restored:,}", f"{int(self._figures.get('restore_ms', 0)):,}")

    def _words(self) -> str:
        figures, parts = self._figures, []
        if tokens := int(figures.get("tokens", 0)):
            parts.append(
                self.tr("1 token") if tokens == 1 else self.tr("{0} tokens").format(f"{tokens:,}")
            )
        if seconds := figures.get("seconds"):
            parts.append(self.tr("{0} s").format(f"{seconds:.1f}"))
        if reused := int(figures.get("reused", 0)):
            prompt = max(reused, int(figures.get("prompt_tokens", 0)))
            parts.append(
                self.tr("{0} of {1} prompt tokens reused").format(f"{reused:,}", f"{prompt:,}")
            )
        if drafted := int(figures.get("drafted", 0)):
            accepted = int(figures.get("accepted", 0))
            parts.append(
                self.tr("{0} of {1} guessed tokens right").format(f"{accepted:,}", f"{drafted:,}")
            )
        return " · ".join(parts)
