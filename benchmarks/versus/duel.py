"""Both servers side by side, and rounds that alternate between them."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Protocol

from benchmarks.harness import paired
from benchmarks.peer import Peer
from benchmarks.service import Service
from benchmarks.versus.gate import Gate


class Side(Protocol):
    """A running server."""

    base_url: str
    flags: tuple[str, ...]

    @property
    def process(self) -> Any:
        """The server's `subprocess.Popen`."""

    def restart(self) -> None:
        """End it and start it again on the same data."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a run compares."""

    model: Path
    peer_binary: Path
    rounds: int = 0
    """Counted rounds; 0 leaves them to the scenario."""
    threads: int = 0
    """Of both; 0 leaves them to each, except where a scenario wants them equal."""


@dataclass(slots=True)
class Outcome:
    """What a scenario found."""

    gates: list[Gate]
    figures: dict[str, Any] = field(default_factory=dict)
    """Anything else worth a look, flags included."""


@contextmanager
def both(
    setting: Setting, *, ours: tuple[str, ...] = (), peer: tuple[str, ...] = ()
) -> Iterator[dict[str, Side]]:
    """`ours` and `peer`, started with these flags, loaded, and ended in any case."""
    if threads := str(setting.threads or ""):
        peer = ("-t", threads, "-tb", threads, *peer)
    with Service(setting.model, threads=setting.threads, flags=ours) as service:
        service.load()
        with Peer(setting.peer_binary, setting.model, flags=peer) as server:
            yield {"ours": service, "peer": server}


def duel(
    sides: Mapping[str, Side],
    measure: Callable[[Side, int], dict[str, float]],
    *,
    rounds: int,
    settle: int = 1,
) -> dict[str, dict[str, list[float]]]:
    """Each side once a round, in changing order; the first round is thrown away.

    `measure` gets the number of the round, the same for all sides, to make prompts from: all sides read the
    same, and nobody has read it before. Returns figure → side → one value a counted round.
    """

    def of(name: str) -> Callable[[], dict[str, float]]:
        numbers = count()

        def once() -> dict[str, float]:
            try:
                return measure(sides[name], next(numbers))
            except Exception as error:
                error.add_note(f"This was {name}.")
                raise

        return once

    rows = paired({name: of(name) for name in sides}, pairs=rounds, settle=settle)
    figures = rows["ours"][0]
    return {
        figure: {name: [row[figure] for row in mine] for name, mine in rows.items()}
        for figure in figures
    }


def flags_of(sides: Mapping[str, Side]) -> dict[str, str]:
    """For the report."""
    return {name: " ".join(side.flags) or "defaults" for name, side in sides.items()}


def last(sides: Mapping[str, list[float]]) -> dict[str, float]:
    """The last round's value of each side, for what hardly changes."""
    return {name: values[-1] for name, values in sides.items()}
