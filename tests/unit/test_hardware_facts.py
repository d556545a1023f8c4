from engine.hardware.facts import facts_from_gguf

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
