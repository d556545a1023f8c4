"""Whatever the hub does: the file is right by SHA-256, or there is a clear error and nothing that could be used."""

import hashlib
import threading
from pathlib import Path

import pytest

from engine.api.hub import HubFile
from engine.config import NetworkSettings
from engine.errors import EngineError, HubDenied, HubError, HubNotFound, Offline, SetupError
from engine.hub.cache_layout import RepoFolder
from engine.hub.download import Download
from engine.hub.hub_answers import hub_failure, retry_after_s
from engine.hub.ledger import Ledger
from engine.hub.network import Network
from engine.hub.pacer import Pacer
from engine.hub.part_file import BLOCK, PartFile
from engine.hub.token import TokenStore
from engine.hub.transfer import Patience, Progress
from engine.hub.wanted import Wanted
from tests.helpers.mock_hub import ALWAYS, COMMIT, MockFile, MockHub, MockRepo

REPO, NAME = "org/model-GGUF", "model-Q4_K_M.gguf"
SIZE = 3 * (1 << 20) + 12_345
HASTY = Patience(silence_s=0.3, first_wait_s=0.01, most_wait_s=0.02, tries=3)


@pytest.fixture
def hub():
    with MockHub({REPO: MockRepo({NAME: MockFile(size=SIZE, seed=7)})}) as running:
        yield running


class Fetching:
    """One download of the model into a folder of its own."""

    def __init__(self, hub: MockHub, folder: Path, *, token: str = "") -> None:
        self.hub, self.root = hub, folder / "hub"
        self.file = hub.repos[REPO].files[NAME]
        self.network = Network(NetworkSettings(endpoint=hub.url), Ledger(None), {})
        self.tokens = TokenStore(folder / "token", {"HF_TOKEN": token, "HF_HOME": str(folder)})
        self.pacer = Pacer()
        self.stop = threading.Event()
        self.told: list[Progress] = []
        listed = HubFile(NAME, self.file.size, self.file.sha256)
        self.wanted = Wanted(REPO, COMMIT, "main", NAME, (listed,))
        self.folder = RepoFolder(self.root, REPO)

    def run(self, patience: Patience = HASTY) -> Path:
        return Download(
            self.network,
            self.tokens,
            self.pacer,
            self.root,
            self.wanted,
            stop=self.stop,
            report=self.told.append,
            patience=patience,
        ).run()

    def part(self) -> PartFile:
        digest = self.file.sha256
        return PartFile(self.folder.part(digest), self.folder.lock(digest), self.file.size)

    def usable(self) -> list[Path]:
        """Files that somebody could take for the model."""
        found = [path for path in self.root.rglob("*") if not path.is_dir()]
        return [p for p in found if ".part" not in p.name and p.suffix != ".lock"]

    def correct(self, path: Path) -> bool:
        return hashlib.sha256(path.read_bytes()).hexdigest() == self.file.sha256


@pytest.fixture
def fetching(hub, tmp_path) -> Fetching:
    return Fetching(hub, tmp_path)


def test_a_file_comes_in_parts_and_lies_as_the_hub_library_has_it(fetching) -> None:
    path = fetching.run()
    digest = fetching.file.sha256
    assert fetching.correct(path)
    assert path == fetching.folder.snapshot(COMMIT, NAME)
    assert path.resolve() == fetching.folder.blob(digest).resolve()
    assert fetching.folder.ref("main").read_text() == COMMIT
    assert sorted(p.name for p in path.resolve().parent.iterdir()) == [digest]
    assert fetching.hub.sent[NAME] == SIZE
    assert len(fetching.hub.requests("hub")) == 1  # one link serves all parts
    assert len(fetching.hub.requests("cdn")) > 1


def test_the_hub_library_finds_it(fetching, monkeypatch) -> None:
    path = fetching.run()
    import huggingface_hub

    found = huggingface_hub.try_to_load_from_cache(REPO, NAME, cache_dir=fetching.root)
    assert found == str(path)


