"""Frames invert under any split of the bytes."""

from hypothesis import given
from hypothesis import strategies as st

from engine.ipc.codec import FrameDecoder, encode
from engine.ipc.messages import Abort, Delta, LoadProgress, Reading, Step, ToSupervisor, ToWorker

text = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
deltas = st.builds(
    Delta, text, st.integers(0, 7), st.lists(st.integers(0, 200_000), max_size=5), text, text
)
messages = st.one_of(
    st.builds(Step, st.lists(deltas, max_size=3)),
    st.builds(Reading, text, st.integers(0, 99), st.integers(0, 99), st.integers(0, 99)),
    st.builds(LoadProgress, st.floats(0, 1)),
)


@given(st.lists(messages, max_size=6), st.lists(st.integers(1, 40), min_size=1))
def test_any_split(sent: list[ToSupervisor], sizes: list[int]) -> None:
    data = b"".join(map(encode, sent))
    decoder: FrameDecoder[ToSupervisor] = FrameDecoder(ToSupervisor)
    received: list[ToSupervisor] = []
    start = turn = 0
    while start < len(data):
        size = sizes[turn % len(sizes)]
        received += decoder.feed(data[start : start + size])
        start, turn = start + size, turn + 1
    assert received == sent


@given(st.binary(max_size=3))
def test_part_of_a_frame_is_waited_for(extra: bytes) -> None:
    decoder: FrameDecoder[ToWorker] = FrameDecoder(ToWorker)
    assert decoder.feed(encode(Abort("a")) + extra) == [Abort("a")]
