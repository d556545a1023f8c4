"""Shows a streamed answer in a terminal: text on stdout, what happens meanwhile on stderr."""

import sys
import time

from engine.api.events import ChatEvent, Counted, Finished, Loading, Reading, Started, TextDelta

_DIM, _PLAIN, _CLEAR_LINE = "\x1b[2m", "\x1b[0m", "\r\x1b[2K"


class AnswerView:
    """One answer."""

    def __init__(self) -> None:
        self.content = ""
        """The answer's text so far, without reasoning."""
        self._tty = sys.stderr.isatty()
        self._status_shown = False
        self._in_reasoning = False
        self._has_reasoning = False
        self._at_line_start = True
        self._sent_at = time.monotonic()
        self._first_at: float | None = None
        self._finished: Finished | None = None

    def show(self, event: ChatEvent) -> None:
        """Take the next event."""
        match event:
            case Loading():
                self._status(f"loading the model {event.fraction:.0%}")
            case Reading():
                word = "re-reading" if event.again else "reading"
                self._status(f"{word} {event.done} of {event.total} tokens")
            case TextDelta():
                self._first_at = self._first_at or time.monotonic()
                self._clear_status()
                self._reasoning(event.reasoning)
                self._answer(event.content)
            case Finished():
                self._finished = event
            case Counted():
                self._figures(event)
            case Started(notice=notice) if notice:
                self._clear_status()
                sys.stderr.write(f"{notice}\n")
            case Started():
                pass

    def end(self) -> None:
        """No more events; leave the cursor on a fresh line."""
        self._clear_status()
        self._leave_reasoning()
        if not self._at_line_start:
            sys.stdout.write("\n")
            sys.stdout.flush()
            self._at_line_start = True

    def _reasoning(self, text: str) -> None:
        if not text:
            return
        if not self._in_reasoning:
            self._in_reasoning = self._has_reasoning = True
            sys.stderr.write(_DIM if self._tty else "")
        sys.stderr.write(text)
        sys.stderr.flush()

    def _leave_reasoning(self) -> None:
        if self._in_reasoning:
            self._in_reasoning = False
            sys.stderr.write(f"{_PLAIN}\n\n" if self._tty else "\n\n")

    def _answer(self, text: str) -> None:
        if not text:
            return
        self._leave_reasoning()
        self.content += text
        sys.stdout.write(text)
        sys.stdout.flush()
        self._at_line_start = text.endswith("\n")

    def _figures(self, counted: Counted) -> None:
        """What it cost, after the answer."""
        self.end()
        usage = counted.usage
        facts = [f"{usage.completion_tokens} tokens"]
        pace = self._finished.pace if self._finished else None
        if pace is not None and usage.completion_tokens > 1:
            facts.append(f"{pace.predicted_per_second:.1f} tokens/s")
        if self._first_at is not None:
            facts.append(f"first after {(self._first_at - self._sent_at) * 1000:.0f} ms")
        if pace is not None and pace.cache_n:
            kept = f" ({pace.restored_n} restored from memory or disk)" if pace.restored_n else ""
            facts.append(f"{pace.cache_n} of {usage.prompt_tokens} prompt tokens reused{kept}")
        if self._finished and self._finished.reason == "length":
            only_thought = self._has_reasoning and not self.content
            facts.append(
                "the limit came while it was thinking" if only_thought else "ended at the limit"
            )
        line = " · ".join(facts)
        sys.stderr.write(f"{_DIM}{line}{_PLAIN}\n" if self._tty else f"{line}\n")

    def _status(self, text: str) -> None:
        if self._tty:
            sys.stderr.write(f"{_CLEAR_LINE}{_DIM}{text}{_PLAIN}")
            sys.stderr.flush()
            self._status_shown = True

    def _clear_status(self) -> None:
        if self._status_shown:
            sys.stderr.write(_CLEAR_LINE)
            sys.stderr.flush()
            self._status_shown = False
