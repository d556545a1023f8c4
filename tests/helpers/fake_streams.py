"""The bridge's streams, played by a test: it says what the model says."""

from PySide6.QtCore import QObject, Signal

from engine.api.events import Finished, Started, TextDelta
from engine.api.requests import ChatRequest


class FakeStreams(QObject):
    """Implements `app.stores.chat.Streams`."""

    event = Signal(int, object)
    finished = Signal(int, object)

    def __init__(self) -> None:
        super().__init__()
        self.requests: list[ChatRequest] = []
        self.cancelled: list[int] = []

    def stream(self, request: ChatRequest) -> int:
        self.requests.append(request)
        return len(self.requests)

    def cancel(self, stream: int) -> None:
        self.cancelled.append(stream)

    def says(self, text: str, *, stream: int = 0, reasoning: str = "") -> None:
        """New text on a stream (0: the latest)."""
        self.event.emit(stream or len(self.requests), TextDelta(0, text, reasoning))

    def ends(self, error: object = None, *, stream: int = 0) -> None:
        number = stream or len(self.requests)
        if error is None:
            self.event.emit(number, Finished(0, "stop", None))
        self.finished.emit(number, error)

    def starts(self, *, stream: int = 0) -> None:
        self.event.emit(stream or len(self.requests), Started("r", "m", 7))
