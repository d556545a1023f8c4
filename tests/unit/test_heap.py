"""Tunables of the C library: for a small heap in the service, which needs a second start, and for huge pages in its children."""

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import heap

OURS = "glibc.malloc.arena_max=2:glibc.malloc.tcache_count=0"
WEIGHTS = "glibc.malloc.hugetlb=1"
with_glibc = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc only")


def run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


@with_glibc
@given(st.sampled_from([None, "", "glibc.malloc.check=1", "a=b:c=d", "glibc.malloc.hugetlb=2"]))
def test_others_tunables_stay_in_the_service_and_in_its_children(others: str | None) -> None:
    given_ = {"PATH": "/bin"} | ({} if others is None else {"GLIBC_TUNABLES": others})
    service = heap.tuned(given_)
    assert service["GLIBC_TUNABLES"] == (f"{others}:{OURS}" if others else OURS)
    assert heap.tuned(service) == service
    weights = others if others and "hugetlb" in others else WEIGHTS
    wanted = weights if not others or weights == others else f"{others}:{weights}"
    child = heap.for_weights(service)
    assert child == {"PATH": "/bin", "GLIBC_TUNABLES": wanted}
    assert heap.for_weights(given_) == child
    assert heap.for_weights(child) == child


def test_other_systems_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert heap.tuned({"A": "b"}) == {"A": "b"}
    assert heap.for_weights({"A": "b"}) == {"A": "b"}


@with_glibc
def test_it_starts_anew_once_with_its_own_arguments() -> None:
    code = """
import os, sys
from engine.heap import restart_tuned
print(os.getpid(), flush=True)
restart_tuned()
print(os.getpid(), sys.argv[1:])
"""
    env = {k: v for k, v in os.environ.items() if k != "INGLENOOK_TUNABLES_BEFORE"}
    outcome = subprocess.run(
        [sys.executable, "-c", code, "--one", "two"],
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    first, second, last = outcome.stdout.splitlines()
    assert first == second == last.split()[0]
    assert last.split(maxsplit=1)[1] == "['--one', 'two']"


def test_what_start_up_made_is_not_collected_again() -> None:
    """The oldest generation is collected when it has grown by a quarter: of what came later, not of everything."""
    code = """
import gc, sys
kept = [[i] for i in range(400_000)]
gc.collect()
if {settle}:
    from engine.heap import settle
    settle()
full = lambda: gc.get_stats()[2]["collections"]
before = full()
for _ in range(30_000):
    a, b = [], []; a.append(b); b.append(a)
    held = [[] for _ in range(2)]
    kept.append(held)
print(full() - before)
"""
    usual, settled = (int(run(code.format(settle=settle))) for settle in (False, True))
    assert settled > usual
