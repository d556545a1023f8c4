"""Settings: what the keyboard does. Neighbour: `section`."""

from collections.abc import Sequence

from PySide6.QtWidgets import QWidget

from app.widgets.settings.section import Section


class ShortcutsSection(Section):
    """A list of keys; `shortcuts` are (what it does, its keys)."""

    def __init__(self, shortcuts: Sequence[tuple[str, str]], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.set_title(self.tr("Keyboard"))
        for does, keys in shortcuts:
            self.add_line(does, keys)
