"""The queue of downloads: order, pause, resume, cancel, restart, full disks, and being killed."""

import hashlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import threading
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path

import pytest

from engine.api.hub import DownloadInfo, HubFile
from engine.config import NetworkSettings
from engine.errors import InvalidRequest
from engine.hub import part_file
from engine.hub.download_queue import DownloadQueue
from engine.hub.ledger import Ledger
from engine.hub.network import Network
from engine.hub.speed import Speed
from engine.hub.token import TokenStore
from engine.hub.transfer import Patience
from engine.hub.wanted import Wanted
from tests.helpers.mock_hub import ALWAYS, COMMIT, MIB, MockFile, MockHub, MockRepo

ROOT = Path(__file__).resolve().parents[2]
REPO = "org/model-GGUF"
SIZES = {"a.gguf": 3 * MIB + 1, "b.gguf": 2 * MIB, "m-00001-of-00002.gguf": MIB, "c.gguf": MIB}
SIZES["m-00002-of-00002.gguf"] = MIB + 5
HASTY = Patience(silence_s=10, first_wait_s=0.01, most_wait_s=0.02, tries=2)
WAIT_S = 30
SLOW = 400_000


@pytest.fixture
def hub():
    files = {name: MockFile(size=size, seed=size) for name, size in SIZES.items()}
    with MockHub({REPO: MockRepo(files)}) as running:
        yield running


def wanted(hub: MockHub, *names: str) -> Wanted:
    files = hub.repos[REPO].files
    listed = tuple(HubFile(name, files[name].size, files[name].sha256) for name in names)
    return Wanted(REPO, COMMIT, "main", names[0], listed)


class Watched:
    """A queue whose news can be waited for."""

    def __init__(self, hub: MockHub, folder: Path, **options) -> None:
        self.root, self.file = folder / "hub", folder / "downloads.json"
        self.news = threading.Condition()
        self.finished: list[Path] = []
        self.network = Network(NetworkSettings(endpoint=hub.url), Ledger(None), {})
        tokens = TokenStore(folder / "token", {"HF_HOME": str(folder)})
        options = {"patience": HASTY, **options}
        self.queue = DownloadQueue(
            self.network,
            tokens,
            self.root,
            self.file,
            on_change=self._changed,
            on_done=self._done,
            **options,
        )

    def _changed(self) -> None:
        with self.news:
            self.news.notify_all()

    def _done(self, path: Path) -> str:
        self.finished.append(path)
        return path.stem

    def info(self, download: str) -> DownloadInfo | None:
        found = [info for info in self.queue.list().downloads if info.id == download]
        return found[0] if found else None

    def until(self, true: Callable[[], object]) -> None:
        with self.news:
            assert self.news.wait_for(true, WAIT_S), self.queue.list()

    def becomes(self, download: str, *states: str) -> DownloadInfo:
        self.until(lambda: (info := self.info(download)) is not None and info.state in states)
        info = self.info(download)
        assert info is not None
        return info

    def idle(self) -> None:
        self.until(lambda: not self.queue._threads)

    def files(self) -> list[str]:
        found = [p for p in self.root.rglob("*") if not p.is_dir() and p.suffix != ".lock"]
        return sorted(p.name for p in found)


@pytest.fixture
def queue(hub, tmp_path):
    watched = Watched(hub, tmp_path)
    yield watched
    watched.queue.close(5)


def correct(hub: MockHub, queue: Watched, name: str) -> bool:
    path = queue.root / "models--org--model-GGUF" / "snapshots" / COMMIT / name
    return hashlib.sha256(path.read_bytes()).hexdigest() == hub.repos[REPO].files[name].sha256


def test_a_download_ends_in_the_library(hub, queue) -> None:
    added = queue.queue.add(wanted(hub, "a.gguf"))
    assert (added.total_bytes, added.repo, added.name) == (SIZES["a.gguf"], REPO, "a.gguf")
    info = queue.becomes(added.id, "done")
    assert (info.model, info.done_bytes, info.problem) == ("a", SIZES["a.gguf"], "")
    assert info.finished > 0
    assert correct(hub, queue, "a.gguf")
    assert queue.queue.active == 0


