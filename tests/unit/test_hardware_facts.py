from dataclasses import replace
from pathlib import Path

import pytest

from engine.formats.decoder_reader import read_decoder
from engine.formats.gguf import read_header
from engine.formats.gguf_header import GgufHeader, TensorInfo
from engine.hardware.facts import facts_from_gguf, facts_of
from tests.helpers.synthetic_model import ARCHITECTURES, write_model
from tests.helpers.tiny_gguf import tiny_model, tiny_split

SMOLLM2 = {
    "general.architecture": "llama",
    "general.file_type": 3,
    "llama.block_count": 30,
    "llama.context_length": 8192,
    "llama.embedding_length": 576,
    "llama.feed_forward_length": 1536,
    "llama.attention.head_count": 9,
    "llama.attention.head_count_kv": 3,
    "llama.vocab_size": 49152,
}


def test_real_file() -> None:
    facts = facts_from_gguf(SMOLLM2, 98_362_432)
    assert (facts.architecture, facts.weights_bytes, facts.n_ctx_train) == (
        "llama",
        98_362_432,
        8192,
    )
    assert (facts.n_layer, facts.n_embd, facts.n_vocab) == (30, 576, 49152)
    assert facts.kv_bytes_per_token == 23040
    assert facts.row_width == 8 * 576 + 3 * 1536
    assert not facts.repackable
    assert facts.notes == ()


def test_wide_heads_and_experts_make_rows_wider() -> None:
    wide = facts_from_gguf({**SMOLLM2, "llama.attention.key_length": 128}, 1)
    assert wide.row_width == 8 * 9 * 128 + 3 * 1536
    experts = {"llama.expert_used_count": 8, "llama.expert_feed_forward_length": 768}
    assert facts_from_gguf({**SMOLLM2, **experts}, 1).row_width == 8 * 576 + 3 * 8 * (768 + 576)


def test_types_that_are_repacked() -> None:
    assert facts_from_gguf({**SMOLLM2, "general.file_type": 2}, 1).repackable
    assert facts_from_gguf({**SMOLLM2, "general.file_type": 15}, 1).repackable
    assert not facts_from_gguf({**SMOLLM2, "general.file_type": 1}, 1).repackable
    assert facts_from_gguf({**SMOLLM2, "general.file_type": "Q4"}, 1).repackable


def test_nothing_said_is_guessed_on_the_safe_side() -> None:
    facts = facts_from_gguf({}, 4 << 30)
    assert facts.kv_bytes_per_token == 512 << 10
    assert facts.n_ctx_train is None
    assert facts.architecture == "unknown"
    assert "guessed" in facts.notes[0]
    assert facts_from_gguf({}, 0).kv_bytes_per_token == 64 << 10


def test_claims_that_cannot_be_are_not_believed() -> None:
    hostile = dict.fromkeys(SMOLLM2, 1 << 63) | {"general.architecture": "llama"}
    assert facts_from_gguf(hostile, 1 << 30) == facts_from_gguf(
        {"general.architecture": "llama"}, 1 << 30
    )
    assert facts_from_gguf({}, -5).weights_bytes == 0


def test_long_context_is_believed_but_not_needed() -> None:
    """C49: metadata that claims a million tokens."""
    assert (
        facts_from_gguf({**SMOLLM2, "llama.context_length": 1_000_000}, 1).n_ctx_train == 1_000_000
    )


def test_metadata_alone_is_nothing_for_our_decoder() -> None:
    facts = facts_from_gguf(SMOLLM2, 98_362_432)
    assert facts.decoder_problem == "its tensors are not known"
    assert facts.n_parameters >= 134_515_008


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_our_own_networks(architecture: str, tmp_path: Path) -> None:
    """The layout that llama.cpp's rules give is, without windows, the cache that our decoder allocates."""
    header = read_header(write_model(tmp_path / "m.gguf", architecture))
    facts = facts_of(header, header.file_bytes)
    spec = read_decoder(header)
    assert facts.decoder_problem == ""
    assert not isinstance(spec, str)
    assert facts.n_parameters * 4 == header.tensor_bytes  # all of them are F32
    cache = 2 * spec.n_layer * spec.n_head_kv * spec.head_dim * 2
    assert facts.kv_bytes_per_token + facts.window_bytes_per_token == cache


def test_tied_embeddings_count_once(tmp_path: Path) -> None:
    both, one = (
        read_header(write_model(tmp_path / f"{tied}.gguf", "llama", tied=tied))
        for tied in (False, True)
    )
    vocabulary = both.vocab_size
    assert vocabulary is not None
    difference = facts_of(both, 1).n_parameters - facts_of(one, 1).n_parameters
    assert difference == vocabulary * 64


def test_what_our_decoder_lacks_is_said(tmp_path: Path) -> None:
    header = read_header(tiny_model(tmp_path / "m.gguf"))
    facts = facts_of(header, header.file_bytes)
    assert "lacks the tensor" in facts.decoder_problem
    assert facts.n_parameters == 32 * 40 + 32 + 32 * 32


def test_parts_of_a_split_model_count_by_their_size(tmp_path: Path) -> None:
    first, *_ = tiny_split(tmp_path, "big", 3)
    facts = facts_of(read_header(first), 1 << 30)
    assert facts.decoder_problem == "it is split into several files"
    assert facts.n_parameters == 8 << 30


def test_conversion_is_the_worst_moment_beyond_the_weights() -> None:
    """A number takes one byte in this file."""
    big, small = TensorInfo("b", (1000,), "x", 0, 1000), TensorInfo("s", (10,), "x", 0, 10)
    header = GgufHeader(3, SMOLLM2, (small, big), 32, 0, 0)
    assert facts_of(header, 1).conversion_bytes == 5 * 1000
    first = replace(header, tensors=(big, small))
    assert facts_of(first, 1).conversion_bytes == 5 * 1000 - 2 * 10
    middle = replace(header, tensors=(small, big, *(small,) * 300))
    assert facts_of(middle, 1).conversion_bytes == 5 * 10  # the last one's


def test_a_claim_of_too_many_layers_is_not_followed() -> None:
    header = GgufHeader(3, {**SMOLLM2, "llama.block_count": 10_000_000}, (), 32, 0, 0)
    assert "more layers than a model can have" in facts_of(header, 1).decoder_problem
