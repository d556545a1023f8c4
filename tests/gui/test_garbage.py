"""QObjects in cycles die in the GUI thread, whatever other threads allocate meanwhile."""

import gc
import threading

from PySide6.QtCore import QObject

from app.garbage import Garbage


class Node(QObject):
    """In a cycle with itself; tells in which thread it was collected."""

    def __init__(self, died: list[str]) -> None:
        super().__init__()
        self.me = self
        self.died = died

    def __del__(self) -> None:
        self.died.append(threading.current_thread().name)


def allocate() -> None:
    held = [[i] for i in range(200_000)]
    assert len(held) == 200_000


def test_other_threads_collect_nothing_and_the_gui_thread_does(qtbot) -> None:
    garbage = Garbage()
    died: list[str] = []
    for _ in range(20):
        Node(died)
    thread = threading.Thread(target=allocate, name="other")
    thread.start()
    thread.join()
    assert "other" not in died
    gc.collect()
    assert set(died) == {threading.current_thread().name}
    garbage.close()
    assert gc.isenabled()


def test_what_is_due_is_collected(qapp) -> None:
    garbage = Garbage()
    died: list[str] = []
    Node(died)
    allocate_here = [[i] for i in range(5000)]
    garbage.collect()
    assert len(allocate_here) == 5000
    assert died == [threading.current_thread().name]
    garbage.close()
