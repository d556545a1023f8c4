from dataclasses import replace

import pytest

from engine.api.hub import Fit, HubChoice
from engine.formats.gguf import read_header
from engine.formats.ghost_file import write_ghost
from engine.hardware.facts import facts_of
from engine.hardware.fit import MemoryNeed
from engine.hardware.outlook import (
    Speed,
    Work,
    contexts_to_try,
    expected_speed,
    in_other_quantization,
    is_fast,
    needs_by_formula,
    outlook,
    recommend,
    work_of,
)
from tests.helpers.ghost_models import MODELS

GIB = 1 << 30
AVX2 = frozenset({"avx", "avx2", "fma"})
NEEDS = {c: MemoryNeed(4 * GIB, c * (1 << 17), 1 << 27, 1 << 27) for c in (8192, 4096, 2048)}
"""8B in 4 bits: 5.25, 4.75 and 4.5 GB."""


def test_fits() -> None:
    fit = outlook(NEEDS, 6 * GIB, exact=True, speed=(10.0, 90.0))
    assert (fit.verdict, fit.context, fit.exact) == ("fits", 8192, True)
    assert fit.needed_bytes == NEEDS[8192].total
    assert fit.weights_bytes + fit.kv_cache_bytes + fit.compute_bytes < fit.needed_bytes
    assert (fit.writes, fit.reads, fit.reasons) == (10.0, 90.0, ())


def test_shorter() -> None:
    fit = outlook(NEEDS, NEEDS[4096].total, exact=False)
    assert (fit.verdict, fit.context) == ("shorter", 4096)
    assert "context 4,096 instead of 8,192: 4.8 GB free" in fit.reasons[0]
    assert "not known" in fit.reasons[1]


def test_does_not_fit() -> None:
    fit = outlook(NEEDS, GIB, exact=False, speed=(1.0, 1.0), notes=["guessed"])
    assert (fit.verdict, fit.context) == ("no", 2048)
    assert fit.needed_bytes == NEEDS[2048].total
    assert fit.reasons == (
        "4.5 GB are needed with the shortest context, 1.0 GB are free",
        "guessed",
    )


def test_contexts() -> None:
    assert contexts_to_try(8192, 2048) == (8192, 4096, 2048)
    assert contexts_to_try(1024, 1024) == (1024,)
    assert contexts_to_try(5000, 2048) == (5000, 2500, 2048)


@pytest.fixture
def works(tmp_path):
    def work(name: str) -> Work:
        folder = tmp_path / name
        folder.mkdir()
        header = read_header(write_ghost(folder, "m", [MODELS[name].part()]))
        return work_of(header, facts_of(header, header.file_bytes), AVX2)

    return work


def test_work_counts_what_a_token_needs(works) -> None:
    dense, experts = works("Mistral 7B"), works("Qwen 3 30B A3B")
    assert dense.numbers == pytest.approx(7.1e9, rel=0.02), (
        "without the embeddings, which are looked up"
    )
    assert dense.bytes_read == pytest.approx(7.1e9 * 4.5 / 8, rel=0.02)
    assert dense.kv_bytes == 128 << 10
    assert dense.fast
    assert experts.numbers == pytest.approx(3.0e9, rel=0.1), "3 of its 30 billion"
    tied = works("Llama 3.2 1B")
    assert tied.numbers == pytest.approx(1.236e9, rel=0.02), (
        "embeddings that are output too are read"
    )


def test_needs_follow_the_context(tmp_path) -> None:
    header = read_header(write_ghost(tmp_path, "m", [MODELS["Qwen 3 4B"].part()]))
    needs = needs_by_formula(facts_of(header, header.file_bytes), (8192, 2048), 8)
    assert needs[8192].kv_cache == 4 * needs[2048].kv_cache == 8192 * (144 << 10)


