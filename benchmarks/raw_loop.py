"""The yardstick: a bare loop on llama.cpp's C API, with its own greedy sampler. One run a line of stdin.

Nothing of the engine is imported; same context sizes. A line is `{"prompt": [ids], "tokens": n}`;
the answer is `{"first_s": …, "decode_s": …}`.
"""

import ctypes
import json
import sys
import time

import llama_cpp.llama_cpp as lib


def main(path: str, threads: int) -> None:
    """Load once, then serve lines until stdin closes."""
    model = lib.llama_model_load_from_file(path.encode(), lib.llama_model_default_params())
    params = lib.llama_context_default_params()
    params.n_ctx, params.n_batch, params.n_ubatch = 8192, 512, 512
    params.n_threads = params.n_threads_batch = threads
    params.n_outputs_max = params.n_seq_max = 1
    params.kv_unified, params.swa_full = True, False
    context = lib.llama_init_from_model(model, params)
    memory = lib.llama_get_memory(context)
    greedy = lib.llama_sampler_init_greedy()
    print("ready", flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        lib.llama_memory_clear(memory, True)
        started = time.perf_counter()
        prompt = request["prompt"]
        for i in range(0, len(prompt), 512):
            rows = prompt[i : i + 512]
            tokens = (ctypes.c_int32 * len(rows))(*rows)
            lib.llama_decode(context, lib.llama_batch_get_one(tokens, len(rows)))
        token = lib.llama_sampler_sample(greedy, context, -1)
        first = time.perf_counter()
        one = (ctypes.c_int32 * 1)()
        for _ in range(request["tokens"] - 1):
            one[0] = token
            lib.llama_decode(context, lib.llama_batch_get_one(one, 1))
            token = lib.llama_sampler_sample(greedy, context, -1)
        ended = time.perf_counter()
        print(json.dumps({"first_s": first - started, "decode_s": ended - first}), flush=True)


if __name__ == "__main__":
    silence = lib.llama_log_callback(lambda *_: None)
    lib.llama_log_set(silence, ctypes.c_void_p(0))
    main(sys.argv[1], int(sys.argv[2]))
