"""A job: `python -m engine.worker.ghost`. What would this model allocate? One line of JSON in, one out (`engine.formats.ghost_file`).

Zone: a process of its own, as llama.cpp ends the process over a file it did not expect. It may take as much memory as it is told.
"""

import os
import sys

import msgspec

from engine.backends.registry import open_ghost
from engine.errors import EngineError
from engine.formats.ghost_file import Allocation, GhostAnswer, GhostQuestion


def main() -> int:
    """Answer the question on stdin."""
    question = msgspec.json.decode(sys.stdin.buffer.readline(), type=GhostQuestion)
    try:
        answer = GhostAnswer(_allocations(question))
    except EngineError as error:
        answer = GhostAnswer(error=error.to_wire())
    sys.stdout.buffer.write(msgspec.json.encode(answer) + b"\n")
    sys.stdout.buffer.flush()
    return 0


def _allocations(question: GhostQuestion) -> list[Allocation]:
    _limit_memory(question.memory_bytes)
    ghost = open_ghost(question.path)
    reports = [
        ghost.memory(
            wish.context,
            wish.num_sequences,
            kv_type=wish.kv_type,
            exact=wish.exact,
            flash_attention=wish.flash_attention,
        )
        for wish in question.wishes
    ]
    _limit_memory(question.memory_bytes + ghost.weights_bytes)  # reserved, never touched
    repacked = ghost.repacked_bytes()
    return [Allocation(r.weights, repacked, r.kv_cache, r.compute) for r in reports]


def _limit_memory(num_bytes: int) -> None:
    """More ends in a failed allocation here instead of a machine that swaps."""
    try:
        import resource
    except ImportError:  # Windows
        return
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    soft = num_bytes if hard == resource.RLIM_INFINITY else min(num_bytes, hard)
    resource.setrlimit(resource.RLIMIT_AS, (soft, hard))


if __name__ == "__main__":
    code = main()
    os._exit(code)
