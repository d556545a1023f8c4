"""Start child processes by command line: never fork, and they end with us.

A child ends when its stdin closes, which happens however its parent dies. It runs in a session of its own, so
that Ctrl-C in a terminal reaches the service only, and the service ends its children in order.
"""

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from engine.heap import for_weights

_ROOT = Path(__file__).resolve().parents[2]


async def spawn_module(
    module: str, *arguments: str, environment: Mapping[str, str] | None = None
) -> asyncio.subprocess.Process:
    """Run `python -m module` with pipes on all three standard streams."""
    path = os.environ.get("PYTHONPATH")
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-P",  # a folder named `engine` where we were started must not shadow ours
        "-m",
        module,
        *arguments,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={
            **for_weights(os.environ),
            "PYTHONPATH": f"{_ROOT}{os.pathsep}{path}" if path else str(_ROOT),
            **(environment or {}),
        },
        start_new_session=True,
        limit=1 << 20,
    )
