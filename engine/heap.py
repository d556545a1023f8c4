"""How the C library allocates: little in the service, however long it runs, and in huge pages in the workers.

glibc gives each thread an arena and a cache of freed pieces of its own. What waits in a cache is lost to the other threads and
keeps the free memory around it in pieces: a busy service grew by 0.2 MB a minute that way, without any leak. Both can be set only
before a process starts, hence the second start. And Python collects its oldest generation only when it has grown by a quarter: in
a service that starts with some 300,000 objects, megabytes of broken connections wait for that.

A worker reads all its weights for each token. In pages of 4 kB, which Linux gives unless it is asked, looking the pages up costs
7 % of the speed of a 135M model and 3 % at 1B (`benchmarks/huge_pages.py`).

Zone: any process, at its start. Source: glibc manual, "Memory Allocation Tunables".
"""

import contextlib
import gc
import os
import sys
from collections.abc import Mapping
from typing import Final

_VARIABLE: Final = "GLIBC_TUNABLES"
_FOR_FEW_THREADS: Final = "glibc.malloc.arena_max=2:glibc.malloc.tcache_count=0"
_FOR_WEIGHTS: Final = "glibc.malloc.hugetlb=1"
"""madvise(MADV_HUGEPAGE) on what malloc maps; of no effect where an administrator has switched huge pages off."""
_BEFORE: Final = "INGLENOOK_TUNABLES_BEFORE"
"""Holds what others had set. Its presence says that we have set ours: some versions of glibc cut their variable at the colon."""


def tuned(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment for a process whose few threads allocate little: the service. Others' tunables stay."""
    if not _glibc() or _BEFORE in environment:
        return dict(environment)
    before = environment.get(_VARIABLE, "")
    return {**environment, _VARIABLE: _joined(before, _FOR_FEW_THREADS), _BEFORE: before}


def for_weights(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment for the service's children, from that of the service, `tuned` or not."""
    before = environment.get(_BEFORE, environment.get(_VARIABLE, ""))
    rest = {name: v for name, v in environment.items() if name not in (_VARIABLE, _BEFORE)}
    if _glibc() and "hugetlb" not in before:  # which somebody may have chosen otherwise
        before = _joined(before, _FOR_WEIGHTS)
    return {**rest, _VARIABLE: before} if before else rest


def _joined(before: str, ours: str) -> str:
    return f"{before}:{ours}" if before else ours


def restart_tuned() -> None:
    """Start this process anew, as itself, unless it has the `tuned` environment. Before anything is open; costs some 25 ms."""
    environment = tuned(os.environ)
    if environment != dict(os.environ):
        with contextlib.suppress(OSError):  # then it runs as it is
            os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environment)  # noqa: S606


def settle() -> None:
    """What start-up made stays, and is not looked through for garbage any more: collections become short, and come in time."""
    gc.freeze()  # without collecting first, which would take 40 ms from the first request
    gc.collect()  # counts what is left to look through: next to nothing


def _glibc() -> bool:
    try:
        return sys.platform == "linux" and bool(os.confstr("CS_GNU_LIBC_VERSION"))
    except (ValueError, OSError):  # musl, which does not know the name
        return False