RECOVERED = {
    "cut": ("cut", {"after": 100_000, "times": 3}),
    "cut at once": ("cut", {"after": 0}),
    "cut between blocks": ("cut", {"after": BLOCK}),
    "cut that looks like an end": ("cut", {"after": 300_000, "length": False, "times": 2}),
    "stall": ("stall", {"after": 300_000}),
    "500": ("status", {"status": 500, "where": "cdn"}),
    "503 of the hub": ("status", {"status": 503, "where": "hub"}),
    "429": ("status", {"status": 429, "where": "hub", "headers": {"Retry-After": "0"}}),
    "link refused once": ("status", {"status": 403, "where": "cdn"}),
    "wrong range": ("wrong_range", {"times": 2}),
    "no ranges": ("no_ranges", {"times": ALWAYS}),
    "slow start": ("slow_start", {"seconds": 0.1, "times": 2}),
    "silent start": ("slow_start", {"seconds": 5}),
    "throttled": ("throttle", {"bytes_per_s": 20_000_000, "times": ALWAYS}),
    "a web page for once": ("html", {}),
    "in a circle for once": ("redirect_loop", {"times": 8}),
}


@pytest.mark.parametrize("name", RECOVERED)
def test_what_passes_is_survived(fetching, name) -> None:
    kind, options = RECOVERED[name]
    fetching.hub.fault(kind, NAME, **options)
    path = fetching.run()
    assert fetching.correct(path)
    assert fetching.usable() == sorted(
        [path, fetching.folder.blob(fetching.file.sha256), fetching.folder.ref("main")],
        key=fetching.usable().index,
    )


def test_cuts_on_every_connection_cost_no_byte_twice(fetching) -> None:
    fetching.hub.fault("cut", NAME, after=70_000, times=40)
    assert fetching.correct(fetching.run())
    assert fetching.hub.sent[NAME] == SIZE


def test_without_ranges_a_cut_starts_over_and_ends_right(fetching) -> None:
    fetching.hub.fault("no_ranges", NAME, ALWAYS)
    fetching.hub.fault("cut", NAME, 1, after=2_000_000)
    assert fetching.correct(fetching.run())
    assert fetching.hub.sent[NAME] == SIZE + 2_000_000


def test_an_expired_link_is_renewed(fetching) -> None:
    fetching.hub.fault("throttle", NAME, ALWAYS, bytes_per_s=4_000_000)

    def report(progress: Progress) -> None:
        if not fetching.told:
            fetching.hub.fault("expire")
        fetching.told.append(progress)

    Download(
        fetching.network,
        fetching.tokens,
        fetching.pacer,
        fetching.root,
        fetching.wanted,
        stop=fetching.stop,
        report=report,
        patience=HASTY,
    ).run()
    assert fetching.correct(fetching.folder.blob(fetching.file.sha256))
    assert len(fetching.hub.requests("hub")) > 1
    assert fetching.hub.sent[NAME] == SIZE


