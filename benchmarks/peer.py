"""llama.cpp's own server as a process: the peer of `benchmarks.vs_llama_server`.

How it is built: see there. It answers the same requests as `benchmarks.service`.
"""

import contextlib
import socket
import subprocess
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Self

_READY_S = 120.0
_STOP_S = 10.0


class Peer:
    """Runs llama-server with one model and its defaults, apart from `flags`."""

    def __init__(self, binary: Path, model: Path, *, flags: tuple[str, ...] = ()) -> None:
        self.flags = flags
        self.base_url = ""
        self._command = (str(binary), "-m", str(model), *_no_web_ui(str(binary)), *flags)
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed on exit
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The server's process."""
        assert self._process is not None
        return self._process

    def __enter__(self) -> Self:
        """Start; returns when the model is loaded."""
        port = _free_port()
        self.base_url = f"http://127.0.0.1:{port}"
        self._process = subprocess.Popen(
            [*self._command, "--host", "127.0.0.1", "--port", str(port)],
            stdin=subprocess.DEVNULL,
            stdout=self._log,
            stderr=self._log,
        )
        try:
            self._wait_until_ready()
        except BaseException:  # with a `with`, nobody would stop it
            self.stop()
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        self._log.close()

    def restart(self) -> None:
        """End it and start it again."""
        self.stop()
        self.__enter__()

    def stop(self) -> None:
        """End it, by force where it does not hear. Idempotent."""
        self.process.terminate()
        try:
            self.process.wait(timeout=_STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def log(self) -> str:
        """What it wrote so far."""
        self._log.seek(0)
        return self._log.read()

    def _wait_until_ready(self) -> None:
        deadline = time.monotonic() + _READY_S
        while time.monotonic() < deadline:
            assert self.process.poll() is None, f"llama-server ended:\n{self.log()[-2000:]}"
            # 503 while it loads
            with (
                contextlib.suppress(urllib.error.URLError, ConnectionError),
                urllib.request.urlopen(f"{self.base_url}/health", timeout=5) as reply,
            ):
                if reply.status == 200:
                    return
            time.sleep(0.02)
        raise TimeoutError(f"llama-server was not ready after {_READY_S:.0f} s")


def peer_version(binary: Path) -> str:
    """What `llama-server --version` says, on one line."""
    asked = subprocess.run(
        [binary, "--version"], capture_output=True, text=True, check=True, timeout=30
    )
    return " ".join((asked.stdout + asked.stderr).split())


def _no_web_ui(binary: str) -> tuple[str, ...]:
    asked = subprocess.run(
        [binary, "--help"], capture_output=True, text=True, check=False, timeout=30
    )
    return ("--no-webui",) if "--no-webui" in asked.stdout + asked.stderr else ()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
