"""One file from the hub to the disk: several connections, each a thread, and one loop that hashes, watches and hires them.

A connection that breaks off, falls silent or is refused ends, and its blocks go to the next one after a pause that doubles
while nothing arrives. Neighbours: `source` (is it the file?), `part_file` (what is on disk), `pacer` (speed limit).
"""

import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from engine.errors import HubError
from engine.hub.network import SILENCE_S, Network, connection_errors
from engine.hub.pacer import Pacer
from engine.hub.part_file import BLOCK, PartFile
from engine.hub.source import Source

if TYPE_CHECKING:
    import urllib3

CONNECTIONS: Final = 4
_LOOK_S: Final = 0.1
_TELL_S: Final = 0.2
_HASHED_AT_ONCE: Final = 32
"""Blocks between two looks at everything else."""
_FAREWELL_S: Final = 0.2
"""A connection that does not end within it is left to end by itself: it touches nothing any more."""


@dataclass(frozen=True, slots=True)
class Patience:
    """When to try again, and when to give up."""

    silence_s: float = SILENCE_S
    """Without a byte for so long a connection counts as broken."""
    first_wait_s: float = 0.5
    """Doubles with each failure in a row."""
    most_wait_s: float = 30.0
    tries: int = 6
    """Failures in a row that a server may have; a line that is down is waited for as long as it takes."""


@dataclass(frozen=True, slots=True)
class Progress:
    """How far one file is."""

    state: Literal["running", "waiting", "checking"]
    done_bytes: int
    """On disk, or while checking: hashed."""
    received_bytes: int
    """That came over the network in this run, for the speed."""
    problem: str = ""


class Stopped(Exception):  # noqa: N818 - no error: somebody asked for it
    """Paused, cancelled or closed."""


class Transfer:
    """Fetches one file."""

    def __init__(
        self,
        network: Network,
        source: Source,
        pacer: Pacer,
        *,
        stop: threading.Event,
        report: Callable[[Progress], None],
        patience: Patience,
    ) -> None:
        """Connect to nobody yet.

        Args:
            network: the way out.
            source: where the bytes come from.
            pacer: the speed limit.
            stop: ends the transfer within half a second; what arrived stays.
            report: called about five times a second, by the thread that runs this.
            patience: when to give up.
        """
        self._network = network
        self._source = source
        self._pacer = pacer
        self._stop = stop
        self._report = report
        self._patience = patience
        self._connections: list[_Connection] = []
        self._news = threading.Event()
        self._received = 0
        """By connections that have ended."""
        self._failures = 0
        self._received_at_failure = 0
        self._hold_until = 0.0
        self._problem = ""
        self._told_at = 0.0

    def run(self, part: PartFile, sha256: str) -> None:
        """Come back when the part is complete, checked and finished.

        Args:
            part: open; the caller closes it.
            sha256: what it must have; empty: nobody knows.

        Raises:
            Stopped: `stop` was set.
            DiskFull: what arrived stays.
            EngineError: the hub's or the line's fault; after a wrong checksum nothing usable is left.
        """
        try:
            while True:
                self._complete(part)
                if sha256 in ("", part.sha256):
                    break
                if part.adopted:
                    part.start_over()
                else:
                    part.close(remove=True)
                    raise HubError(
                        "The file that came is damaged: its checksum is not the one the hub names.",
                        hint="Nothing of it was kept; resume the download to fetch it again.",
                    )
        finally:
            self._end()
        part.finish()

    def _complete(self, part: PartFile) -> None:
        while not part.complete:
            if self._stop.is_set():
                raise Stopped
            if self._network.offline:
                self._network.check(self._source.host)
            self._look_after(part)
            self._hire(part)
            if part.hash_on(_HASHED_AT_ONCE) == 0:
                self._news.wait(_LOOK_S)
                self._news.clear()
            self._tell(part)

    def _hire(self, part: PartFile) -> None:
        """Start connections; one alone until the server has shown that it sends parts of files."""
        most = CONNECTIONS if self._source.ranges else 1
        while len(self._connections) < most and time.monotonic() >= self._hold_until:
            blocks = part.take(CONNECTIONS)
            if blocks is None:
                break
            connection = _Connection(
                self._network, self._source, self._pacer, part, blocks, self._news
            )
            self._connections.append(connection)
            connection.start()

    def _look_after(self, part: PartFile) -> None:
        """Let those go that ended or fell silent."""
        for connection in list(self._connections):
            since = connection.reading_since
            if since is not None and time.monotonic() - since > self._patience.silence_s:
                connection.halt()
                connection.error = broken(self._source.host, "sends nothing any more")
                part.give_back(connection.blocks, connection.half)
            elif connection.is_alive():
                continue
            self._connections.remove(connection)
            self._received += connection.received
            if connection.error is not None:
                self._failed(connection.error)

    def _failed(self, error: Exception) -> None:
        """Wait before the next try.

        Raises:
            EngineError: trying again is of no use.
        """
        if not isinstance(error, HubError) or not error.retryable:
            raise error
        now, received = time.monotonic(), self._received_bytes()
        if received > self._received_at_failure:
            self._failures = 0
        elif now < self._hold_until:
            return  # the others of the same moment
        self._received_at_failure = received
        self._failures += 1
        if self._failures > self._patience.tries and "native" not in error.details:
            raise error
        doubled = self._patience.first_wait_s * 2.0 ** min(self._failures - 1, 16)
        wait_s = float(error.details.get("wait_s", 0.0))
        self._hold_until = now + max(min(doubled, self._patience.most_wait_s), wait_s)
        self._problem = str(error)

    def _received_bytes(self) -> int:
        return self._received + sum(connection.received for connection in self._connections)

    def _tell(self, part: PartFile) -> None:
        now = time.monotonic()
        if now - self._told_at < _TELL_S:
            return
        self._told_at = now
        received = self._received_bytes()
        if received > self._received_at_failure:
            self._problem = ""
        done = part.done_bytes + sum(connection.filled for connection in self._connections)
        state: Literal["running", "waiting", "checking"] = "running"
        if self._problem:
            state = "waiting"
        elif part.done_bytes == part.size:
            state, done = "checking", part.hashed_bytes
        self._report(Progress(state, min(done, part.size), received, self._problem))

    def _end(self) -> None:
        for connection in self._connections:
            connection.halt()
        until = time.monotonic() + _FAREWELL_S
        for connection in self._connections:
            connection.join(max(0.0, until - time.monotonic()))
        self._connections.clear()


