"""The pure parts of `benchmarks.vs_llama_server`: who wins, what is sent, how streams are read."""

import json
import math
import os
from pathlib import Path

import pytest

from benchmarks.footprint import Memory, cpu_seconds
from benchmarks.harness import ratio_interval
from benchmarks.synthetic_model import _tokenizer_entries
from benchmarks.versus.exchange import Exchange, _take
from benchmarks.versus.gate import DURATION, SPEED, at_most, compare, failed
from benchmarks.versus.schemas import SCHEMAS, is_valid
from benchmarks.versus.texts import copy_prompt, edit_prompt, words
from tests.helpers.tiny_gguf import I32, STRING, TypedArray, encoded, gguf_bytes, text


def test_a_ratio_above_one_is_ours_whatever_is_measured() -> None:
    faster = {"ours": [20.0, 22.0, 21.0], "peer": [10.0, 10.5, 11.0]}
    assert compare("x", SPEED, faster, gate=1.5, goal=3).ratio == pytest.approx(2)
    assert compare("x", SPEED, faster, gate=1.5, goal=3).holds
    assert compare("x", DURATION, faster, gate=0.9, goal=1).ratio == pytest.approx(0.5)
    assert not compare("x", DURATION, faster, gate=0.9, goal=1).holds


def test_an_interval_holds_its_ratio_and_draws_rounds_whole() -> None:
    ours = [2.0, 20.0, 200.0, 2000.0]
    assert ratio_interval(ours, [value / 2 for value in ours]) == (2, 2, 2)
    ratio, low, high = ratio_interval([1.0, 2.0, 3.0], [3.0, 1.0, 2.0])
    assert low < ratio < high


def test_nothing_against_nothing_is_a_draw_and_something_against_nothing_is_still_json() -> None:
    assert ratio_interval([0.0], [0.0]) == (1, 1, 1)
    gate = compare("x", SPEED, {"ours": [3.0], "peer": [0.0]}, gate=1, goal=1)
    assert gate.ratio == math.inf
    assert json.loads(json.dumps(gate.as_json(), allow_nan=False))["ratio"] == "inf"


def test_a_limit_is_judged_without_the_peer() -> None:
    assert at_most("x", "of 6", {"ours": [0.0], "peer": [6.0]}, gate=0, goal=0).holds
    assert not at_most("x", "of 6", {"ours": [1.0], "peer": [6.0]}, gate=0, goal=0).holds


def test_what_could_not_be_compared_is_lost() -> None:
    assert not failed("x", DURATION, "HTTP 501", gate=1, goal=1).holds


def test_prompts_of_different_rounds_share_one_word_at_most() -> None:
    openings = {tuple(words(20, seed).split()[:2]) for seed in range(3000)}
    assert len(openings) == 3000
    assert words(20, 3) == words(20, 3)
    assert len(words(500, 1).split()) == 500


def test_copying_prompts_end_where_the_copy_begins() -> None:
    for make in (copy_prompt, edit_prompt):
        prompt, expected = make(5)
        assert expected in prompt
        assert not prompt.endswith(expected)


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ('data: {"choices":[{"text":"ab"}]}', "ab"),
        ('data: {"choices":[{"delta":{"content":"ab"}}]}', "ab"),
        ('data: {"choices":[{"delta":{"role":"assistant","content":null}}]}', ""),
        ('data: {"choices":[]}', ""),
        ("data: [DONE]", ""),
        (": ping", ""),
    ],
)
def test_a_chunk_counts_when_it_brings_text(line: str, seen: str) -> None:
    exchange = Exchange()
    _take(exchange, line)
    assert (exchange.text, len(exchange.times), exchange.error) == (seen, bool(seen), "")


@pytest.mark.parametrize(
    "line", ['data: {"error":{"message":"full"}}', 'error: {"message":"full"}']
)
def test_an_error_in_the_stream_is_kept(line: str) -> None:
    exchange = Exchange()
    _take(exchange, line)
    assert "full" in exchange.error


def test_rates_count_tokens_after_the_first() -> None:
    whole = Exchange(times=[10.0, 11.0, 12.0], ended=12.5)
    whole.timings = {"predicted_n": 5, "predicted_ms": 2000}
    assert whole.rate == pytest.approx(2)
    assert whole.worker_rate == pytest.approx(2)
    assert Exchange(times=[10.0], ended=30.0).rate == pytest.approx(1 / 20)


def test_only_json_of_the_schema_is_valid() -> None:
    _, schema = SCHEMAS["refs"]
    person = {"name": "a", "town": "b"}
    assert is_valid(json.dumps({"sender": person, "receiver": person}), schema)
    assert not is_valid(json.dumps({"sender": person}), schema)
    assert not is_valid('{"sender": ', schema)
    assert not is_valid("", schema)


def test_the_tokenizer_is_taken_over_byte_for_byte(tmp_path: Path) -> None:
    metadata = {
        "general.name": "x",
        "tokenizer.ggml.tokens": TypedArray(STRING, ["a", "bc"]),
        "other.list": TypedArray(I32, [1, 2, 3]),
        "tokenizer.ggml.bos_token_id": 7,
    }
    path = tmp_path / "model.gguf"
    path.write_bytes(gguf_bytes(metadata))
    kept = ("tokenizer.ggml.tokens", "tokenizer.ggml.bos_token_id")
    assert _tokenizer_entries(path) == [text(key) + encoded(metadata[key]) for key in kept]


def test_the_footprint_of_this_process() -> None:
    memory = Memory.of(os.getpid())
    assert memory.private > 1
    assert memory.file > 1
    assert cpu_seconds(os.getpid()) > 0
