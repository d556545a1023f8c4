"""Asks jobs what models would allocate here; one at a time, each answer kept. A job that dies is a sentence, nothing more.

Zone: service process, event loop. Neighbours: `engine.formats.ghost_file` (what is asked), `engine.worker.ghost` (who answers).
"""

import asyncio
import logging
import os
import tempfile
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec
import xxhash

from engine.errors import EngineError, ModelFormatError
from engine.formats.ghost_file import (
    Allocation,
    ContextWish,
    GhostAnswer,
    GhostPart,
    GhostQuestion,
    write_ghost,
)
from engine.ipc.spawn import spawn_module
from engine.supervisor.process import describe_exit

logger = logging.getLogger(__name__)

TIME_LIMIT_S: Final = 30.0
"""A job takes under a second; on a busy machine a few."""
MEMORY_BYTES: Final = 3 << 30
"""Address space of a job, beside weights that it reserves and never touches. Python and llama.cpp take 0.5 GB of it, and
llama.cpp really allocates recurrent states."""
_KEPT: Final = 256


class Ghosts:
    """What models would allocate, by llama.cpp's own account."""

    def __init__(
        self, *, time_limit_s: float = TIME_LIMIT_S, memory_bytes: int = MEMORY_BYTES
    ) -> None:
        """Start nothing yet.

        Args:
            time_limit_s: for one job.
            memory_bytes: for one job.
        """
        self._time_limit_s = time_limit_s
        self._memory_bytes = memory_bytes
        self._known: OrderedDict[bytes, tuple[Allocation, ...]] = OrderedDict()
        self._turn = asyncio.Lock()

    async def memory(
        self, name: str, parts: Sequence[GhostPart], wishes: Sequence[ContextWish]
    ) -> tuple[Allocation, ...]:
        """Of a model that is not here.

        Args:
            name: for messages.
            parts: the headers of its file, or of all its parts, in order.
            wishes: contexts to ask about.

        Returns:
            One for each wish.

        Raises:
            EngineError: llama.cpp cannot use the file, or a context of this size cannot be made.
        """
        key = _key([part.header for part in parts], [part.file_bytes for part in parts], wishes)

        async def ask() -> tuple[Allocation, ...]:
            with tempfile.TemporaryDirectory(prefix="ghost-") as folder:
                try:
                    path = await asyncio.to_thread(write_ghost, Path(folder), name, parts)
                except OSError as error:
                    raise EngineError(
                        f"{name} could not be looked at ({error.strerror}).",
                        hint="Check the space in the system's temporary folder.",
                    ) from error
                return await self._ask(name, path, wishes)

        return await self._remembered(key, ask)

    async def memory_of_file(
        self, path: Path, wishes: Sequence[ContextWish]
    ) -> tuple[Allocation, ...]:
        """Of a model that is here: its file, or part 1. See `memory`."""
        try:
            status = await asyncio.to_thread(path.stat)
        except OSError as error:
            raise ModelFormatError(
                f"{path.name} cannot be looked at ({error.strerror}).",
                hint="Was it moved, or is its disk away?",
                file=path.name,
            ) from error
        key = _key([os.fsencode(path)], [status.st_size, status.st_mtime_ns], wishes)
        return await self._remembered(key, lambda: self._ask(path.name, path, wishes))

    async def _remembered(
        self, key: bytes, ask: Callable[[], Awaitable[tuple[Allocation, ...]]]
    ) -> tuple[Allocation, ...]:
        async with self._turn:  # who asks the same meanwhile finds the answer
            found = self._known.pop(key, None)
            if found is None:
                found = await ask()
            self._known[key] = found
            while len(self._known) > _KEPT:
                self._known.popitem(last=False)
            return found

    async def _ask(
        self, name: str, path: Path, wishes: Sequence[ContextWish]
    ) -> tuple[Allocation, ...]:
        question = GhostQuestion(os.fsencode(path), list(wishes), self._memory_bytes)
        process = await spawn_module("engine.worker.ghost")
        try:
            async with asyncio.timeout(self._time_limit_s):
                output, log = await process.communicate(msgspec.json.encode(question) + b"\n")
        except TimeoutError as error:
            raise _stopped(name, f"it took more than {self._time_limit_s:.0f} seconds") from error
        finally:
            if process.returncode is None:
                process.kill()
                await process.wait()
        try:
            answer = msgspec.json.decode(output, type=GhostAnswer)
        except msgspec.MsgspecError as error:
            code = process.returncode or 0
            logger.warning("job died, code=%d log=%s", code, log[-2000:].decode(errors="replace"))
            raise _stopped(name, describe_exit(code)) from error
        if answer.error is not None:
            raise EngineError.from_wire(answer.error)
        return tuple(answer.allocations)


def _stopped(name: str, why: str) -> ModelFormatError:
    return ModelFormatError(
        f"llama.cpp could not tell what {name} needs: {why}.",
        hint="The estimate stands; another file of the model may work better.",
        file=name,
    )


def _key(texts: Sequence[bytes], numbers: Sequence[int], wishes: Sequence[ContextWish]) -> bytes:
    digest = xxhash.xxh3_128(msgspec.json.encode((numbers, wishes)))
    for text in texts:
        digest.update(len(text).to_bytes(8, "little") + text)
    return digest.digest()
