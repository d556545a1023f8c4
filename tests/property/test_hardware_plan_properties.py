"""Any machine, any file, any wish: a plan that fits, or one of the engine's errors."""

from dataclasses import replace
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from engine.errors import EngineError, OutOfMemory
from engine.formats.gguf_header import GgufHeader, TensorInfo
from engine.hardware.cpu import Cpu
from engine.hardware.facts import facts_from_gguf, facts_of
from engine.hardware.gpu import Gpu
from engine.hardware.parts import InstalledParts
from engine.hardware.plan import Plan, Wishes, make_plan
from engine.hardware.probe import Hardware, Memory
from engine.hardware.report import as_json, plan_as_json, report

KEYS = [
    "block_count",
    "context_length",
    "embedding_length",
    "feed_forward_length",
    "expert_used_count",
    "expert_feed_forward_length",
    "attention.head_count",
    "attention.head_count_kv",
    "attention.key_length",
    "attention.value_length",
    "attention.key_length_mla",
    "attention.sliding_window",
    "attention.sliding_window_pattern",
    "full_attention_interval",
    "ssm.inner_size",
    "ssm.state_size",
    "ssm.conv_kernel",
    "wkv.head_size",
    "shortconv.l_cache",
    "vocab_size",
    "attention.layer_norm_rms_epsilon",
    "rope.freq_base",
    "rope.scaling.factor",
]
ARCHITECTURES = ["llama", "gemma3", "qwen35", "mamba", "lfm2", "deci", "phi3", "no such thing"]

claim: st.SearchStrategy[Any] = st.one_of(
    st.integers(1, 200),
    st.integers(1, 200_000),
    st.integers(-(2**70), 2**70),
    st.floats(),
    st.text(max_size=3),
    st.booleans(),
    st.none(),
    st.lists(st.integers(-1, 64), max_size=40).map(tuple),
    st.lists(st.one_of(st.booleans(), st.text(max_size=2)), max_size=40),
)


@st.composite
def metadata(draw: st.DrawFn) -> dict[str, Any]:
    arch = draw(st.sampled_from(ARCHITECTURES))
    entries = draw(st.dictionaries(st.sampled_from(KEYS), claim))
    named = draw(st.one_of(st.just(arch), claim))
    return {"general.architecture": named, **{f"{arch}.{k}": v for k, v in entries.items()}}


sizes = st.one_of(st.integers(0, 1 << 31), st.integers(0, 1 << 44))
cpus = st.builds(
    Cpu,
    st.just("CPU"),
    st.sampled_from(["x86_64", "aarch64", "riscv64"]),
    st.integers(1, 256),
    st.integers(1, 128),
    st.none() | st.integers(1, 64),
    st.integers(1, 256),
    st.integers(1, 128),
    st.none() | st.floats(0.01, 300),
    st.none() | st.frozensets(st.sampled_from(["avx", "avx2", "fma", "neon", "dotprod"])),
)
memories = st.builds(Memory, sizes, sizes, st.none() | sizes, sizes, st.none() | sizes)
gpus = st.builds(
    Gpu,
    st.integers(0, 7),
    st.just("GPU-x"),
    st.just("NVIDIA X"),
    sizes,
    sizes,
    st.tuples(st.integers(1, 12), st.integers(0, 9)),
    st.just("580.1"),
    st.tuples(st.integers(9, 14), st.integers(0, 9)),
)
machines = st.builds(
    Hardware, st.just("Linux"), cpus, memories, st.lists(gpus, max_size=2).map(tuple)
)
parts = st.builds(
    InstalledParts, st.sampled_from([True, True, True, False]), st.booleans(), st.booleans()
)
problems = st.sampled_from(["", "", "it is odd"])
wish_number = st.none() | st.integers(-2, 1 << 25) | st.integers(1, 300)
wishes = st.builds(
    Wishes,
    st.sampled_from([None, None, "llama.cpp", "torch-cuda", "torch-cpu", "other"]),
    wish_number,
    wish_number,
    wish_number,
    wish_number,
)


def check(plan: Plan, hardware: Hardware, n_ctx_train: int | None, wish: Wishes) -> None:
    free = hardware.memory.free if plan.gpu is None else plan.gpu.vram_free
    assert plan.needed.total <= free
    usable = hardware.cpu.usable_cores
    for threads, wished in (
        (plan.decode_threads, wish.decode_threads),
        (plan.prefill_threads, wish.prefill_threads),
    ):
        assert threads == wished if wished else 1 <= threads <= usable
    if wish.context:
        assert min(wish.context, 2048) <= plan.context <= wish.context
    else:
        assert 1 <= plan.context <= min(n_ctx_train or 8192, 8192)
    assert plan.reasons
    assert all(plan.reasons)


@given(metadata(), sizes, machines, parts, wishes, sizes, problems)
def test_a_plan_that_fits_or_an_error_that_helps(
    entries: dict[str, Any],
    file_bytes: int,
    hardware: Hardware,
    have: InstalledParts,
    wish: Wishes,
    n_parameters: int,
    problem: str,
) -> None:
    facts = replace(
        facts_from_gguf(entries, file_bytes), n_parameters=n_parameters, decoder_problem=problem
    )
    result: Plan | EngineError
    try:
        result = make_plan(hardware, facts, have, wish)
    except EngineError as error:
        result = error
    if isinstance(result, Plan):
        check(result, hardware, facts.n_ctx_train, wish)
        plan_as_json(result)
        assert result.backend == (wish.backend or result.backend)
        if result.backend != "llama.cpp":
            assert have.torch
            assert not problem
        return
    assert result.message
    assert result.hint
    if isinstance(result, OutOfMemory):
        assert result.details["needed_bytes"] > result.details["free_bytes"] >= 0


@given(metadata(), sizes, cpus)
def test_plenty_of_memory_always_gives_a_plan(
    entries: dict[str, Any], file_bytes: int, cpu: Cpu
) -> None:
    huge = Hardware("Linux", cpu, Memory(1 << 70, 1 << 70))
    facts = facts_from_gguf(entries, file_bytes)
    plan = make_plan(huge, facts, InstalledParts(), Wishes())
    check(plan, huge, facts.n_ctx_train, Wishes())
    assert plan.context == min(facts.n_ctx_train or 2048, 8192)


@given(machines)
def test_every_machine_can_be_shown(hardware: Hardware) -> None:
    assert all(label and value for label, value in report(hardware))
    assert as_json(hardware)["cpu"]["usable_cores"] == hardware.cpu.usable_cores


tensors = st.lists(
    st.builds(
        TensorInfo,
        st.sampled_from(["token_embd.weight", "output_norm.weight", "blk.0.attn_q.weight", "x"]),
        st.lists(st.integers(1, 1 << 50), max_size=4).map(tuple),
        st.sampled_from(["F32", "Q4_K", "type 99"]),
        st.integers(0, 1 << 40),
        st.none() | st.integers(0, 1 << 40),
    ),
    max_size=4,
).map(tuple)


@given(metadata(), tensors, sizes)
def test_any_header_has_facts(
    entries: dict[str, Any], found: tuple[TensorInfo, ...], file_bytes: int
) -> None:
    facts = facts_of(GgufHeader(3, entries, found, 32, 0, file_bytes), file_bytes)
    assert facts.n_parameters >= 0
    assert facts.conversion_bytes >= 0
    assert facts.decoder_problem  # nothing that little is a whole network