def test_the_same_wish_twice_is_one_download(hub, queue) -> None:
    hub.fault("throttle", times=ALWAYS, bytes_per_s=SLOW)
    first, second = (queue.queue.add(wanted(hub, "a.gguf")) for _ in range(2))
    other = queue.queue.add(wanted(hub, "b.gguf"))
    assert first.id == second.id != other.id
    assert len(queue.queue.list().downloads) == 2


def test_all_parts_of_a_set_are_there_or_none(hub, queue) -> None:
    first, second = "m-00001-of-00002.gguf", "m-00002-of-00002.gguf"
    hub.fault("corrupt", second, 1)
    added = queue.queue.add(wanted(hub, first, second))
    assert "checksum" in queue.becomes(added.id, "failed").problem
    assert queue.finished == []
    assert not any("snapshots" in str(path) for path in queue.root.rglob("*"))
    queue.queue.resume(added.id)
    queue.becomes(added.id, "done")
    assert [path.name for path in queue.finished] == [first]
    assert correct(hub, queue, first)
    assert correct(hub, queue, second)
    assert hub.sent[first] == SIZES[first]


def test_they_run_in_their_order_and_the_order_can_be_changed(hub, tmp_path) -> None:
    hub.fault("throttle", times=ALWAYS, bytes_per_s=SLOW)
    queue = Watched(hub, tmp_path, at_once=1)
    ids = [queue.queue.add(wanted(hub, name)).id for name in ("a.gguf", "b.gguf", "c.gguf")]
    assert [info.id for info in queue.queue.list().downloads] == ids
    assert [info.state for info in queue.queue.list().downloads] == ["running", "queued", "queued"]
    queue.queue.move(ids[2], 0)
    downloads = queue.queue.list().downloads
    assert [info.id for info in downloads] == [ids[2], ids[0], ids[1]]
    assert [info.position for info in downloads] == [0, 1, 2]
    queue.queue.pause(ids[0])
    queue.becomes(ids[2], "running")
    assert queue.queue.active == 2
    queue.queue.close(5)


def test_pause_keeps_what_came_and_resume_fetches_the_rest(hub, queue) -> None:
    hub.fault("throttle", "a.gguf", ALWAYS, bytes_per_s=SLOW)
    added = queue.queue.add(wanted(hub, "a.gguf"))
    queue.until(lambda: queue.info(added.id).done_bytes > MIB)
    queue.queue.pause(added.id)
    assert queue.info(added.id).state == "paused"
    queue.idle()
    paused = queue.info(added.id)
    assert (paused.state, paused.bytes_per_s) == ("paused", 0)
    assert paused.done_bytes > MIB // 2
    assert queue.finished == []
    hub.clear()
    queue.queue.resume(added.id)
    queue.becomes(added.id, "done")
    assert correct(hub, queue, "a.gguf")
    assert hub.sent["a.gguf"] == SIZES["a.gguf"] - paused.done_bytes


def test_pause_and_resume_in_one_breath(hub, queue) -> None:
    hub.fault("throttle", "a.gguf", 20, bytes_per_s=4 * SLOW)
    added = queue.queue.add(wanted(hub, "a.gguf"))
    queue.until(lambda: queue.info(added.id).done_bytes)
    for _ in range(3):
        queue.queue.pause(added.id)
        queue.queue.resume(added.id)
    queue.becomes(added.id, "done")
    assert correct(hub, queue, "a.gguf")


def test_cancel_leaves_nothing_behind(hub, queue) -> None:
    hub.fault("throttle", "a.gguf", ALWAYS, bytes_per_s=SLOW)
    running = queue.queue.add(wanted(hub, "a.gguf")).id
    queue.until(lambda: queue.info(running).done_bytes)
    queue.queue.cancel(running)
    queue.idle()
    assert queue.files() == []
    assert queue.queue.list().downloads == []
    paused = queue.queue.add(wanted(hub, "a.gguf")).id
    queue.until(lambda: queue.info(paused).done_bytes > MIB)
    queue.queue.pause(paused)
    queue.idle()
    assert queue.files()
    queue.queue.cancel(paused)
    assert queue.files() == []
    with pytest.raises(InvalidRequest):
        queue.queue.resume(paused)


