"""Text is bundled for 20 ms at most, never across an end, and the first word goes at once."""

from hypothesis import given
from hypothesis import strategies as st

from engine.ipc.messages import Delta, Step
from engine.worker.outgoing import Outgoing


class Channel:
    def __init__(self) -> None:
        self.sent: list[Step] = []

    def send(self, message: Step) -> None:
        self.sent.append(message)


def delta(request: str, token: int, finish=None) -> Delta:
    return Delta(request, 0, [token], content=chr(token), finish=finish)


@given(
    st.lists(
        st.tuples(st.sampled_from("ab"), st.floats(0, 0.03), st.booleans()), min_size=1, max_size=40
    )
)
def test_everything_arrives_once_and_in_order(steps) -> None:
    now = 100.0
    channel = Channel()
    outgoing = Outgoing(channel, lambda: now)  # type: ignore[arg-type]
    said: dict[str, list[int]] = {"a": [], "b": []}
    for number, (request, pause, ends) in enumerate(steps):
        now += pause
        before = len(channel.sent)
        first = not said[request]
        said[request].append(65 + number)
        outgoing.add([delta(request, 65 + number, "stop" if ends else None)])
        if first or ends or pause > 0.0201:  # clocks are floats
            assert len(channel.sent) == before + 1
    outgoing.flush()
    got: dict[str, list[int]] = {"a": [], "b": []}
    for step in channel.sent:
        assert len({d.request for d in step.deltas}) == len(step.deltas)
        for d in step.deltas:
            got[d.request] += d.tokens
            assert d.content == "".join(map(chr, d.tokens))
    assert got == said


def test_a_dropped_request_says_nothing_more() -> None:
    channel = Channel()
    outgoing = Outgoing(channel, lambda: 0.001)  # type: ignore[arg-type]
    outgoing.add([delta("a", 65)])
    outgoing.add([delta("a", 66), delta("b", 67)])
    outgoing.add([delta("a", 68)])
    outgoing.drop("a")
    outgoing.flush()
    assert [d.tokens for step in channel.sent for d in step.deltas if d.request == "a"] == [
        [65],
        [66],
    ]
