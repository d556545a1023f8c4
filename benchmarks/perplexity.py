"""Do both backends read a text equally well? Perplexity of our decoder on the CPU against llama.cpp's, same file.

Yardstick: within 0.5 %. `python -m benchmarks.perplexity --model FILE.gguf --text FILE [--chunks 4]`: chunks of 512 tokens,
each token of the second half scored by what stands before it in its chunk. Each backend has a process of its own.
"""

import argparse
import json
import math
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.harness import report
from engine.backends.base import Backend, SeqId
from engine.backends.registry import OpenRequest, open_model

CHUNK = 512
BACKENDS = ("llama.cpp", "torch-cpu")


def main() -> None:
    """Run both and print one JSON line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", type=Path, required=True)
    parser.add_argument("--text", type=Path, required=True)
    parser.add_argument("--chunks", type=int, default=4)
    parser.add_argument("--backend", choices=BACKENDS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.backend:
        print(json.dumps(perplexity(args.backend, args.model, args.text, args.chunks)))
        return
    figures = {}
    for backend in BACKENDS:
        command = [sys.executable, "-m", "benchmarks.perplexity", *sys.argv[1:]]
        done = subprocess.run(
            [*command, "--backend", backend], check=True, capture_output=True, text=True
        )
        figures[backend] = float(json.loads(done.stdout))
    ratio = figures["torch-cpu"] / figures["llama.cpp"]
    report("perplexity", model=args.model.name, **figures, ratio=round(ratio, 5))


def perplexity(backend: str, model: Path, text: Path, num_chunks: int) -> float:
    """Exponential of the mean negative log-likelihood."""
    opened = open_model(backend, OpenRequest(os.fsencode(model), CHUNK, 8, 1, 1), print_nothing)
    words = text.read_text("utf-8")[: num_chunks * CHUNK * 8]
    tokens = opened.tokenizer.encode(words, add_special=False, parse_special=False)
    total, count = 0.0, 0
    for first in range(0, num_chunks * CHUNK, CHUNK):
        chunk = tokens[first : first + CHUNK]
        opened.backend.seq_clear(SeqId(0))
        for position, score in _scores(opened.backend, chunk):
            if position >= CHUNK // 2:
                total, count = total + score, count + 1
    opened.backend.close()
    return math.exp(-total / count)


def print_nothing(fraction: float) -> None:
    """Progress that nobody reads."""
    del fraction


def _scores(backend: Backend, chunk: list[int]) -> Iterator[tuple[int, float]]:
    """(position, log-likelihood of the token there) for all but the first."""
    most = min(backend.caps.n_outputs_max, backend.caps.n_batch_max)
    batch = backend.new_batch(most)
    for first in range(0, len(chunk) - 1, most):
        rows = chunk[first : min(first + most, len(chunk) - 1)]
        n = len(rows)
        batch.token[:n], batch.pos[:n] = rows, range(first, first + n)
        batch.seq[:n], batch.out[:n], batch.n = 0, 1, n
        outputs = backend.decode(batch).outputs
        assert outputs is not None
        for i in range(n):
            position = first + i + 1
            yield position, float(outputs.logits(i)[chunk[position]]) - outputs.lse(i)


if __name__ == "__main__":
    main()
