"""Python's cyclic garbage is collected in the GUI thread only.

Otherwise it is collected by whichever thread happens to allocate: the bridge's thread then destroys QObjects of the GUI thread, which
crashes, or stands still for ever: Qt's lock is held there while the GUI thread holds Python's (seen as a hang of the whole window).
"""

import gc

from PySide6.QtCore import QObject, QTimer, Slot

_LOOK_MS = 1000


class Garbage(QObject):
    """From its making until `close`, collecting is its task; it looks once a second whether there is enough."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        gc.disable()
        self._timer = QTimer(self)
        self._timer.setInterval(_LOOK_MS)
        self._timer.timeout.connect(self.collect)
        self._timer.start()

    @Slot()
    def collect(self) -> None:
        """What is due, as Python itself would decide it."""
        counts, thresholds = gc.get_count(), gc.get_threshold()
        for generation in (2, 1, 0):
            if counts[generation] > thresholds[generation]:
                gc.collect(generation)
                return

    def close(self) -> None:
        """Leave it to Python again: no other thread is left."""
        self._timer.stop()
        gc.enable()
