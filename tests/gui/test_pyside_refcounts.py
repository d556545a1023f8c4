"""PySide6 6.12.0 on CPython 3.11 loses a reference to True or None with every call; the pin keeps it out.

On Python 3.12 these objects are immortal (PEP 683). The probe stays for as long as 3.11 is supported.
"""

import sys

import pytest
from PySide6.QtCore import QObject, Qt, Signal, Slot
from PySide6.QtWidgets import QLabel

pytestmark = pytest.mark.gui
ROUNDS = 300
TOLERANCE = 60


class Emitter(QObject):
    happened = Signal(int)

    @Slot(int)
    def take(self, value: int) -> None:
        pass


@pytest.fixture
def counts():
    keep = [True] * 5000, [False] * 5000, [None] * 5000  # a bad build must not end this process
    yield lambda: [sys.getrefcount(x) for x in (True, False, None)]
    del keep


def assert_steady(counts, call) -> None:
    call()
    before = counts()
    for _ in range(ROUNDS):
        call()
    drift = [after - b for after, b in zip(counts(), before, strict=True)]
    assert all(abs(d) < TOLERANCE for d in drift), drift


def test_signals(qapp, counts) -> None:
    emitter = Emitter()
    emitter.happened.connect(emitter.take)
    assert_steady(counts, lambda: emitter.happened.emit(1))


def test_connections(qapp, counts) -> None:
    emitter = Emitter()

    def again() -> None:
        emitter.happened.connect(emitter.take, Qt.ConnectionType.QueuedConnection)
        emitter.happened.disconnect(emitter.take)

    assert_steady(counts, again)


def test_setters(qapp, counts) -> None:
    label = QLabel()
    assert_steady(counts, lambda: (label.setText("x"), label.setObjectName("y")))