BIG, SMALL = Work(4 * GIB, 8 * 10**9, 0, True), Work(GIB // 10, 2 * 10**8, 0, True)


def test_speed_follows_the_model_most_like_it() -> None:
    near, far = Speed(BIG, 4.0, 20.0), Speed(SMALL, 200.0, 900.0)
    half = Work(2 * GIB, 4 * 10**9, 0, True)
    assert expected_speed(half, [far, near]) == (8.0, 40.0)
    assert expected_speed(half, []) is None
    slow = replace(near, work=replace(BIG, fast=False), writes=3.0)
    assert expected_speed(replace(half, fast=False), [near, slow]) == (6.0, 40.0)
    assert expected_speed(replace(half, fast=False), [near]) == (8.0, 40.0), "better than nothing"
    writes, _ = expected_speed(replace(half, kv_bytes=1 << 20), [near]) or (0.0, 0.0)
    assert writes == pytest.approx(16 / 3), "a gigabyte of cache is read too"


def test_other_quantizations_of_the_same_model() -> None:
    other = in_other_quantization(BIG, 2.0, "Q8_0", AVX2)
    assert (other.bytes_read, other.numbers, other.fast) == (8 * GIB, BIG.numbers, True)
    assert not in_other_quantization(BIG, 1.2, "Q5_K_M", AVX2).fast


@pytest.mark.parametrize(
    ("label", "features", "fast"),
    [
        ("Q4_K_M", AVX2, True),
        ("UD-Q4_K_XL", AVX2, True),
        ("Q4_1", AVX2, False),
        ("Q5_K_S", AVX2, False),
        ("IQ4_NL", AVX2, True),
        ("IQ4_XS", AVX2, False),
        ("MXFP4_MOE", AVX2, True),
        ("Q2_K", AVX2, False),
        ("Q2_K", AVX2 | {"avx512f"}, True),
        ("Q6_K", frozenset({"neon", "dotprod"}), True),
        ("Q4_0", frozenset({"avx"}), False),
        ("Q4_0", None, True),
        ("", AVX2, False),
    ],
)
def test_fast_types(label: str, features: frozenset[str] | None, fast: bool) -> None:
    assert is_fast(label, features) == fast


def choice(label: str, gib: float, verdict: str = "fits", writes: float | None = None) -> HubChoice:
    fit = Fit(verdict=verdict, context=8192, writes=writes)  # type: ignore[arg-type]
    size = int(gib * GIB)
    return HubChoice(
        name=label, kind="model", quantization=label, size_bytes=size, files=(), fit=fit
    )


def card(speeds: tuple[float | None, ...] = (None,) * 6, fits: int = 6) -> list[HubChoice]:
    sizes = {"Q2_K": 3.0, "Q4_K_M": 4.6, "Q5_K_M": 5.3, "Q6_K": 6.1, "Q8_0": 8.0, "F16": 15.0}
    return [
        choice(label, size, "fits" if i < fits else "no", speeds[i])
        for i, (label, size) in enumerate(sizes.items())
    ]


def recommended(choices: list[HubChoice]) -> str:
    found = recommend(choices, AVX2)
    assert found is not None
    return f"{choices[found[0]].name}: {found[1]}"


def test_nothing_measured_takes_a_usual_one() -> None:
    assert recommended(card()).startswith("Q4_K_M: a usual choice that fits")


def test_the_best_that_is_fast_enough() -> None:
    text = recommended(card((40, 30, 20, 18, 15, 5)))
    assert text == (
        "Q8_0: the best quality that fits with a context of 8,192, "
        "of a type that is fast on this processor: about 15 tokens a second"
    )
    assert recommended(card((40, 30, 20, 18, 5, 2))).startswith("Q4_K_M"), "Q6_K is hardly better"
    assert recommended(card((40, 30, 20, 18, 15, 5), fits=2)).startswith("Q4_K_M")


def test_a_slow_machine_gets_the_fastest() -> None:
    assert (
        recommended(card((4, 3, 2, 2, 1, 1)))
        == "Q2_K: the fastest that fits: about 4.0 tokens a second"
    )


def test_a_shorter_context_is_better_than_nothing_and_nothing_is_said() -> None:
    assert recommend(card(fits=0), AVX2) is None
    assert recommend([], AVX2) is None
    short = [choice("Q4_0", 4, "shorter"), choice("Q8_0", 8, "no")]
    assert recommended(short).startswith("Q4_0")
    assert recommend([replace_kind(short[0])], AVX2) is None


def replace_kind(one: HubChoice) -> HubChoice:
    return HubChoice(
        name="p", kind="mmproj", quantization="F16", size_bytes=1, files=(), fit=one.fit
    )
