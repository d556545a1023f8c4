"""Frames: every message survives, nonsense is refused."""

import pytest

from engine.errors import ContextOverflow, EngineError
from engine.ipc.codec import MAX_FRAME_BYTES, FrameDecoder, FrameError, encode
from engine.ipc.messages import (
    Abort,
    ChatPrompt,
    Delta,
    Failed,
    Generate,
    Load,
    Step,
    TokenPrompt,
    ToSupervisor,
    ToWorker,
)
from engine.types import SamplingParams, Timings, TokenLogprob


def test_messages_come_back_as_they_were() -> None:
    sampling = SamplingParams(seed=2**53, logit_bias=((3, -100.0),), num_logprobs=2)
    sent = [
        Load(b"/models/\xff.gguf", "llama.cpp", 8192, 8, 1, 1, options={"x": [1]}),
        Generate("r1", ChatPrompt([{"role": "user", "content": "é 😊"}]), sampling, stop=["\n"]),
        Generate("r2", TokenPrompt([1, 2, 3]), sampling, resume=[[4], []], finished=[1]),
        Abort("r1"),
    ]
    decoder: FrameDecoder[ToWorker] = FrameDecoder(ToWorker)
    assert decoder.feed(b"".join(map(encode, sent))) == sent


def test_a_step_with_everything_comes_back() -> None:
    timings = Timings(0.1, 0.2, 0.3, 4, 5, 6)
    logprob = TokenLogprob(b"\xf0\x9f", -0.5, ((b"a", -1.0),))
    sent = Step([Delta("r", 1, [7], "text", "thought", [logprob], "stop", timings)])
    decoder: FrameDecoder[ToSupervisor] = FrameDecoder(ToSupervisor)
    assert decoder.feed(encode(sent)) == [sent]


def test_an_error_keeps_its_class_and_details() -> None:
    error = ContextOverflow("too long", hint="shorten it", prompt_tokens=9, limit=8)
    decoder: FrameDecoder[ToSupervisor] = FrameDecoder(ToSupervisor)
    (message,) = decoder.feed(encode(Failed("r", error.to_wire())))
    assert isinstance(message, Failed)
    back = EngineError.from_wire(message.error)
    assert type(back) is ContextOverflow
    assert (back.message, back.hint, back.details) == (error.message, error.hint, error.details)


def test_an_unknown_error_becomes_the_base_class() -> None:
    assert type(EngineError.from_wire({"code": "of tomorrow", "message": "m"})) is EngineError


@pytest.mark.parametrize(
    "data",
    [
        b"llama_model_load: error\n",
        (MAX_FRAME_BYTES + 1).to_bytes(4, "little"),
        b"\x01\x00\x00\x00\xc1",
        encode(Abort("a message for the other side")),
    ],
)
def test_nonsense_is_refused(data: bytes) -> None:
    decoder: FrameDecoder[ToSupervisor] = FrameDecoder(ToSupervisor)
    with pytest.raises(FrameError):
        decoder.feed(data)
