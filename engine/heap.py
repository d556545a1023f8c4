"""Keeps the heap of a long-lived process small.

glibc gives each thread that allocates an arena of its own and seldom gives one back. And Python collects its oldest generation only
when it has grown by a quarter: in a service that starts with some 300,000 objects, megabytes of broken connections wait for that.

Zone: any process, at its start.
"""

import ctypes
import gc
import sys
from typing import Final

_M_ARENA_MAX: Final = -8
"""Of glibc's `malloc.h`."""
_ARENAS: Final = 2


def limit_arenas() -> bool:
    """Let all threads share two arenas; True where that was done: Linux with glibc. Before threads allocate."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        return bool(ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS))
    except (OSError, AttributeError):  # musl has no such call
        return False


def settle() -> None:
    """What start-up made stays, and is not looked through for garbage any more: collections become short, and come in time."""
    gc.freeze()  # without collecting first, which would take 40 ms from the first request
    gc.collect()  # counts what is left to look through: next to nothing
