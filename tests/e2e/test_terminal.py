"""The terminal chat in a real terminal: type, stop an answer, go on, leave."""

import fcntl
import os
import pty
import select
import signal
import subprocess
import sys
import termios
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.helpers.service_process import ROOT
from tests.helpers.tiny_llama import write_tiny_llama


def as_a_shell_would() -> None:
    """Make the terminal the controlling one, and Ctrl-C work although these tests may run in the background."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


class Terminal:
    """A program at the other end of a pseudo-terminal."""

    def __init__(self, *arguments: str) -> None:
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [sys.executable, "-m", "app", *arguments],
            cwd=ROOT,
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
            preexec_fn=as_a_shell_would,
        )
        os.close(slave)
        self.screen = ""

    def type(self, text: str) -> None:
        os.write(self._master, text.encode())

    def until(self, text: str, *, timeout: float = 30) -> str:
        """Read until `text` shows up; returns what came before it and forgets it."""
        deadline = time.monotonic() + timeout
        while text not in self.screen:
            assert time.monotonic() < deadline, f"no {text!r} in {self.screen!r}"
            if select.select([self._master], [], [], 0.1)[0]:
                try:
                    self.screen += os.read(self._master, 4096).decode("utf-8", "replace")
                except OSError:  # the other end closed
                    break
        before, _, self.screen = self.screen.partition(text)
        return before

    def in_mid_answer(self) -> bool:
        """Read until 200 characters of an answer have come; False if it ended before, or none came."""
        while len(self.screen) < 200 and "first after" not in self.screen:
            if not select.select([self._master], [], [], 10)[0]:
                return False
            self.screen += os.read(self._master, 4096).decode("utf-8", "replace")
        return "first after" not in self.screen

    def press_ctrl_c(self) -> None:
        """Until a new prompt: on a busy machine readline loses a signal that comes while it takes keys."""
        for _ in range(10):
            self.type("\x03")
            if select.select([self._master], [], [], 3)[0]:
                break
        self.until("> ")

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._master)


@pytest.fixture
def terminal(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Terminal]:
    (tmp_path / "models").mkdir()
    write_tiny_llama(tmp_path / "models" / "tiny.gguf", n_ctx=8192)
    arguments = [
        "--data-dir",
        str(tmp_path),
        "--threads",
        "1",
        *getattr(request, "param", ("chat",)),
    ]
    terminal = Terminal(*arguments)
    yield terminal
    terminal.close()


@pytest.mark.parametrize("terminal", [("chat", "--max-tokens", "30")], indirect=True)
def test_a_conversation(terminal: Terminal) -> None:
    terminal.until("Ctrl-D leaves.")
    terminal.until("> ")
    terminal.type("Hello\n")
    terminal.until("tokens/s")
    terminal.until("> ")
    # the second turn continues the conversation: its beginning is reused
    terminal.type("And again\n")
    terminal.until("prompt tokens reused")
    terminal.until("> ")
    terminal.type("\x04")
    assert terminal.process.wait(15) == 0


def test_ctrl_c_stops_the_answer_and_not_the_program(terminal: Terminal) -> None:
    terminal.until("> ")
    terminal.type("a line that is given up")
    terminal.until("given up")
    terminal.press_ctrl_c()
    for _ in range(50):  # the model's noise may hold an end token
        terminal.type("Hello\n")
        terminal.until("Hello\r\n")
        if terminal.in_mid_answer():
            break
        terminal.press_ctrl_c()
    terminal.screen = ""
    terminal.type("\x03")
    terminal.until("> ")
    terminal.type("\x04")
    assert terminal.process.wait(15) == 0


@pytest.mark.parametrize(
    "terminal", [("--context", "256", "chat", "--max-tokens", "10")], indirect=True
)
def test_a_full_context_forgets_the_oldest_exchanges_and_says_so(terminal: Terminal) -> None:
    for _ in range(4):
        terminal.until("> ")
        terminal.type("word " * 12 + "\n")
        terminal.until("first after")
    terminal.until("> ")
    terminal.type("x" * 400 + "\n")
    terminal.until("The prompt has")
    terminal.until("> ")
    terminal.type("short\n")
    terminal.until("first after")
    terminal.until("> ")
    terminal.type("\x04")
    assert terminal.process.wait(15) == 0