def test_a_finished_one_that_is_forgotten_keeps_its_file(hub, queue) -> None:
    added = queue.queue.add(wanted(hub, "c.gguf"))
    queue.becomes(added.id, "done")
    queue.queue.cancel(added.id)
    assert queue.queue.list().downloads == []
    assert correct(hub, queue, "c.gguf")


def test_a_file_that_was_deleted_is_fetched_again_when_asked(hub, queue) -> None:
    added = queue.queue.add(wanted(hub, "c.gguf"))
    queue.becomes(added.id, "done")
    queue.idle()
    shutil.rmtree(queue.root)
    queue.queue.add(wanted(hub, "c.gguf"))
    queue.until(lambda: len(queue.finished) == 2)
    assert correct(hub, queue, "c.gguf")


def test_what_ran_goes_on_at_the_next_start(hub, tmp_path) -> None:
    hub.fault("throttle", times=ALWAYS, bytes_per_s=SLOW)
    before = Watched(hub, tmp_path)
    running = before.queue.add(wanted(hub, "a.gguf")).id
    paused = before.queue.add(wanted(hub, "b.gguf")).id
    before.queue.pause(paused)
    before.until(lambda: before.info(running).done_bytes > MIB)
    before.queue.close(5)
    hub.clear()
    after = Watched(hub, tmp_path)
    after.becomes(running, "done")
    assert after.info(paused).state == "paused"
    assert correct(hub, after, "a.gguf")
    assert hub.sent["a.gguf"] < SIZES["a.gguf"] - MIB // 2
    after.queue.close(5)
    again = Watched(hub, tmp_path)
    assert again.info(running).state == "done"
    again.queue.close(5)


@pytest.mark.parametrize("content", [b"{", b"[1]", b"\xff", b'[{"wanted": {}}]'])
def test_a_damaged_list_is_set_aside(hub, tmp_path, content) -> None:
    (tmp_path / "downloads.json").write_bytes(content)
    queue = Watched(hub, tmp_path)
    assert queue.queue.list().downloads == []
    assert (tmp_path / "downloads.broken.json").read_bytes() == content
    queue.becomes(queue.queue.add(wanted(hub, "c.gguf")).id, "done")
    queue.queue.close(5)


def test_a_list_with_a_hostile_path_in_it_is_set_aside(hub, tmp_path, queue) -> None:
    queue.queue.add(wanted(hub, "c.gguf"))
    queue.queue.close(5)
    file = tmp_path / "downloads.json"
    file.write_bytes(file.read_bytes().replace(b'"c.gguf","size', b'"../../c.gguf","size'))
    assert Watched(hub, tmp_path).queue.list().downloads == []


@pytest.mark.parametrize(
    "change",
    [
        {"repo": "../x"},
        {"revision": "main"},
        {"ref": "../../x"},
        {"files": ()},
        {"files": (HubFile("../x", 1),)},
        {"files": (HubFile("x", 0),)},
        {"files": (HubFile("x", 1 << 50),)},
        {"files": (HubFile("x", 1, "../../x"),)},
        {"files": (HubFile("x", 1), HubFile("x", 1))},
    ],
)
def test_hostile_wishes_are_refused_before_anything_is_written(
    hub, queue, tmp_path, change
) -> None:
    good = {"repo": REPO, "revision": COMMIT, "ref": "main", "name": "x"}
    with pytest.raises(InvalidRequest):
        queue.queue.add(Wanted(**({**good, "files": (HubFile("x", 1),)} | change)))
    assert not queue.root.exists()
    assert queue.queue.list().downloads == []


Usage = namedtuple("Usage", "free")


class Disk:
    """Has room for so many bytes."""

    def __init__(self, room: int) -> None:
        self.room = room

    def write_at(self, file, offset, data) -> None:
        if len(data) > self.room:
            raise OSError(28, os.strerror(28))
        self.room -= len(data)
        part_write(file, offset, data)

    def usage(self, path):
        return Usage(self.room)


part_write = part_file.write_at