class _Connection(threading.Thread):
    """Fetches blocks until there are none left or something goes wrong."""

    def __init__(
        self,
        network: Network,
        source: Source,
        pacer: Pacer,
        part: PartFile,
        blocks: range,
        news: threading.Event,
    ) -> None:
        super().__init__(name="download", daemon=True)
        self.blocks = blocks
        """Ours at the moment."""
        self.error: Exception | None = None
        self.received = 0
        self.filled = 0
        """Of the block that is arriving, bytes."""
        self.reading_since: float | None = time.monotonic()
        """None: it is not the server that is waited for."""
        self._network = network
        self._source = source
        self._pacer = pacer
        self._part = part
        self._news = news
        self._halted = False
        self._response: urllib3.BaseHTTPResponse | None = None
        self._block = blocks[0]
        self._buffer = memoryview(bytearray(BLOCK))

    def halt(self) -> None:
        """End soon, and touch nothing any more."""
        self._halted = True
        response = self._response
        if response is not None:
            with suppress(ValueError, RuntimeError, OSError, AttributeError):  # it just ended
                response.shutdown()

    @property
    def half(self) -> tuple[int, bytes] | None:
        """The block that is arriving, and what is here of it."""
        return (self._block, bytes(self._buffer[: self.filled])) if self.filled else None

    def run(self) -> None:
        """Until there is nothing to fetch; what went wrong is in `error`."""
        try:
            with self._network.purpose("download"):
                self._fetch()
                while not self._halted and (more := self._part.take(CONNECTIONS)) is not None:
                    self.blocks = more
                    self._fetch()
        except connection_errors() as error:
            self._ended(broken(self._source.host, "broke off the connection", error))
        except Exception as error:  # noqa: BLE001 - the loop that looks after us raises it
            self._ended(error)
        finally:
            self.reading_since = None
            # Perhaps for the second time: what is fetched twice is written once.
            self._part.give_back(self.blocks, self.half)
            self._news.set()

    def _ended(self, error: Exception) -> None:
        if not self._halted:  # being halted looks like a failure here
            self.error = error

    def _fetch(self) -> None:
        self._block = self.blocks[0]
        start, _ = self._part.span(self._block)
        half = self._part.half(self._block)
        self._buffer[: len(half)] = half
        self.filled = len(half)
        self.reading_since = time.monotonic()
        _, end = self._part.span(self.blocks[-1])
        response = self._source.open(start + len(half), end)
        before = self.received
        try:
            self._response = response
            if response.status == 200:
                self.blocks, self.filled = self._part.take_all(), 0
            for block in self.blocks:
                self._block = block
                self._receive(response)
        finally:
            self._response = None
            response.close()
            self._network.received(self._source.address, self.received - before)

    def _receive(self, response: "urllib3.BaseHTTPResponse") -> None:
        """Fill a block and write it."""
        start, end = self._part.span(self._block)
        while self.filled < end - start:
            most = self._pacer.portion(end - start - self.filled)
            self.reading_since = time.monotonic()
            data = response.read1(most, decode_content=False)
            self.reading_since = None
            if self._halted:
                raise Stopped
            if not data:
                raise broken(self._source.host, "broke off the connection")
            self._buffer[self.filled : self.filled + len(data)] = data
            self.filled += len(data)
            self.received += len(data)
            self._pacer.take(len(data), lambda: self._halted)
        self._part.write(self._block, self._buffer[: self.filled])
        self.filled = 0
        self._news.set()


def broken(host: str, what: str, error: Exception | None = None) -> HubError:
    """The line's fault, not the server's: tried again for as long as it takes."""
    native = type(error).__name__ if error else "EOF"
    return HubError(
        f"{host} {what}.", hint="It is tried again by itself.", host=host, native=native
    )
