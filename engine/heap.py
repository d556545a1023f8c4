"""Keeps the C heap of a long-lived process small: glibc gives each thread that allocates an arena of its own and seldom gives one back.

Zone: any process, at its start. Linux with glibc only; elsewhere nothing happens.
"""

import ctypes
import sys
from typing import Final

_M_ARENA_MAX: Final = -8
"""Of glibc's `malloc.h`."""
_ARENAS: Final = 2


def limit_arenas() -> bool:
    """Let all threads share two arenas; True where that was done. Before threads allocate."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        return bool(ctypes.CDLL(None).mallopt(_M_ARENA_MAX, _ARENAS))
    except (OSError, AttributeError):  # musl has no such call
        return False
