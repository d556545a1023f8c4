"""`engine.hub.catalog`: what the app knows without a connection is consistent, and fits where it is recommended."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.api.hub import HubFile, HubModel
from engine.hub.cache_layout import checked_path, checked_repo
from engine.hub.catalog import Catalog, CatalogEntry
from engine.hub.choices import choices_of

CATALOG = Catalog.load()
ENTRIES = CATALOG.entries


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.title)
def test_an_entry_is_consistent(entry: CatalogEntry):
    checked_repo(entry.repo)
    checked_path(entry.file)
    (choice,) = choices_of([HubFile(entry.file, entry.size_bytes)])
    assert choice == entry.choice
    assert 4 <= 8 * entry.size_bytes / entry.parameters <= 9  # bits a weight
    assert entry.active_parameters <= entry.parameters
    assert entry.needed_bytes <= 0.8e9 * entry.memory_gb
    assert entry.memory_gb in (4, 8, 16, 24, 32, 64)
    assert entry.about.endswith(".")
    assert entry.about.isprintable()
    assert len(entry.about) <= 120


def test_entries_differ():
    assert len({entry.repo.lower() for entry in ENTRIES}) == len(ENTRIES)
    assert len({entry.title for entry in ENTRIES}) == len(ENTRIES)


def test_every_memory_size_and_purpose_has_a_model():
    assert {entry.memory_gb for entry in ENTRIES} == {4, 8, 16, 24, 32, 64}
    assert {entry.purpose for entry in ENTRIES} == {"chat", "code", "draft", "small"}


def test_every_draft_has_a_larger_model_to_guess_for():
    for draft in (entry for entry in ENTRIES if entry.purpose == "draft"):
        assert any(
            other.family == draft.family and other.parameters > 2 * draft.parameters
            for other in ENTRIES
        )


def test_a_draft_matches_the_vocabulary():
    draft = CATALOG.draft_for("Qwen/Qwen3-8B-GGUF")
    assert draft is not None
    assert draft.repo == "Qwen/Qwen3-0.6B-GGUF"
    assert CATALOG.draft_for("Qwen/Qwen3-0.6B-GGUF") is None
    assert CATALOG.draft_for("bartowski/phi-4-GGUF") is None
    assert CATALOG.draft_for("nobody/nothing") is None


@given(st.integers(0, 100_000_000_000), st.sampled_from(["chat", "code", "draft", "small"]))
def test_what_is_recommended_fits_and_more_memory_never_brings_a_smaller_model(free, purpose):
    found = CATALOG.recommend(free, purpose)
    more = CATALOG.recommend(2 * free, purpose)
    if found is None:
        assert purpose != "chat" or free < min(entry.needed_bytes for entry in ENTRIES)
        return
    assert found.needed_bytes <= free
    assert more is not None
    assert more.parameters >= found.parameters


def test_a_large_model_that_would_crawl_is_not_recommended():
    best = CATALOG.recommend(60_000_000_000)
    assert best is not None
    assert best.repo == "Qwen/Qwen3-30B-A3B-GGUF"


def test_nothing_fits_in_nothing():
    assert CATALOG.recommend(0) is None


def test_a_search_looks_for_all_words():
    assert {entry.purpose for entry in CATALOG.matching("CODER qwen2.5")} == {"code", "draft"}
    assert CATALOG.matching("") == list(ENTRIES)
    assert CATALOG.matching("qwen nosuchword") == []


def test_what_the_hub_says_goes_before_what_the_catalog_says():
    entry = ENTRIES[0]
    told = CATALOG.described(HubModel(repo=entry.repo.upper(), parameters=5, likes=7))
    assert (told.parameters, told.likes) == (5, 7)
    assert (told.about, told.license, told.context_length) == (
        entry.about,
        entry.license,
        entry.context,
    )
    other = HubModel(repo="nobody/nothing")
    assert CATALOG.described(other) is other
