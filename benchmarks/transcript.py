"""What an update of the conversation costs the window's thread while an answer is written.

Yardstick: one frame (16 ms) for a flush at the 99th percentile, layout and painting included; no gap between
two events over 100 ms, whatever is opened or scrolled to. Offscreen. `python -m benchmarks.transcript [--seconds N]`.
"""

import argparse
import os
import statistics
import time
from collections.abc import Callable

from benchmarks.harness import report

TOKENS_PER_S = 100
FLUSHES_PER_S = 30
LONG_ANSWER = 100_000
_QUIET_S = 1.1  # longer than what is out of sight is kept
_BUSY_MS = 3.0
_TEXT = (
    "The **scheduler** admits a request when `free_blocks` covers its prompt; otherwise it waits. "
    "Prefix blocks are shared, *never* copied, as [the page](https://example.org/page) says. " * 3
)
_CODE = """
```python
def step(self):
    batch = self.schedule()  # rows
    return self.commit(batch, "done", 42)
```

"""
_UNIT = (
    f"{_TEXT}\n\n- item one\n- item two with `code`\n\n{_CODE}| a | b |\n|---|--:|\n| x | 1 |\n\n"
)


def main() -> None:
    """Run and print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=30)
    args = parser.parse_args()
    os.environ.setdefault("QT_QPA_PLATFORM", "offscreen")
    from PySide6.QtWidgets import QApplication

    from app.theme import Theme

    app = QApplication([])
    theme = Theme()
    theme.apply(app)
    window = _Window(app)
    window.open(200)  # fonts, style sheet, icons
    table = "| row | some `code` | square |\n|---|:-:|--:|\n"
    table += "".join(f"| row {i} | `code` {i} | {i * i} |\n" for i in range(2000))
    lines = "".join(f"    value_{i} = compute({i}, 'text')  # note\n" for i in range(7000))
    long_line = "[1, 2], " * 37_500
    report(
        "transcript",
        stream_200_messages=window.stream(_repeat(int(args.seconds * TOKENS_PER_S * 4)), 4),
        stream_100k_characters=window.stream(_repeat(LONG_ANSWER), 40),
        stream_300kb_code=window.stream(f"```python\n{lines[:300_000]}\n```\n", 400),
        stream_2000_row_table=window.stream(table, 40),
        stream_300kb_line=window.stream(f"```json\n{long_line}\n```\n", 400),
        open_200=window.gaps(lambda: window.open(200)),
        open_2000=window.gaps(lambda: window.open(2000)),
        open_2000_in_the_middle=window.gaps(lambda: window.open(2000, at=0.5)),
        scroll_up_2000=window.scroll_up(),
        open_100k_characters=window.gaps(lambda: window.open(1, _repeat(LONG_ANSWER))),
        open_100k_in_the_middle=window.gaps(lambda: window.open(1, _repeat(LONG_ANSWER), at=0.5)),
        resize_100k_characters=window.resize(1, _repeat(LONG_ANSWER)),
        open_300kb_code=window.gaps(lambda: window.open(1, f"```python\n{lines[:300_000]}\n```\n")),
        open_300kb_line=window.gaps(lambda: window.open(1, f"```json\n{long_line}\n```\n")),
        open_2000_row_table=window.gaps(lambda: window.open(1, table)),
        resize_2000=window.resize(2000),
    )


def _repeat(characters: int) -> str:
    return (_UNIT * (characters // len(_UNIT) + 1))[:characters]


def _spread(times: list[float]) -> dict[str, float]:
    times = sorted(times)
    return {
        "count": len(times),
        "p50_ms": round(times[len(times) // 2], 2),
        "p99_ms": round(times[int(len(times) * 0.99)], 2),
        "max_ms": round(times[-1], 2),
    }


class _Window:
    """A transcript on screen."""

    def __init__(self, app: object) -> None:
        from PySide6.QtWidgets import QApplication

        from app.widgets.chat.transcript import Transcript

        assert isinstance(app, QApplication)
        self.app = app
        self.transcript = Transcript()
        self.transcript.resize(900, 700)
        self.transcript.show()

    def open(self, count: int, answer: str = _UNIT, at: float = 1.0) -> None:
        from app.widgets.chat.message import MessageView

        self.transcript.show_messages(
            [
                MessageView(i, "assistant", answer) if i % 2 else MessageView(i, "user", _TEXT)
                for i in range(1, count + 1)
            ]
        )
        self.transcript.set_position(at)

    def gaps(self, act: Callable[[], None]) -> dict[str, float]:
        """Medians of 5: until something is shown, until all is there; the longest gap of all."""
        from PySide6.QtCore import QTimer

        shown, done, gaps = [], [], []
        for _ in range(5):
            started = time.perf_counter()
            QTimer.singleShot(0, act)  # only what events delete is deleted
            gaps += [self._turn(), self._turn()]
            shown.append((time.perf_counter() - started) * 1e3)
            gaps.append(self._rest())
            done.append((time.perf_counter() - started - _QUIET_S) * 1e3)
        return {
            "shown_ms": round(statistics.median(shown), 1),
            "done_ms": round(statistics.median(done), 1),
            "gap_ms": round(max(gaps), 1),
        }

    def stream(self, text: str, token: int) -> dict[str, float]:
        """Write an answer into 200 messages, `token` characters at once."""
        from app.widgets.chat.message import AssistantMessage, MessageView

        self.open(200)
        self.transcript.add(MessageView(1000, "assistant", "", state="streaming"))
        self._rest()
        message = self.transcript.message(1000)
        assert isinstance(message, AssistantMessage)
        step = token * TOKENS_PER_S // FLUSHES_PER_S
        times, cpu = [], []
        for start in range(0, len(text), step):
            self.transcript.stream_delta(1000, text[start : start + step], "")
            started, used = time.perf_counter(), time.thread_time()
            message.flush()
            self._show()
            times.append((time.perf_counter() - started) * 1e3)
            cpu.append((time.thread_time() - used) * 1e3)
        started = time.perf_counter()
        self.transcript.update_message(MessageView(1000, "assistant", text))
        self._show()
        ended = (time.perf_counter() - started) * 1e3
        self._rest()
        return {**_spread(times), "cpu_p99_ms": _spread(cpu)["p99_ms"], "end_ms": round(ended, 2)}

    def scroll_up(self) -> dict[str, float]:
        """Page up from the end of 2,000 messages until nothing is above: the longest gap of each step."""
        self.open(2000)
        bar = self.transcript.verticalScrollBar()
        times = []
        while bar.value() > 0 and len(times) < 5000:
            started = time.perf_counter()
            bar.setValue(bar.value() - bar.pageStep())
            stepped = (time.perf_counter() - started) * 1e3
            times.append(max(stepped, self._show()))
        return _spread(times)

    def resize(self, count: int, answer: str = _UNIT) -> dict[str, float]:
        """Another width for everything that is loaded."""
        self.open(count, answer)
        self._rest()
        widths = iter((700, 650, 600, 720, 680))
        return self.gaps(lambda: self.transcript.resize(next(widths), 700))

    def _show(self) -> float:
        """Lay out and paint; Qt hands a new height up by one level at a time. The longest gap."""
        return max(self._turn() for _ in range(8))

    def _rest(self) -> float:
        """Let deferred work (building, colouring, deletion) come to its end. The longest gap."""
        longest, end = 0.0, time.perf_counter() + _QUIET_S
        while time.perf_counter() < end:
            took = self._turn()
            longest = max(longest, took)
            if took > _BUSY_MS:
                end = time.perf_counter() + _QUIET_S
        return longest

    def _turn(self) -> float:
        """One turn of the event loop, in milliseconds."""
        started = time.perf_counter()
        self.app.processEvents()
        return (time.perf_counter() - started) * 1e3


if __name__ == "__main__":
    main()
