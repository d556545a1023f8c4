"""The service's end of one worker process: frames in and out, its log, its end.

Zone: service process, event loop. Knows nothing about models or requests.
"""

import asyncio
import logging
import signal
from collections import deque
from collections.abc import AsyncIterator
from typing import Protocol

import msgspec

from engine import aio
from engine.ipc.codec import FrameDecoder, FrameError, encode
from engine.ipc.messages import Exit, ToSupervisor
from engine.ipc.spawn import spawn_module

logger = logging.getLogger(__name__)

_READ_BYTES = 1 << 16
_KEPT_LINES = 200
_EXIT_GRACE_S = 5.0


class Worker(Protocol):
    """What a host needs of a worker; tests drive hosts with scripted ones."""

    @property
    def pid(self) -> int:
        """Process id."""

    def send(self, message: msgspec.Struct) -> None:
        """Queue one frame; a dead worker swallows it."""

    def messages(self) -> AsyncIterator[ToSupervisor]:
        """Frames until the pipe closes."""

    async def wait(self) -> int:
        """Exit code, negative for a signal."""

    async def stop(self) -> int:
        """Ask it to leave, insist after a while. Idempotent."""


class WorkerProcess:
    """A running `python -m engine.worker`."""

    def __init__(self, process: asyncio.subprocess.Process, name: str) -> None:
        self._process = process
        self._name = name
        self.last_lines: deque[str] = deque(maxlen=_KEPT_LINES)
        self._log_task = aio.spawn(self._read_log(), name=f"log of {name}")

    @staticmethod
    async def start(name: str) -> "WorkerProcess":
        """Start a worker for the model `name`."""
        process = await spawn_module("engine.worker")
        logger.info("worker started, model=%s pid=%d", name, process.pid)
        return WorkerProcess(process, name)

    @property
    def pid(self) -> int:
        """See Worker."""
        return self._process.pid

    def send(self, message: msgspec.Struct) -> None:
        """See Worker."""
        assert self._process.stdin is not None
        if not self._process.stdin.is_closing():
            self._process.stdin.write(encode(message))

    async def messages(self) -> AsyncIterator[ToSupervisor]:
        """See Worker."""
        assert self._process.stdout is not None
        decoder: FrameDecoder[ToSupervisor] = FrameDecoder(ToSupervisor)
        while data := await self._process.stdout.read(_READ_BYTES):
            try:
                messages = decoder.feed(data)
            except FrameError:
                logger.exception("worker speaks nonsense, model=%s pid=%d", self._name, self.pid)
                self._kill()
                return
            for message in messages:
                yield message

    async def wait(self) -> int:
        """See Worker."""
        code = await self._process.wait()
        await self._log_task
        return code

    async def stop(self) -> int:
        """See Worker."""
        self.send(Exit())
        assert self._process.stdin is not None
        self._process.stdin.close()
        try:
            async with asyncio.timeout(_EXIT_GRACE_S):
                await self._process.wait()
        except TimeoutError:
            self._kill()
        return await self.wait()

    def _kill(self) -> None:
        if self._process.returncode is None:
            self._process.kill()

    async def _read_log(self) -> None:
        assert self._process.stderr is not None
        while line := await self._process.stderr.readline():
            text = line.decode("utf-8", "replace").rstrip()
            self.last_lines.append(text)
            logger.info("[%s %d] %s", self._name, self.pid, text)


def describe_exit(code: int) -> str:
    """Why a worker ended, in words for the user."""
    if code >= 0:
        return f"it ended with code {code}"
    try:
        name = signal.Signals(-code).name
    except ValueError:
        return f"it was ended by signal {-code}"
    meaning = {
        "SIGKILL": "the system ended it, most often for lack of memory",
        "SIGILL": "this processor lacks an instruction that the build needs; run the installer again",
        "SIGABRT": "native code found an impossible state",
        "SIGSEGV": "a fault in native code",
        "SIGBUS": "the model file changed or vanished while it was in use",
    }.get(name, "it was ended by a signal")
    return f"{meaning} ({name})"
