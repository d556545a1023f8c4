"""Keeps two set-ups of one user apart. On Windows there is no lock: the second set-up repeats the first's work."""

import contextlib
import os
from collections.abc import Callable, Iterator
from pathlib import Path


@contextlib.contextmanager
def held(path: Path, *, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the lock on a file; `waiting` is called once when somebody else holds it.

    The system frees the lock of a set-up that was killed.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        if os.name == "posix":
            import fcntl

            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                waiting()
                fcntl.flock(file, fcntl.LOCK_EX)
        yield
