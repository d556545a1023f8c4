"""How a model would run on this machine, and why: settings, memory needed against free, reasons.

Zone: app.widgets.library. Neighbours: `details`, `app.stores.plan`.
"""

from PySide6.QtWidgets import QVBoxLayout, QWidget

from app.item_models.library import size_text
from app.stores.plan import RunPlan
from app.theme import UNIT
from app.widgets.common.labels import divider, label, set_role
from app.widgets.common.progress_line import ProgressLine


class PlanView(QWidget):
    """The plan, or the sentence why there is none."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._settings = label(wrap=True, selectable=True)
        self._settings.setObjectName("plan-settings")
        self._memory = ProgressLine()
        self._memory.setObjectName("plan-memory")
        self._why = label(self.tr("Why:"), "soft")
        self._reasons = label(wrap=True, selectable=True)
        self._reasons.setObjectName("plan-reasons")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(UNIT)
        column.addWidget(divider())
        column.addSpacing(UNIT)
        column.addWidget(label(self.tr("On this machine"), "title"))
        column.addWidget(self._settings)
        column.addWidget(self._memory)
        column.addWidget(self._why)
        column.addWidget(self._reasons)

    def show_plan(self, plan: RunPlan, free: int | None, resident: int | None) -> None:
        """Show a plan.

        Args:
            plan: of a loaded model the one it was loaded with.
            free: bytes of main memory, where known.
            resident: bytes that the loaded model takes; None: it is not loaded.
        """
        threads = self.tr("%n thread(s)", "", plan.decode_threads)
        parts = [plan.backend, plan.gpu.name if plan.gpu else threads]
        parts.append(self.tr("{0} tokens of context").format(f"{plan.context:,}"))
        self._settings.setText(" · ".join(parts))
        set_role(self._settings, "body")
        self._show_memory(plan, plan.gpu.vram_free if plan.gpu else free, resident)
        self._reasons.setText("\n".join(f"•  {reason}" for reason in plan.reasons))
        for widget in (self._why, self._reasons):
            widget.setVisible(bool(plan.reasons))

    def show_problem(self, sentence: str) -> None:
        """Show why there is no plan; "…" while it is being made."""
        self._settings.setText(sentence)
        set_role(self._settings, "body")
        for widget in (self._memory, self._why, self._reasons):
            widget.hide()

    def _show_memory(self, plan: RunPlan, free: int | None, resident: int | None) -> None:
        needed = size_text(plan.needed.total)
        self._memory.setVisible(free is not None or resident is not None)
        if resident is not None:
            words = self.tr("Takes {0} of memory now, {1} were expected")
            words = words.format(size_text(resident), needed)
            share = resident / max(1, resident + (free or 0))
        elif free is not None:
            fits = plan.needed.total <= free
            words = (
                self.tr("Needs {0}, {1} free")
                if fits
                else self.tr("Does not fit: needs {0}, {1} free")
            )
            words = words.format(needed, size_text(free))
            share = plan.needed.total / max(1, free)
        else:
            return
        self._memory.set_progress(share, words)
