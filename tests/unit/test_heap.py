"""The service's heap stays small: tunables that need a second start, only for the service, only with glibc."""

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import heap

OURS = "glibc.malloc.arena_max=2:glibc.malloc.tcache_count=0"
with_glibc = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc only")


def run(code: str) -> str:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.strip()


@with_glibc
@given(st.sampled_from([None, "", "glibc.malloc.check=1", "a=b:c=d"]))
def test_others_tunables_stay_and_children_get_them_back(others: str | None) -> None:
    given_ = {"PATH": "/bin"} | ({} if others is None else {"GLIBC_TUNABLES": others})
    ours = heap.tuned(given_)
    assert ours["GLIBC_TUNABLES"] == (f"{others}:{OURS}" if others else OURS)
    assert heap.tuned(ours) == ours
    kept = {name: value for name, value in given_.items() if value}
    assert heap.usual(ours) == kept
    assert heap.usual(given_) == given_


def test_other_systems_are_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    assert heap.tuned({"A": "b"}) == {"A": "b"}


@with_glibc
def test_it_starts_anew_once_with_its_own_arguments() -> None:
    code = """
import os, sys
from engine.heap import restart_tuned
print(os.getpid(), flush=True)
restart_tuned()
print(os.getpid(), sys.argv[1:])
"""
    env = heap.usual(os.environ)
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
