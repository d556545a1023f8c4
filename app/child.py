"""The service as our child process: started by command line, ends with us unless it is asked to stay.

Not QProcess, whose destructor kills what still runs: a service that was asked to stay must outlive us.
Nothing here waits, except `stop`. Neighbour: `app.service`.
"""

import contextlib
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from app.service_log import ServiceLog
from engine.heap import tuned

_ROOT = Path(__file__).resolve().parents[1]
KEEP = b"keep\n"
"""Understood by `--owner-pipe`: stay when stdin ends."""


class Child:
    """A running service. Its log goes to a file: a window that hangs must not block it."""

    def __init__(
        self, arguments: list[str], environment: Mapping[str, str], log: ServiceLog
    ) -> None:
        path = os.environ.get("PYTHONPATH")
        with log.open() as errors:
            self._process = subprocess.Popen(  # noqa: TID251, S603 - engine.ipc.spawn needs an asyncio loop
                [sys.executable, "-P", "-m", "app", *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                env={
                    **tuned(os.environ),
                    "PYTHONPATH": f"{_ROOT}{os.pathsep}{path}" if path else str(_ROOT),
                    **environment,
                },
                start_new_session=True,  # Ctrl-C reaches the window, which stops it in order
            )
        self._said = b""
        assert self._process.stdout is not None
        os.set_blocking(self._process.stdout.fileno(), False)

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def exit_code(self) -> int | None:
        """None while it runs; negative: the signal that ended it."""
        return self._process.poll()

    def ready_url(self) -> str | None:
        """Where it listens, once its ready line has come."""
        assert self._process.stdout is not None
        with contextlib.suppress(BlockingIOError):
            self._said += os.read(self._process.stdout.fileno(), 4096)
        line, newline, _ = self._said.partition(b"\n")
        return line.split()[-1].decode() if newline and line.split() else None

    def keep(self) -> None:
        """Let it outlive us; this object is of no use afterwards."""
        with contextlib.suppress(OSError):
            os.write(self._stdin().fileno(), KEEP)
        self._close()
        self._process.returncode = 0  # or Popen would complain that nobody waits for it

    def leave(self) -> None:
        """Ask it to end, by closing its stdin. Idempotent."""
        with contextlib.suppress(OSError):
            self._stdin().close()

    def kill(self) -> None:
        """End it at once; `exit_code` tells when it is gone."""
        self._process.kill()

    def stop(self, seconds: float) -> None:
        """End it: in order, and by force after `seconds`."""
        self.leave()
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.kill()
            self._process.wait()
        self._close()

    def _stdin(self) -> IO[bytes]:
        assert self._process.stdin is not None
        return self._process.stdin

    def _close(self) -> None:
        self.leave()
        if self._process.stdout is not None:
            self._process.stdout.close()
