import itertools

from hypothesis import given
from hypothesis import strategies as st

from engine.api import sse

LINE = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\r\n"), max_size=12)
DATA = st.lists(LINE, min_size=1, max_size=3).map("\n".join)
NOISE = st.lists(
    st.one_of(
        LINE.map(": {}".format), st.sampled_from(["id: 7", "event: x", "retry: 1", "data2: x"])
    ),
    max_size=2,
)
END = st.sampled_from(["\n", "\r\n", "\r"])


def cut(data: bytes, places: list[int]) -> list[bytes]:
    edges = [0, *sorted(place % (len(data) + 1) for place in places), len(data)]
    return [data[a:b] for a, b in itertools.pairwise(edges)]


@given(st.lists(DATA, max_size=4), st.lists(st.integers(0, 10**6), max_size=8), st.data())
def test_any_split_gives_the_same_events(
    events: list[str], places: list[int], data: st.DataObject
) -> None:
    text = data.draw(st.sampled_from(["", "\ufeff"]))
    for event in events:
        end = data.draw(END)
        space = data.draw(st.sampled_from(["", " "]))
        lines = data.draw(NOISE)
        for line in event.split("\n"):
            # Without the optional space, a value's own leading one would be taken for it.
            lines.append(f"data:{' ' if line.startswith(' ') else space}{line}")
        text += end.join(lines) + end + end
    decoder = sse.Decoder()
    found = [event for part in cut(text.encode(), places) for event in decoder.feed(part)]
    assert found == events


@given(st.binary(max_size=60), st.lists(st.integers(0, 10**6), max_size=8))
def test_arbitrary_bytes_never_fail_and_splits_do_not_matter(
    junk: bytes, places: list[int]
) -> None:
    whole = sse.Decoder().feed(junk)
    decoder = sse.Decoder()
    assert [event for part in cut(junk, places) for event in decoder.feed(part)] == whole


@given(st.lists(LINE, max_size=5))
def test_what_we_write_we_read(lines: list[str]) -> None:
    stream = sse.PING.join(sse.event(line.encode()) for line in lines) + sse.DONE
    assert sse.Decoder().feed(stream) == [*lines, sse.DONE_MARK]


def test_an_unfinished_event_is_not_given_out() -> None:
    decoder = sse.Decoder()
    assert decoder.feed(b"data: a\n") == []
    assert decoder.feed(b"\n") == ["a"]


def test_crlf_split_between_chunks_is_one_line_end() -> None:
    decoder = sse.Decoder()
    assert [decoder.feed(part) for part in (b"data: a\r", b"\n", b"data: b\r", b"\n\r", b"\n")] == [
        [],
        [],
        [],
        ["a\nb"],
        [],
    ]
