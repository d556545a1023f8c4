"""`--serve` as a real process on a free port, with a data folder of its own. Also used by benchmarks."""

import os
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from types import TracebackType
from typing import Self

ROOT = Path(__file__).resolve().parents[2]
_HEALTH_TRIES = 500


class ServiceProcess:
    """Runs the service with a library of the given model files (as links)."""

    def __init__(self, *models: Path, arguments: tuple[str, ...] = ()) -> None:
        self._models = models
        self._arguments = arguments
        self._folder = tempfile.TemporaryDirectory()
        self._log = tempfile.TemporaryFile("w+")  # noqa: SIM115 - closed on exit
        self._process: subprocess.Popen[str] | None = None
        self.base_url = ""
        self.seconds_to_health = 0.0

    @property
    def process(self) -> subprocess.Popen[str]:
        """The service's process."""
        assert self._process is not None
        return self._process

    @property
    def data_folder(self) -> Path:
        """Where its library and settings are."""
        return Path(self._folder.name)

    def __enter__(self) -> Self:
        """Start; ready when /health answers."""
        library = self.data_folder / "models"
        library.mkdir()
        for model in self._models:
            (library / model.name).symlink_to(model)
        self.start()
        return self

    def start(self) -> None:
        """Start it, also once more after `stop`, on the same data; its address is then another one."""
        started = time.perf_counter()
        command = [sys.executable, "-m", "app", "--data-dir", self._folder.name, "--serve"]
        self._process = subprocess.Popen(
            [*command, "--port", "0", *self._arguments],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=self._log,
            text=True,
        )
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        assert line, f"the service did not start:\n{self.log()}"
        self.base_url = line.split()[-1]
        for _ in range(_HEALTH_TRIES):
            try:
                with urllib.request.urlopen(f"{self.base_url}/health", timeout=5) as reply:
                    assert reply.status == 200
                    break
            except urllib.error.URLError:
                time.sleep(0.01)
        self.seconds_to_health = time.perf_counter() - started

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
        self._folder.cleanup()
        self._log.close()

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Signal and wait; the exit code. Idempotent."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        code = self.process.wait(timeout=30)
        if self.process.stdout is not None:
            self.process.stdout.close()
        return code

    def log(self) -> str:
        """What it wrote to stderr so far."""
        self._log.seek(0)
        return self._log.read()
