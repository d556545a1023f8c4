"""The whole service on the fake backend: real HTTP, real supervisor, real worker processes, no model."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil

from engine.cli.loop_thread import LoopThread
from engine.config import ModelSettings
from engine.hardware.probe import Hardware
from engine.hardware.probe import probe as real_probe
from engine.hub.library import Library
from engine.server.application import create_app
from engine.server.run import running
from engine.supervisor.room import PATIENCE_S
from engine.supervisor.supervisor import Supervisor
from tests.helpers.tiny_llama import write_tiny_llama


@dataclass
class FakeService:
    """A running service and its insides."""

    url: str
    supervisor: Supervisor
    loop: LoopThread

    def worker_pid(self, model: str = "m", *, timeout: float = 10) -> int:
        """The pid of the model's worker, once it has one."""
        pause = threading.Event()
        for _ in range(int(timeout / 0.002)):
            host = self.supervisor._hosts.get(model)
            if host and host.pid and psutil.pid_exists(host.pid):
                return host.pid
            pause.wait(0.002)
        raise AssertionError("no worker")

    def state(self, model: str = "m") -> str:
        host = self.supervisor._hosts.get(model)
        return host.state if host else "unloaded"


@contextmanager
def fake_service(
    folder: Path,
    *,
    models: tuple[str, ...] = ("m",),
    context: int = 4096,
    num_sequences: int = 8,
    idle_timeout_s: float = 600,
    probe: Callable[[], Hardware] = real_probe,
    patience_s: float = PATIENCE_S,
    **options: Any,
) -> Iterator[FakeService]:
    """Run it; `options` are those of `FakeOptions`."""
    for name in models:
        write_tiny_llama(folder / f"{name}.gguf")
    settings = ModelSettings(idle_timeout_s=idle_timeout_s, num_sequences=num_sequences)
    overrides = {"backend": "fake", "context": context, "options": options}
    with LoopThread() as loop:
        supervisor = Supervisor(
            Library(folder), settings, probe, load_overrides=overrides, patience_s=patience_s
        )
        server = running(create_app(supervisor), "127.0.0.1", 0, grace_seconds=0)
        url = loop.run(server.__aenter__())
        try:
            yield FakeService(url, supervisor, loop)
        finally:
            loop.run(server.__aexit__(None, None, None))
            loop.run(supervisor.close())
