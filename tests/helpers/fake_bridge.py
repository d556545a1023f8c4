"""A bridge that answers from a dict: name of the client's method → value, error, or function of its arguments."""

from collections import deque
from collections.abc import Callable
from typing import Any

from engine.api.keeping import Defaults, DiskUse, Verified
from engine.errors import EngineError


class FakeBridge:
    """Requests wait in `waiting` until `run` answers them, as replies do until the event loop runs."""

    def __init__(self, **answers: Any) -> None:
        self.answers = {
            "defaults": lambda model: Defaults(model=model),
            "verification": lambda model: Verified(model=model, state="unknown"),
            "disk": DiskUse({}, {}, 0, 0),
        } | answers
        self.calls: list[tuple[Any, ...]] = []
        self.waiting: deque[Callable[[], None]] = deque()

    def call(self, make: Any, ok: Callable[[Any], None], failed: Callable[[Any], None]) -> None:
        coroutine = make(_FakeClient(self))
        name, *arguments = self.calls[-1]
        coroutine.close()

        def reply() -> None:
            answer = self.answers[name]
            if callable(answer):
                answer = answer(*arguments)
            if isinstance(answer, EngineError):
                failed(answer)
            else:
                ok(answer)

        reply.__name__ = name
        self.waiting.append(reply)

    def run(self, *, leave: str = "") -> None:
        """Answer what waits, and what that leads to; requests named `leave` stay waiting."""
        kept: list[Callable[[], None]] = []
        for _ in range(200):
            if not self.waiting:
                break
            reply = self.waiting.popleft()
            if reply.__name__ == leave:
                kept.append(reply)
            else:
                reply()
        else:
            raise AssertionError("requests without end")
        self.waiting.extend(kept)

    def count(self, name: str) -> int:
        return sum(call[0] == name for call in self.calls)


class _FakeClient:
    def __init__(self, bridge: FakeBridge) -> None:
        self._bridge = bridge

    @property
    def hub(self) -> "_FakeClient":
        """Its methods are told by their own names, too."""
        return self

    keeping = hub

    def __getattr__(self, name: str) -> Any:
        def method(*arguments: Any, **named: Any) -> Any:
            self._bridge.calls.append((name, *arguments, *named.values()))

            async def nothing() -> None:
                pass

            return nothing()

        return method