REFUSED = {
    "corrupt": ("corrupt", {"times": ALWAYS}, HubError, "checksum"),
    "web page": ("html", {"times": ALWAYS}, HubError, "web page"),
    "circle": ("redirect_loop", {"times": ALWAYS}, HubError, "address to address"),
    "wrong range": ("wrong_range", {"times": ALWAYS}, HubError, "another part"),
    "500": ("status", {"status": 500, "where": "cdn", "times": ALWAYS}, HubError, "trouble"),
    "429": ("status", {"status": 429, "where": "hub", "times": ALWAYS}, HubError, "too often"),
    "403 of the storage": (
        "status",
        {"status": 403, "where": "cdn", "times": ALWAYS},
        HubError,
        "does not give out",
    ),
    "403": ("status", {"status": 403, "where": "hub"}, HubDenied, "refuses access"),
    "401": ("status", {"status": 401, "where": "hub"}, HubDenied, "known to the hub"),
    "404": ("status", {"status": 404, "where": "hub"}, HubNotFound, "no org/model-GGUF"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_pass_is_a_clear_error(fetching, name) -> None:
    kind, options, error, words = REFUSED[name]
    fetching.hub.fault(kind, NAME, **options)
    with pytest.raises(error, match=words) as refused:
        fetching.run()
    assert refused.value.hint
    assert fetching.usable() == []


def test_after_a_wrong_checksum_nothing_is_left(fetching) -> None:
    fetching.hub.fault("corrupt", NAME, 1)
    with pytest.raises(HubError, match="checksum"):
        fetching.run()
    assert [p for p in fetching.root.rglob("*") if p.is_file() and p.suffix != ".lock"] == []
    assert fetching.correct(fetching.run())


def test_a_file_that_changes_on_the_way_is_refused(fetching) -> None:
    fetching.hub.fault("throttle", NAME, ALWAYS, bytes_per_s=4_000_000)
    fetching.hub.fault("cut", NAME, 1, after=BLOCK)
    fetching.hub.fault("changed_etag", NAME, 1)
    with pytest.raises(HubNotFound, match="no longer the one"):
        fetching.run()
    assert fetching.usable() == []


def test_a_file_of_another_size_than_the_card_said_is_refused(fetching) -> None:
    listed = HubFile(NAME, SIZE - 1, fetching.file.sha256)
    fetching.wanted = Wanted(REPO, COMMIT, "main", NAME, (listed,))
    with pytest.raises(HubNotFound, match="no longer the one"):
        fetching.run()


@pytest.mark.parametrize("end", ["right", "wrong", "long"])
def test_a_complete_part_is_checked_instead_of_asked_for_again(fetching, end) -> None:
    part = fetching.part()
    part.close()
    content = b"".join(fetching.file.pieces(0, SIZE))
    part.path.with_name(f"{part.path.name}.journal").unlink()
    part.path.write_bytes({"right": content, "wrong": bytes(SIZE), "long": content + b"!"}[end])
    assert fetching.correct(fetching.run())
    assert fetching.hub.sent[NAME] == (0 if end == "right" else SIZE)


def test_what_another_program_fetched_is_checked_and_taken(fetching) -> None:
    blob = fetching.folder.blob(fetching.file.sha256)
    blob.parent.mkdir(parents=True)
    blob.write_bytes(b"".join(fetching.file.pieces(0, SIZE)))
    assert fetching.correct(fetching.run())
    assert fetching.hub.log == []


def test_a_damaged_file_of_the_right_size_is_fetched_anew(fetching) -> None:
    path = fetching.run()
    with path.open("r+b") as file:
        file.write(b"\xff\xff")
    assert fetching.correct(fetching.run())


def test_a_file_that_cannot_be_put_in_place_says_so_and_loses_nothing(fetching) -> None:
    snapshots = fetching.folder.folder / "snapshots"
    snapshots.parent.mkdir(parents=True)
    snapshots.write_text("in the way")
    with pytest.raises(SetupError, match="put in place"):
        fetching.run()
    snapshots.unlink()
    assert fetching.correct(fetching.run())
    assert fetching.hub.sent[NAME] == SIZE


def test_where_links_are_refused_the_file_itself_is_there(fetching, monkeypatch) -> None:
    def refused(*args) -> None:
        raise OSError(1, "a privilege is not held")

    monkeypatch.setattr(Path, "symlink_to", refused)
    path = fetching.run()
    assert fetching.correct(path)
    assert not path.is_symlink()
    assert fetching.run() == path
    assert fetching.hub.sent[NAME] == SIZE


def test_a_file_without_a_known_checksum_is_taken_by_its_size(fetching) -> None:
    fetching.wanted = Wanted(REPO, COMMIT, "", NAME, (HubFile(NAME, SIZE),))
    path = fetching.run()
    assert fetching.correct(path)
    assert path.resolve().name == fetching.file.sha256


def test_the_token_goes_to_the_hub_only(hub, tmp_path) -> None:
    fetching = Fetching(hub, tmp_path, token="hf_good")
    hub.fault("third_host", NAME, 1)
    assert fetching.correct(fetching.run())
    assert all("authorization" in r.headers for r in hub.requests("hub"))
    others = hub.requests("third") + hub.requests("cdn")
    assert hub.requests("third")
    assert all("authorization" not in r.headers for r in others)


def test_a_bad_token_does_not_keep_from_a_public_model(hub, tmp_path) -> None:
    fetching = Fetching(hub, tmp_path, token="hf_stale")
    assert fetching.correct(fetching.run())


@pytest.mark.parametrize(
    ("token", "reason"), [("", "login"), ("hf_good", "licence"), ("hf_stale", "token")]
)
def test_a_gated_model_says_what_is_missing(hub, tmp_path, token, reason) -> None:
    hub.repos[REPO].gated = True
    with pytest.raises(HubDenied) as denied:
        Fetching(hub, tmp_path, token=token).run()
    assert denied.value.details["reason"] == reason
    assert hub.url in denied.value.hint
    hub.accepted.add("hf_good")
    assert Fetching(hub, tmp_path, token="hf_good").run().is_file()


def test_the_offline_switch_stops_a_running_download(fetching) -> None:
    fetching.hub.fault("throttle", NAME, ALWAYS, bytes_per_s=500_000)
    fetching.told = Switch(fetching.network)  # type: ignore[assignment]
    with pytest.raises(Offline):
        fetching.run()
    assert fetching.hub.sent[NAME] < SIZE
    assert fetching.usable() == []


class Switch(list[Progress]):
    """Goes offline at the first news."""

    def __init__(self, network: Network) -> None:
        super().__init__()
        self._network = network

    def append(self, progress: Progress) -> None:
        self._network.offline = True


def test_a_hub_that_is_not_there_is_waited_for(fetching) -> None:
    """The line's own fault is never given up: the waiting one is told why, and stops when asked."""
    with MockHub() as gone:
        url = gone.url
    fetching.network = Network(NetworkSettings(endpoint=url), Ledger(None), {})
    enough = Patience(first_wait_s=0.01, most_wait_s=0.01, tries=0)

    def report(progress: Progress) -> None:
        fetching.told.append(progress)
        if progress.state == "waiting":
            fetching.stop.set()

    with pytest.raises(Exception) as stopped:  # noqa: PT011 - no error of ours
        Download(
            fetching.network,
            fetching.tokens,
            fetching.pacer,
            fetching.root,
            fetching.wanted,
            stop=fetching.stop,
            report=report,
            patience=enough,
        ).run()
    assert not isinstance(stopped.value, EngineError)
    assert "could not be reached" in fetching.told[-1].problem


def test_the_limit_holds_for_all_and_can_be_lifted() -> None:
    now = [0.0]
    pacer = Pacer(1000, clock=lambda: now[0])
    asked = []

    def stopped() -> bool:
        asked.append(now[0])
        now[0] += 0.4
        return False

    pacer.take(500, stopped)
    assert 0.4 <= now[0] <= 1.2
    pacer.limit = 0
    before = len(asked)
    pacer.take(10**9, stopped)
    assert len(asked) == before
    assert pacer.portion(1 << 20) == 1 << 20


def test_waiting_for_the_limit_ends_when_asked() -> None:
    pacer = Pacer(1)
    pacer.take(10**6, lambda: True)
    assert pacer.portion(1 << 20) == 1024


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, 0),
        ({"Retry-After": "7"}, 7),
        ({"Retry-After": "99999999999999999999"}, 300),
        ({"Retry-After": "Thu, 01 Jan 1970 00:01:00 GMT"}, 50),
        ({"Retry-After": "soon"}, 0),
        ({"RateLimit": '"api";r=0;t=55'}, 55),
    ],
)
def test_how_long_the_hub_wants_to_be_left_alone(headers, seconds) -> None:
    assert retry_after_s(headers, now=10.0) == seconds


@pytest.mark.parametrize("with_token", [True, False])
@pytest.mark.parametrize(
    ("status", "code", "error"),
    [
        (401, "RepoNotFound", HubNotFound),
        (404, "RevisionNotFound", HubNotFound),
        (404, "EntryNotFound", HubNotFound),
        (401, "GatedRepo", HubDenied),
        (403, "", HubDenied),
        (503, "", HubError),
        (302, "", HubError),
    ],
)
def test_answers_are_told_apart(status, code, error, with_token) -> None:
    failure = hub_failure(
        status,
        {"X-Error-Code": code},
        endpoint="https://hub.example",
        host="hub.example",
        repo="a/b",
        with_token=with_token,
    )
    assert type(failure) is error
    assert failure.message.endswith(".")
