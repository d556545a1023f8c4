"""How many µs does picking one token cost, on vocabularies of 49k and 152k?

Yardstick: llama.cpp's own chain (top_k 40, top_p 0.95, min_p 0.05, temperature 0.8, draw) over the
whole vocabulary, with the array of candidates filled as `llama_sampler_sample` does.
Logits: normal and, as measured on real models, a power law of likely tokens on top (0.95 of the
probability on 850 to 980 tokens; real text: 20 to 1400); a different row at every pick.
Prints one JSON line.
"""

import argparse
import ctypes
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial

import numpy as np

from benchmarks.harness import paired, report, rounded
from engine.backends.host_logits import HostOutputs
from engine.sampling.sampler import Sampler
from engine.types import SamplingParams

VOCABULARIES = {"49k": 49_152, "152k": 151_936}
CASES = {
    "greedy": SamplingParams(temperature=0),
    "default": SamplingParams(),
    "default_penalties": SamplingParams(repetition_penalty=1.1, presence_penalty=0.5),
    "top_p_only": SamplingParams(top_k=0, min_p=0),
    "min_p_only": SamplingParams(top_k=0, top_p=1),
    "typical_p": SamplingParams(typical_p=0.9),
    "unfiltered": SamplingParams(top_k=0, top_p=1, min_p=0, temperature=1),
    "logprobs_5": SamplingParams(num_logprobs=5),
}
ROWS = 16


def make_rows(n_vocab: int) -> np.ndarray:
    """[ROWS, n_vocab] float32."""
    rng = np.random.default_rng(n_vocab)
    rows = rng.normal(0, 3, (ROWS, n_vocab)).astype(np.float32)
    likely = 19 - 1.2 * np.log(np.arange(1, 2001))
    for row in rows:
        row[rng.permutation(n_vocab)[: likely.size]] = likely
    return rows


def ours(rows: np.ndarray, params: SamplingParams) -> Callable[[], object]:
    """One pick and one accept a call, as in the decode loop."""
    sampler = Sampler(replace(params, seed=1), 0, list(range(200)))
    position = 0

    def pick() -> object:
        nonlocal position
        position += 1
        outputs = HostOutputs(ROWS, rows.__getitem__)
        sampled = sampler.sample(outputs, position % ROWS)
        sampler.accept(sampled.token)
        return sampled

    return pick


def llama_cpp_chain(rows: np.ndarray) -> Callable[[], object]:
    """The yardstick."""
    import llama_cpp.llama_cpp as lib

    chain = lib.llama_sampler_chain_init(lib.llama_sampler_chain_default_params())
    for link in (
        lib.llama_sampler_init_top_k(40),
        lib.llama_sampler_init_top_p(0.95, 0),
        lib.llama_sampler_init_min_p(0.05, 0),
        lib.llama_sampler_init_temp(0.8),
        lib.llama_sampler_init_dist(1),
    ):
        lib.llama_sampler_chain_add(chain, link)
    n = rows.shape[1]
    table = np.zeros(n, np.dtype([("id", np.int32), ("logit", np.float32), ("p", np.float32)]))
    pointer = table.ctypes.data_as(ctypes.POINTER(lib.llama_token_data))
    position = 0

    def pick() -> object:
        nonlocal position
        position += 1
        table["id"] = np.arange(n)
        table["logit"] = rows[position % ROWS]
        array = lib.llama_token_data_array(data=pointer, size=n, selected=-1, sorted=False)
        lib.llama_sampler_apply(chain, ctypes.byref(array))
        return table["id"][array.selected]

    return pick


def timed(pick: Callable[[], object], picks: int) -> dict[str, float]:
    """Mean time of a pick."""
    start = time.perf_counter()
    for _ in range(picks):
        pick()
    return {"us": (time.perf_counter() - start) / picks * 1e6}


def main() -> None:
    """Measure everything and print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--picks", type=int, default=200)
    options = parser.parse_args()
    figures = {}
    for name, n_vocab in VOCABULARIES.items():
        rows = make_rows(n_vocab)
        picks = {case: ours(rows, params) for case, params in CASES.items()}
        picks["llama_cpp_default"] = llama_cpp_chain(rows)
        runs = {case: partial(timed, pick, options.picks) for case, pick in picks.items()}
        results = paired(runs, pairs=options.runs)
        figures[name] = {
            case: rounded([run["us"] for run in case_runs], 1)
            for case, case_runs in results.items()
        }
    report("sampling", unit="µs per token", **figures)


if __name__ == "__main__":
    main()
