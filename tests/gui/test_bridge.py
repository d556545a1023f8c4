"""The bridge against the real service over sockets: order, ends, Stop, errors, a busy GUI, its thread."""

import gc
import threading
import time
from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import QObject, QThread, Slot

from app.bridge import Bridge
from app.outbox import Cancelled, End, Outbox
from engine.api.events import ChatEvent, Counted, Finished, Loading, Reading, Started, TextDelta
from engine.api.models import ModelInfo
from engine.api.requests import ChatRequest, Message
from engine.cli.loop_thread import LoopThread
from engine.client.client import Client
from engine.errors import AccessDenied, EngineError, ModelNotFound, ServiceUnavailable
from engine.server.application import create_app
from engine.server.run import running
from tests.helpers.scripted_engine import Script, ScriptedEngine, endless, say, stuck_reading

pytestmark = pytest.mark.gui
HI = ChatRequest(messages=[Message("user", "hi")])
KEY = "sesame"


class Sink(QObject):
    """Keeps what came, and checks the thread it came in."""

    def __init__(self, bridge: Bridge) -> None:
        super().__init__()
        self.events: list[tuple[int, ChatEvent]] = []
        self.ends: list[tuple[int, object]] = []
        self.replies: list[object] = []
        self.errors: list[EngineError] = []
        bridge.event.connect(self.on_event)
        bridge.finished.connect(self.on_finished)

    def text(self, stream: int) -> str:
        return "".join(
            e.content for number, e in self.events if number == stream and isinstance(e, TextDelta)
        )

    @Slot(int, object)
    def on_event(self, stream: int, event: ChatEvent) -> None:
        assert QThread.currentThread() is self.thread()
        self.events.append((stream, event))

    @Slot(int, object)
    def on_finished(self, stream: int, error: object) -> None:
        assert QThread.currentThread() is self.thread()
        self.ends.append((stream, error))

    @Slot(object)
    def on_reply(self, value: object) -> None:
        assert QThread.currentThread() is self.thread()
        self.replies.append(value)

    @Slot(object)
    def on_error(self, error: EngineError) -> None:
        self.errors.append(error)


@pytest.fixture
def bridge(qapp) -> Iterator[Bridge]:
    made = Bridge()
    yield made
    made.close()
    assert "client-io" not in [thread.name for thread in threading.enumerate()]


@pytest.fixture
def serve() -> Iterator[Callable[[Script], tuple[str, ScriptedEngine]]]:
    with LoopThread() as loop:
        servers = []

        def start(script: Script) -> tuple[str, ScriptedEngine]:
            engine = ScriptedEngine(script)
            servers.append(running(create_app(engine, api_keys=(KEY,)), grace_seconds=0))
            return loop.run(servers[-1].__aenter__()), engine

        yield start
        for server in servers:
            loop.run(server.__aexit__(None, None, None))


def test_an_answer_arrives_whole_and_in_order(qtbot, bridge, serve) -> None:
    words = [f"w{i} " for i in range(500)]
    bridge.connect_to(serve(say(*words))[0], KEY)
    sink = Sink(bridge)
    stream = bridge.stream(HI)
    qtbot.waitUntil(lambda: sink.ends == [(stream, None)])
    kinds = [type(event) for _, event in sink.events]
    assert kinds[-2:] == [Finished, Counted]
    assert kinds.index(Started) < kinds.index(TextDelta)
    assert sink.text(stream) == "".join(words)


def test_what_piled_up_while_the_gui_was_busy_comes_in_few_events(qtbot, bridge, serve) -> None:
    words = [f"w{i} " for i in range(2000)]
    url, engine = serve(say(*words))
    bridge.connect_to(url, KEY)
    sink = Sink(bridge)
    stream = bridge.stream(HI)
    deadline = time.monotonic() + 10
    while not (engine.finished and not bridge._requester._tasks) and time.monotonic() < deadline:
        time.sleep(0.01)  # this is the GUI thread, and it is busy
    assert not sink.events
    started = time.perf_counter()
    qtbot.waitUntil(lambda: sink.ends == [(stream, None)])
    print(f"2,000 events handed out in {time.perf_counter() - started:.4f} s")
    assert sink.text(stream) == "".join(words)
    assert len(sink.events) < 10


@pytest.mark.parametrize("script", [stuck_reading, endless()])
def test_stop_closes_the_connection_and_nothing_comes_after_it(
    qtbot, bridge, serve, script: Script
) -> None:
    url, engine = serve(script)
    bridge.connect_to(url, KEY)
    sink = Sink(bridge)
    stream = bridge.stream(HI)
    qtbot.waitUntil(lambda: bool(sink.events))
    started = time.perf_counter()
    bridge.cancel(stream)
    bridge.cancel(stream)
    seen = len(sink.events)
    qtbot.waitUntil(lambda: bool(sink.ends))
    print(f"stopped after {time.perf_counter() - started:.4f} s")
    assert sink.ends == [(stream, Cancelled())]
    assert len(sink.events) == seen
    qtbot.waitUntil(lambda: len(engine.aborted) == 1)
    bridge.cancel(stream)


def test_stop_at_once_and_stop_after_the_end_was_sent(qtbot, bridge, serve) -> None:
    bridge.connect_to(serve(say("x"))[0], KEY)
    sink = Sink(bridge)
    first = bridge.stream(HI)
    bridge.cancel(first)
    qtbot.waitUntil(lambda: sink.ends == [(first, Cancelled())])
    second = bridge.stream(HI)
    deadline = time.monotonic() + 10
    # no event of the GUI thread may pass meanwhile, so no waitUntil
    while not bridge._outbox._items and time.monotonic() < deadline:
        time.sleep(0.01)
    while bridge._requester._tasks and time.monotonic() < deadline:
        time.sleep(0.01)
    bridge.cancel(second)
    qtbot.waitUntil(lambda: len(sink.ends) == 2)
    assert sink.ends[1] == (second, Cancelled())
    assert not sink.events


