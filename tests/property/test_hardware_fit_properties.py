"""More of anything never needs less memory."""

from hypothesis import given
from hypothesis import strategies as st

from engine.hardware.facts import ModelFacts
from engine.hardware.fit import memory_needed
from engine.hardware.torch_fit import torch_ram_needed, vram_needed

models = st.builds(
    ModelFacts,
    st.just("llama"),
    st.integers(0, 1 << 40),
    st.none() | st.integers(1, 1 << 20),
    st.integers(0, 100),
    st.integers(1, 1 << 14),
    st.integers(1, 1 << 18),
    st.integers(1, 1 << 18),
    st.integers(0, 1 << 20),
    st.integers(0, 1 << 42),
    st.just(""),
    st.integers(0, 1 << 34),
    st.integers(0, 1 << 13),
    st.integers(0, 1 << 20),
    st.integers(0, 1 << 26),
    st.booleans(),
)
contexts = st.integers(1, 1 << 20)
sequences = st.integers(1, 256)


@given(models, contexts, contexts, sequences, sequences)
def test_monotonic(facts: ModelFacts, c1: int, c2: int, n1: int, n2: int) -> None:
    weights = {
        memory_needed: facts.weights_bytes,
        vram_needed: 2 * facts.n_parameters,
        torch_ram_needed: 4 * facts.n_parameters,
    }
    for needed, weight in weights.items():
        less = needed(facts, context=min(c1, c2), num_sequences=min(n1, n2))
        more = needed(facts, context=max(c1, c2), num_sequences=max(n1, n2))
        assert 0 < less.total <= more.total
        assert less.total >= weight + facts.kv_bytes_per_token * min(c1, c2)
