"""Against a hub that misbehaves; files of gigabytes that are all zeros behind their header."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.config import NetworkSettings
from engine.errors import EngineError, HubDenied, HubError, HubNotFound, ModelFormatError, Offline
from engine.hub import remote_header
from engine.hub.ledger import Ledger
from engine.hub.network import Network
from engine.hub.remote_header import RemoteHeaders
from engine.hub.token import TokenStore
from tests.helpers.ghost_models import MODELS
from tests.helpers.mock_hub import ALWAYS, COMMIT, MockFile, MockHub, MockRepo
from tests.helpers.tiny_gguf import STRING, TINY_TENSORS, TypedArray, gguf_bytes, tiny_metadata

MIB = 1 << 20
SMALL = MODELS["Qwen 3 30B A3B"].part()
WORDS = TypedArray(STRING, [f"word number {i:06} of many" for i in range(130_000)])
LONG = gguf_bytes(
    tiny_metadata() | {"tokenizer.ggml.tokens": WORDS, "tokenizer.ggml.token_type": [1] * 2},
    TINY_TENSORS,
    with_data=False,
)
"""Nearly 5 MB of header, damaged at its end; see `long_header`."""


def long_header() -> bytes:
    metadata = tiny_metadata()
    del metadata["tokenizer.ggml.token_type"]
    metadata["tokenizer.ggml.tokens"] = WORDS
    header = gguf_bytes(metadata, TINY_TENSORS, with_data=False)
    return header + bytes(-len(header) % 32)


class Zeros(MockFile):
    """A header, then nothing but zeros."""

    def __init__(self, header: bytes, size: int) -> None:
        super().__init__(header)
        self._header = header
        self.size = size

    def read(self, offset: int, num_bytes: int) -> bytes:
        piece = self._header[offset : offset + num_bytes]
        return piece + bytes(min(num_bytes, self.size - offset) - len(piece))

    sha256 = git_sha1 = "0" * 64  # type: ignore[assignment]


@pytest.fixture
def hub() -> Iterator[MockHub]:
    files = {
        "big.gguf": Zeros(SMALL.header, SMALL.file_bytes),
        "long.gguf": Zeros(long_header(), 1 << 30),
        "damaged.gguf": Zeros(LONG, 1 << 30),
        "endless.gguf": Zeros(b"GGUF\3\0\0\0" + bytes([255, 255, 0, 0, 0, 0, 0, 0]), 1 << 40),
        "page.gguf": MockFile(b"<!doctype html><p>no" + bytes(2 * MIB)),
        "short.gguf": MockFile(SMALL.header),
        "part of/ä.gguf": Zeros(SMALL.header, SMALL.file_bytes),
    }
    with MockHub({"a/m": MockRepo(files)}) as running:
        yield running


@pytest.fixture
def headers(hub: MockHub, tmp_path: Path) -> RemoteHeaders:
    return make(hub, tmp_path)


def make(hub: MockHub, folder: Path, *, token: str = "", **options: float) -> RemoteHeaders:
    network = Network(NetworkSettings(endpoint=hub.url), Ledger(None), {})
    (folder / "token").write_text(token)
    tokens = TokenStore(folder / "token", {"HF_HOME": str(folder)})
    return RemoteHeaders(network, tokens, **options)


def read(headers: RemoteHeaders, hub: MockHub, name: str) -> tuple[bytes, object]:
    file = hub.repos["a/m"].files[name]
    return headers.read("a/m", COMMIT, name, file.size)


def test_a_mebibyte_of_seventeen_gigabytes(headers: RemoteHeaders, hub: MockHub) -> None:
    data, header = headers.read("a/m", COMMIT, "big.gguf", SMALL.file_bytes)
    assert data == SMALL.header
    assert header.architecture == "qwen3moe"
    assert header.file_bytes == SMALL.file_bytes
    assert hub.sent["big.gguf"] == MIB
    headers.read("a/m", COMMIT, "big.gguf", SMALL.file_bytes)
    assert hub.sent["big.gguf"] == MIB, "it is kept"
    assert {(c.purpose, c.host) for c in headers._network.ledger.connections} >= {
        ("header", "127.0.0.1")
    }


def test_a_long_header_is_asked_for_piece_by_piece(headers: RemoteHeaders, hub: MockHub) -> None:
    data, header = read(headers, hub, "long.gguf")
    assert data == long_header()
    assert header.vocab_size == 130_000
    ranges = [r.range for r in hub.requests("cdn", "GET")]
    assert ranges == ["bytes=0-1048575", "bytes=1048576-2097151", "bytes=2097152-4194303"] + (
        ["bytes=4194304-8388607"] if len(data) > 4 * MIB else []
    )


def test_names_are_quoted(headers: RemoteHeaders, hub: MockHub) -> None:
    assert read(headers, hub, "part of/ä.gguf")[0] == SMALL.header


def test_a_server_without_ranges_serves_too(headers: RemoteHeaders, hub: MockHub) -> None:
    hub.fault("no_ranges", "long.gguf", times=ALWAYS)
    assert read(headers, hub, "long.gguf")[0] == long_header()
    hub.fault("no_ranges", "big.gguf", times=ALWAYS)
    assert read(headers, hub, "big.gguf")[0] == SMALL.header


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("damaged.gguf", "damaged.gguf is damaged"),
        ("endless.gguf", "endless.gguf is"),
        ("page.gguf", "page.gguf is a web page"),
        ("short.gguf", "short.gguf is incomplete"),
    ],
)
def test_what_is_no_model_is_refused(
    name: str, words: str, headers: RemoteHeaders, hub: MockHub
) -> None:
    with pytest.raises(ModelFormatError, match=words):
        read(headers, hub, name)
    assert hub.sent[name] <= 16 * MIB


def test_endless_headers_end(
    headers: RemoteHeaders, hub: MockHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote_header, "MOST_HEADER", 2 * MIB)
    with pytest.raises(ModelFormatError, match="cut off or damaged"):
        read(headers, hub, "long.gguf")
    assert hub.sent["long.gguf"] == 2 * MIB


@pytest.mark.parametrize(
    ("kind", "options", "error"),
    [
        ("status", {"status": 401, "where": "hub"}, HubDenied),
        ("status", {"status": 403, "where": "hub"}, HubDenied),
        ("status", {"status": 403, "where": "cdn"}, HubDenied),
        ("status", {"status": 404, "where": "hub"}, HubNotFound),
        ("status", {"status": 503, "where": "cdn"}, HubError),
        ("wrong_range", {}, HubError),
        ("cut", {"after": 1000}, HubError),
        ("cut", {"after": 1000, "length": False}, HubError),
        ("html", {}, EngineError),
        ("redirect_loop", {}, HubError),
    ],
)
def test_a_hub_that_fails(
    kind: str,
    options: dict[str, object],
    error: type[EngineError],
    headers: RemoteHeaders,
    hub: MockHub,
) -> None:
    hub.fault(kind, "big.gguf", times=ALWAYS, **options)  # type: ignore[arg-type]
    with pytest.raises(error) as caught:
        read(headers, hub, "big.gguf")
    assert caught.value.hint
    hub.clear()
    assert read(headers, hub, "big.gguf")[0] == SMALL.header


def test_a_trickle_is_given_up(hub: MockHub, tmp_path: Path) -> None:
    hub.fault("throttle", "big.gguf", times=ALWAYS, bytes_per_s=500_000)
    with pytest.raises(HubError, match="too slow"):
        read(make(hub, tmp_path, deadline_s=0.1), hub, "big.gguf")


def test_another_size_than_the_hub_listed_is_refused(headers: RemoteHeaders) -> None:
    with pytest.raises(HubError):
        headers.read("a/m", COMMIT, "big.gguf", SMALL.file_bytes - 1)
    with pytest.raises(ModelFormatError):
        headers.read("a/m", COMMIT, "big.gguf", 0)


def test_the_token_goes_to_the_hub_only(hub: MockHub, tmp_path: Path) -> None:
    read(make(hub, tmp_path, token="hf_good"), hub, "big.gguf")
    sent = {r.server: r.headers.get("authorization") for r in hub.requests(method="GET")}
    assert sent == {"hub": "Bearer hf_good", "cdn": None}


def test_offline(hub: MockHub, tmp_path: Path) -> None:
    headers = make(hub, tmp_path)
    headers._network.offline = True
    with pytest.raises(Offline):
        read(headers, hub, "big.gguf")
    assert not hub.log