def test_streams_do_not_mix(qtbot, bridge, serve) -> None:
    bridge.connect_to(serve(say("a", "b", "c"))[0], KEY)
    sink = Sink(bridge)
    streams = [bridge.stream(HI) for _ in range(8)]
    qtbot.waitUntil(lambda: len(sink.ends) == 8)
    assert sorted(sink.ends) == [(stream, None) for stream in streams]
    assert {sink.text(stream) for stream in streams} == {"abc"}


def test_calls_reply_in_the_gui_thread(qtbot, bridge, serve) -> None:
    bridge.connect_to(serve(say("x"))[0], KEY)
    sink = Sink(bridge)
    bridge.call(Client.models, sink.on_reply, sink.on_error)
    gc.collect()  # nobody keeps the handle
    qtbot.waitUntil(lambda: bool(sink.replies))
    (models,) = sink.replies
    assert [model.id for model in models if isinstance(model, ModelInfo)] == [
        "org/big.gguf",
        "tiny",
    ]

    def load(client: Client):
        return client.load("ghost")

    bridge.call(load, sink.on_reply, sink.on_error)
    qtbot.waitUntil(lambda: bool(sink.errors))
    assert isinstance(sink.errors[0], ModelNotFound)


def test_a_cancelled_call_does_not_reply(qtbot, bridge, serve) -> None:
    bridge.connect_to(serve(say("x"))[0], KEY)
    sink = Sink(bridge)
    bridge.call(Client.models, sink.on_reply, sink.on_error).cancel()
    bridge.call(Client.version, sink.on_reply, sink.on_error)
    qtbot.waitUntil(lambda: bool(sink.replies))
    assert isinstance(sink.replies[0], str)
    qtbot.waitUntil(lambda: not bridge._calls)
    assert len(sink.replies) == 1


def test_without_a_service_everything_fails_once(qtbot, bridge, serve) -> None:
    sink = Sink(bridge)
    bridge.call(Client.models, sink.on_reply, sink.on_error)
    bridge.stream(HI)
    bridge.connect_to("http://127.0.0.1:1", "")
    bridge.stream(HI)
    bridge.connect_to(serve(say("x"))[0], "wrong")
    bridge.stream(HI)
    bridge.disconnect_client()
    bridge.stream(HI)
    qtbot.waitUntil(lambda: len(sink.ends) == 4)
    kinds = [type(error) for _, error in sorted(sink.ends)]
    assert kinds == [ServiceUnavailable, ServiceUnavailable, AccessDenied, ServiceUnavailable]
    assert [type(error) for error in sink.errors] == [ServiceUnavailable]


def test_another_service_leaves_running_answers_alone(qtbot, bridge, serve) -> None:
    bridge.connect_to(serve(say(*["old "] * 300))[0], KEY)
    new, _ = serve(say("new"))
    sink = Sink(bridge)
    first = bridge.stream(HI)
    bridge.connect_to(new, KEY)
    second = bridge.stream(HI)
    qtbot.waitUntil(lambda: len(sink.ends) == 2)
    assert sorted(sink.ends) == [(first, None), (second, None)]
    assert (sink.text(first), sink.text(second)) == ("old " * 300, "new")


def test_a_mistake_of_the_window_is_an_error_and_not_a_hang(qtbot, bridge, serve, caplog) -> None:
    bridge.connect_to(serve(say("x"))[0], KEY)
    sink = Sink(bridge)

    async def broken(client: Client) -> None:
        raise KeyError("slip")

    bridge.call(broken, sink.on_reply, sink.on_error)
    qtbot.waitUntil(lambda: bool(sink.errors))
    assert "slip" not in str(sink.errors[0])
    assert "slip" in caplog.text


def test_closing_ends_what_runs(qtbot, bridge, serve) -> None:
    url, engine = serve(stuck_reading)
    bridge.connect_to(url, KEY)
    sink = Sink(bridge)
    stream = bridge.stream(HI)
    qtbot.waitUntil(lambda: bool(engine.running))
    bridge.close()
    assert sink.ends == [(stream, Cancelled())]
    qtbot.waitUntil(lambda: not engine.running)
    late = bridge.stream(HI)
    qtbot.waitUntil(lambda: len(sink.ends) == 2)
    assert sink.ends[1][0] == late
    assert isinstance(sink.ends[1][1], ServiceUnavailable)
    bridge.cancel(late)
    bridge.close()


def test_merging_keeps_order_choices_and_the_latest_progress() -> None:
    box = Outbox()
    items: list[ChatEvent | End] = [
        Loading(0.1),
        Loading(0.9),
        Reading(1, 9, again=False),
        Reading(9, 9, again=False),
        TextDelta(0, "", "why "),
        TextDelta(0, "a", ""),
        TextDelta(1, "b", ""),
        TextDelta(0, "c", ""),
        End(),
    ]
    assert [box.put(7, item) for item in items] == [True] + [False] * 8
    assert [item for _, item in box.take()] == [
        Loading(0.9),
        Reading(9, 9, again=False),
        TextDelta(0, "a", "why "),
        TextDelta(1, "b", ""),
        TextDelta(0, "c", ""),
        End(),
    ]
    assert list(box.take()) == []
