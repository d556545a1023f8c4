"""Length-prefixed frames: 4 bytes little-endian length, then MessagePack. Pure.

The first element of a message's array is its type name (msgspec's tagged unions).
"""

import struct
from typing import Any, Generic, TypeVar

import msgspec

M = TypeVar("M")

_LENGTH = struct.Struct("<I")
MAX_FRAME_BYTES = 256 * 1024 * 1024
"""Larger lengths mean that the stream is not ours (a stray print, a torn frame)."""

_encoder = msgspec.msgpack.Encoder()


class FrameError(ValueError):
    """The byte stream does not follow the protocol; the channel is of no more use."""


def encode(message: msgspec.Struct) -> bytes:
    """One message as one frame."""
    body = _encoder.encode(message)
    return _LENGTH.pack(len(body)) + body


class FrameDecoder(Generic[M]):
    """Incremental decoder: `feed` bytes in any split, get whole messages."""

    def __init__(self, message_type: Any) -> None:
        self._decoder: msgspec.msgpack.Decoder[M] = msgspec.msgpack.Decoder(message_type)
        self._buffer = bytearray()

    def feed(self, data: bytes) -> list[M]:
        """Messages completed by `data`, in order.

        Raises:
            FrameError: at an impossible length or a body that is no message of this type.
        """
        self._buffer += data
        messages: list[M] = []
        start = 0
        while len(self._buffer) - start >= _LENGTH.size:
            (length,) = _LENGTH.unpack_from(self._buffer, start)
            if length > MAX_FRAME_BYTES:
                raise FrameError(f"frame of {length} bytes")
            end = start + _LENGTH.size + length
            if len(self._buffer) < end:
                break
            try:
                messages.append(self._decoder.decode(self._buffer[start + _LENGTH.size : end]))
            except msgspec.MsgspecError as error:
                raise FrameError(str(error)) from error
            start = end
        del self._buffer[:start]
        return messages