def test_a_full_disk_pauses_and_resume_goes_on_where_it_was(hub, tmp_path, monkeypatch) -> None:
    disk = Disk(2 * MIB)
    monkeypatch.setattr(part_file, "write_at", disk.write_at)
    queue = Watched(hub, tmp_path)
    added = queue.queue.add(wanted(hub, "a.gguf"))
    stopped = queue.becomes(added.id, "paused")
    assert "disk is full" in stopped.problem
    assert stopped.done_bytes > MIB
    queue.queue.close(5)

    monkeypatch.setattr(shutil, "disk_usage", disk.usage)
    queue = Watched(hub, tmp_path)
    assert queue.info(added.id).state == "paused"
    hub.clear()
    queue.queue.resume(added.id)
    assert "disk space" in queue.becomes(added.id, "paused").problem
    assert hub.log == []
    disk.room = 100 * MIB
    queue.idle()
    queue.queue.resume(added.id)
    queue.becomes(added.id, "done")
    assert correct(hub, queue, "a.gguf")
    assert hub.sent["a.gguf"] == SIZES["a.gguf"] - stopped.done_bytes
    queue.queue.close(5)


def test_space_is_asked_for_before_a_byte_is_fetched(hub, queue, monkeypatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", Disk(SIZES["a.gguf"]).usage)  # but not 5 % more
    added = queue.queue.add(wanted(hub, "a.gguf"))
    assert "disk space" in queue.becomes(added.id, "paused").problem
    assert hub.log == []


def test_two_programs_that_want_one_file_fetch_it_once(hub, tmp_path) -> None:
    hub.fault("throttle", "a.gguf", ALWAYS, bytes_per_s=SLOW)
    (tmp_path / "other").mkdir()
    first = Watched(hub, tmp_path)
    second = Watched(hub, tmp_path / "other")
    second.queue.close(5)
    second.root = first.root
    second.queue = DownloadQueue(
        second.network,
        TokenStore(tmp_path / "token", {"HF_HOME": str(tmp_path)}),
        first.root,
        second.file,
        on_change=second._changed,
        on_done=second._done,
        patience=HASTY,
    )
    one = first.queue.add(wanted(hub, "a.gguf")).id
    first.until(lambda: first.info(one).done_bytes)
    two = second.queue.add(wanted(hub, "a.gguf")).id
    assert "Another download" in second.becomes(two, "waiting").problem
    hub.faults.clear()
    first.becomes(one, "done")
    second.becomes(two, "done")
    assert hub.sent["a.gguf"] == SIZES["a.gguf"]
    for watched in (first, second):
        watched.queue.close(5)


def test_offline_pauses_with_the_reason(hub, queue) -> None:
    queue.network.offline = True
    added = queue.queue.add(wanted(hub, "c.gguf"))
    assert "offline" in queue.becomes(added.id, "paused").problem
    queue.network.offline = False
    queue.idle()
    queue.queue.go_on()
    queue.becomes(added.id, "done")


def test_what_a_full_disk_stopped_goes_on_when_there_is_room(hub, tmp_path, monkeypatch) -> None:
    disk = Disk(2 * MIB)
    monkeypatch.setattr(part_file, "write_at", disk.write_at)
    room = iter([4 * MIB])  # when it begins; then another program fills the disk
    monkeypatch.setattr(shutil, "disk_usage", lambda path: Usage(next(room, disk.room)))
    queue = Watched(hub, tmp_path)
    added = queue.queue.add(wanted(hub, "a.gguf"))
    kept = queue.becomes(added.id, "paused").done_bytes
    queue.queue.close(5)

    queue = Watched(hub, tmp_path, look_again_s=0.01)
    assert queue.info(added.id).state == "paused"
    hub.clear()
    disk.room = 3 * MIB  # enough for the rest, not for all of it
    queue.becomes(added.id, "done")
    assert correct(hub, queue, "a.gguf")
    assert hub.sent["a.gguf"] == SIZES["a.gguf"] - kept
    queue.until(lambda: queue.queue._watch is None)
    queue.queue.close(5)


def test_a_quota_is_not_run_against_again_and_again(hub, tmp_path, monkeypatch) -> None:
    monkeypatch.setattr(part_file, "write_at", Disk(2 * MIB).write_at)
    queue = Watched(hub, tmp_path)
    added = queue.queue.add(wanted(hub, "a.gguf"))
    queue.becomes(added.id, "paused")
    queue.idle()
    assert queue.queue.go_on()  # held still, though the disk has room
    assert queue.info(added.id).state == "paused"
    queue.queue.close(5)


def test_what_the_user_paused_does_not_go_on_by_itself(hub, queue) -> None:
    queue.network.offline = True
    added = queue.queue.add(wanted(hub, "c.gguf"))
    queue.becomes(added.id, "paused")
    queue.idle()
    queue.queue.pause(added.id)
    queue.network.offline = False
    assert not queue.queue.go_on()
    assert queue.info(added.id).state == "paused"


def test_the_limit_can_be_changed_while_it_runs(hub, queue) -> None:
    queue.queue.set_limit(50_000)
    assert queue.queue.list().limit_bytes_per_s == 50_000
    added = queue.queue.add(wanted(hub, "a.gguf"))
    queue.until(lambda: queue.info(added.id).bytes_per_s)
    assert queue.info(added.id).left_s > 1
    queue.queue.set_limit(0)
    queue.becomes(added.id, "done")
    assert correct(hub, queue, "a.gguf")


def test_speed_is_that_of_the_last_seconds() -> None:
    now = [0.0]
    speed = Speed(lambda: now[0])
    assert speed.bytes_per_s == 0
    for second in range(10):
        now[0] = float(second)
        speed.note(1000 * min(second, 5))
    assert speed.bytes_per_s == 0
    speed.note(1000 * 5 + 3000)
    assert speed.bytes_per_s == pytest.approx(1000)


CHILD = """
import json, sys, threading
from pathlib import Path
import msgspec
from engine.config import NetworkSettings
from engine.hub.download_queue import DownloadQueue
from engine.hub.ledger import Ledger
from engine.hub.network import Network
from engine.hub.speed import Speed
from engine.hub.token import TokenStore
from engine.hub.wanted import Wanted
url, folder, wanted = sys.argv[1], Path(sys.argv[2]), sys.argv[3]
ended = threading.Event()
queue = DownloadQueue(
    Network(NetworkSettings(endpoint=url), Ledger(None), {}), TokenStore(folder / "t", {"HF_HOME": str(folder)}),
    folder / "hub", folder / "downloads.json",
    on_change=lambda: None, on_done=lambda path: (print(path, flush=True), ended.set(), "x")[2])
queue.add(msgspec.json.decode(wanted, type=Wanted))
ended.wait(100)
queue.close(5)
"""


def killed_and_completed(hub: MockHub, folder: Path, moments: list[int], size: int) -> None:
    """Kill the downloading process each time so many bytes went out, then let it finish."""
    import msgspec

    text = msgspec.json.encode(wanted(hub, "big.gguf")).decode()
    command = [sys.executable, "-c", CHILD, hub.url, str(folder), text]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    for moment in moments:
        child = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL)
        assert hub.wait_sent("big.gguf", moment)
        child.send_signal(signal.SIGKILL)
        child.wait()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    path = Path(done.stdout.strip())
    assert hashlib.sha256(path.read_bytes()).hexdigest() == hub.repos[REPO].files["big.gguf"].sha256
    assert hub.sent["big.gguf"] <= size + len(moments) * 16 * MIB
    assert [p.name for p in path.resolve().parent.iterdir()] == [path.resolve().name]
    assert json.loads((folder / "downloads.json").read_bytes())[0]["state"] == "done"


def big(hub: MockHub, size: int, bytes_per_s: int) -> None:
    hub.repos[REPO].files["big.gguf"] = MockFile(size=size, seed=9)
    hub.fault("throttle", "big.gguf", ALWAYS, bytes_per_s=bytes_per_s)


def test_a_killed_process_fetches_at_most_one_part_again(hub, tmp_path) -> None:
    size = 32 * MIB
    big(hub, size, 10_000_000)
    killed_and_completed(hub, tmp_path, [size // 2], size)


@pytest.mark.slow
def test_killed_at_twenty_random_moments(hub, tmp_path) -> None:
    size = 128 * MIB
    big(hub, size, 10_000_000)
    chance = random.Random(6)
    for round_ in range(20):
        hub.sent.clear()
        folder = tmp_path / str(round_)
        folder.mkdir()
        killed_and_completed(hub, folder, [chance.randrange(MIB, size - MIB)], size)
        shutil.rmtree(folder)
