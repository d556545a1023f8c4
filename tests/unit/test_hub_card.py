"""`engine.hub.card` against a hub on loopback: what a card says, what a download needs, who may have it (case C31)."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from engine.config import NetworkSettings
from engine.errors import HubDenied, HubError, HubNotFound, InvalidRequest, Offline
from engine.hub.card import HubCards, readable
from engine.hub.catalog import Catalog
from engine.hub.ledger import Ledger
from engine.hub.network import Network
from engine.hub.split import part_name
from engine.hub.token import TokenStore
from tests.helpers.mock_hub import COMMIT, MockFile, MockHub, MockRepo

CATALOG = Catalog.load()
REPO = "o/m-GGUF"
README = "---\nlicense: mit\ntags:\n- gguf\n---\n# M\n\ntext\n"


@pytest.fixture
def hub() -> Iterator[MockHub]:
    with MockHub() as running:
        running.repos[REPO] = MockRepo(
            files={
                "m-Q8_0.gguf": MockFile(b"8" * 30),
                "m-Q4_K_M.gguf": MockFile(b"4" * 20),
                "mmproj-m-F16.gguf": MockFile(b"p" * 5),
                "config.json": MockFile(b"{}"),
                "../evil-Q2_K.gguf": MockFile(b"e"),
            },
            readme=README,
            gguf={"architecture": "llama", "total": 1000, "context_length": 2048},
            tags=("gguf", "license:mit"),
        )
        yield running


def cards(hub: MockHub, folder: Path, token: str = "", **settings: object) -> HubCards:
    store = TokenStore(folder / "token", environment={"HF_HOME": str(folder / "none")})
    store.write(token)
    chosen = NetworkSettings(endpoint=hub.url, **settings)
    return HubCards(Network(chosen, Ledger(None), environment={}), store, CATALOG)


def test_a_card_tells_what_there_is(hub: MockHub, tmp_path: Path):
    card = cards(hub, tmp_path).card(REPO)
    assert (card.model.repo, card.model.license, card.model.parameters) == (REPO, "mit", 1000)
    assert card.revision == COMMIT
    assert card.url == f"{hub.url}/{REPO}"
    assert [(c.quantization, c.kind, c.size_bytes) for c in card.choices] == [
        ("F16", "mmproj", 5),
        ("Q4_K_M", "model", 20),
        ("Q8_0", "model", 30),
    ]
    file = card.choices[1].files[0]
    assert (file.path, file.sha256) == ("m-Q4_K_M.gguf", MockFile(b"4" * 20).sha256)
    assert card.readme == "# M\n\ntext"
    assert card.problem == ""
    assert all(r.headers["user-agent"].startswith("inglenook/") for r in hub.requests())


def test_a_card_is_kept_and_asked_for_again_after_five_minutes(hub: MockHub, tmp_path: Path):
    now = [0.0]
    network = Network(NetworkSettings(endpoint=hub.url), Ledger(None), environment={})
    store = TokenStore(tmp_path / "token", environment={"HF_HOME": str(tmp_path)})
    kept = HubCards(network, store, CATALOG, clock=lambda: now[0])
    first = kept.card(REPO)
    asked = len(hub.requests())
    network.offline = True
    assert kept.card(REPO) is first
    assert len(hub.requests()) == asked
    network.offline, now[0] = False, 301.0
    kept.card(REPO)
    assert len(hub.requests()) == 2 * asked


def test_a_long_readme_is_not_read_to_its_end(hub: MockHub, tmp_path: Path):
    hub.repos[REPO].readme = "word " * 1_000_000
    card = cards(hub, tmp_path).card(REPO)
    assert 199_000 < len(card.readme) <= 200_000


def test_a_card_without_a_readme_is_a_card(hub: MockHub, tmp_path: Path):
    hub.fault("status", "README.md", status=503, where="hub")
    assert cards(hub, tmp_path).card(REPO).readme == ""
    hub.repos[REPO].readme = ""
    assert cards(hub, tmp_path).card(REPO).readme == ""


def test_a_gated_model_says_whose_turn_it_is(hub: MockHub, tmp_path: Path):
    hub.repos[REPO].gated = True
    hub.tokens.add("hf_new")
    nobody = cards(hub, tmp_path)
    card = nobody.card(REPO)
    assert card.model.gated
    assert f"Log in at {hub.url}/{REPO}" in card.problem
    assert card.readme
    with pytest.raises(HubDenied) as caught:
        nobody.wanted(REPO, "Q8_0")
    assert caught.value.details["reason"] == "login"

    somebody = cards(hub, tmp_path, "hf_new")
    assert f"Accept it at {hub.url}/{REPO}" in somebody.card(REPO).problem
    with pytest.raises(HubDenied) as caught:
        somebody.wanted(REPO, "Q8_0")
    assert caught.value.details["reason"] == "licence"

    hub.accepted.add("hf_new")
    assert somebody.card(REPO).problem == ""
    assert somebody.wanted(REPO, "Q8_0").name == "m-Q8_0.gguf"


def test_four_refusals_are_four_sentences(hub: MockHub, tmp_path: Path):
    hub.repos[REPO].gated = True
    hub.repos["o/secret"] = MockRepo(private=True)
    hub.tokens.add("hf_new")
    said = set()
    with pytest.raises(HubDenied) as denied:
        cards(hub, tmp_path, "hf_old").card("o/secret")
    assert denied.value.details["reason"] == "token"
    said.add(str(denied.value))
    with pytest.raises(HubNotFound) as missing:
        cards(hub, tmp_path).card("o/secret")
    said.add(str(missing.value))
    said.add(cards(hub, tmp_path).card(REPO).problem)
    said.add(cards(hub, tmp_path, "hf_new").card(REPO).problem)
    assert len(said) == 4


def test_a_token_that_is_not_valid_does_not_hide_a_public_model(hub: MockHub, tmp_path: Path):
    found = cards(hub, tmp_path, "hf_old")
    card = found.card(REPO)
    assert (card.readme, card.problem) == ("# M\n\ntext", "")
    assert found.token_refused


@pytest.mark.parametrize(
    "repo", ["", "m", "o/m/x", "../m", "o/..", "/o/m", "o/m?x=1", "o/m#", "o\\m", "o/m\n", "o--x/m"]
)
def test_what_is_no_name_is_never_asked_for(hub: MockHub, tmp_path: Path, repo: str):
    with pytest.raises(InvalidRequest):
        cards(hub, tmp_path).card(repo)
    with pytest.raises(InvalidRequest):
        cards(hub, tmp_path).card(REPO, revision=f"a/../{repo}")
    assert hub.requests() == []


def test_a_missing_repository_or_revision_is_told(hub: MockHub, tmp_path: Path):
    with pytest.raises(HubNotFound, match="no o/none"):
        cards(hub, tmp_path).card("o/none")
    with pytest.raises(HubNotFound, match="no such version"):
        cards(hub, tmp_path).card(REPO, "v9")


@pytest.mark.parametrize("sha", ["", "main", "../" + "a" * 37])
def test_a_commit_that_is_none_is_refused(hub: MockHub, tmp_path: Path, sha: str):
    hub.repos[REPO].sha = sha
    with pytest.raises(HubError, match="does not understand"):
        cards(hub, tmp_path).card(REPO)


def test_a_repository_without_models_says_so(hub: MockHub, tmp_path: Path):
    hub.repos[REPO].files = {"model.safetensors": MockFile(b"x")}
    found = cards(hub, tmp_path)
    assert "no GGUF files" in found.card(REPO).problem
    with pytest.raises(InvalidRequest, match="no GGUF files"):
        found.wanted(REPO)


def test_offline_the_catalog_has_a_card(hub: MockHub, tmp_path: Path):
    found = cards(hub, tmp_path, offline=True)
    entry = CATALOG.entries[0]
    card = found.card(entry.repo)
    assert (card.model.repo, card.choices[0].name) == (entry.repo, entry.file)
    assert "offline" in card.problem
    with pytest.raises(Offline):
        found.card(REPO)
    with pytest.raises(Offline):
        found.wanted(entry.repo)
    assert hub.requests() == []


def test_a_download_gets_the_files_of_its_choice(hub: MockHub, tmp_path: Path):
    found = cards(hub, tmp_path)
    wanted = found.wanted(REPO)
    assert (wanted.name, wanted.commit, wanted.ref) == ("m-Q4_K_M.gguf", COMMIT, "main")
    assert [file.path for file in wanted.files] == ["m-Q4_K_M.gguf"]
    both = found.wanted(REPO, "q8_0", COMMIT, ["mmproj-m-F16.gguf", "m-Q8_0.gguf"])
    assert [file.path for file in both.files] == ["m-Q8_0.gguf", "mmproj-m-F16.gguf"]
    assert both.ref == ""
    with pytest.raises(InvalidRequest, match="no files for “Q3_K_S”") as caught:
        found.wanted(REPO, "Q3_K_S")
    assert "Q4_K_M, Q8_0" in caught.value.hint
    with pytest.raises(InvalidRequest):
        found.wanted(REPO, "Q8_0", also=["../evil-Q2_K.gguf"])


def test_a_split_model_is_fetched_whole_or_not_at_all(hub: MockHub, tmp_path: Path):
    names = [part_name("big-Q4_0", number, 2) for number in (1, 2)]
    hub.repos[REPO].files = {name: MockFile(name.encode()) for name in reversed(names)}
    assert [file.path for file in cards(hub, tmp_path).wanted(REPO).files] == names
    del hub.repos[REPO].files[names[0]]
    with pytest.raises(InvalidRequest, match="1 part is missing"):
        cards(hub, tmp_path).wanted(REPO, "Q4_0")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("---\r\na: b\r\n---\r\n# T\r\n", "# T"),
        ("\ufeff---\na: b\n---\n# T", "# T"),
        ("---\na: b\n---", ""),
        ("---\nnever closed\n# T", "---\nnever closed\n# T"),
        ("# T\n\n---\na\n---\n", "# T\n\n---\na\n---"),
        ("a\x00\x1b[31mb\u202ec\td", "a[31mbc\td"),
        ("x" * 300_000, "x" * 200_000),
    ],
)
def test_a_readme_is_shown_without_its_front_matter(text: str, shown: str):
    assert readable(text) == shown
