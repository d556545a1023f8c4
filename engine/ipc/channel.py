"""The worker's end of the pipes: blocking reads on one thread, locked writes from any.

Zone: worker process. The service's end is `engine.supervisor.process` (asyncio).
"""

import os
import threading
from collections.abc import Iterator

import msgspec

from engine.ipc.codec import FrameDecoder, encode
from engine.ipc.messages import ToWorker

_READ_BYTES = 1 << 16


class Channel:
    """Frames over two file descriptors."""

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd = read_fd
        self._write_fd = write_fd
        self._lock = threading.Lock()

    @staticmethod
    def over_standard_streams() -> "Channel":
        """Take stdin and stdout for frames; what anything prints from now on goes to stderr.

        Native code prints at will, and one stray line would tear the protocol.
        """
        read_fd, write_fd = os.dup(0), os.dup(1)
        null = os.open(os.devnull, os.O_RDONLY)
        os.dup2(null, 0)
        os.close(null)
        os.dup2(2, 1)
        return Channel(read_fd, write_fd)

    def send(self, message: msgspec.Struct) -> None:
        """Write one frame. Thread-safe.

        Raises:
            BrokenPipeError: when the service is gone.
        """
        view = memoryview(encode(message))
        with self._lock:
            while view:
                view = view[os.write(self._write_fd, view) :]

    def messages(self) -> Iterator[ToWorker]:
        """Frames as they come, until the other side closes the pipe."""
        decoder: FrameDecoder[ToWorker] = FrameDecoder(ToWorker)
        while data := os.read(self._read_fd, _READ_BYTES):
            yield from decoder.feed(data)
