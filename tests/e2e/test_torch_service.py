"""The torch backend behind the real service, forced on the CPU: chat, exactness, reuse, a killed worker, stop."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import httpx2
import psutil
import pytest
from openai import OpenAI

pytest.importorskip("torch")

from tests.helpers.service_process import ServiceProcess
from tests.helpers.synthetic_model import write_model

ROSES = "a rose is a rose is a rose is a rose is a rose is a"


def serve(model: Path, *arguments: str) -> ServiceProcess:
    fixed = ("--backend", "torch-cpu", "--threads", "1", "--context", "2048")
    return ServiceProcess(model, arguments=(*fixed, *arguments))


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("models")
    return write_model(folder / "m.gguf", "llama", quantization="Q8_0", n_ctx=2048)


@pytest.fixture(scope="module")
def service(model: Path) -> Iterator[ServiceProcess]:
    with serve(model) as service:
        yield service


def ask(service: ServiceProcess, *, stream: bool = False, tokens: int = 120, **fields: Any) -> str:
    with OpenAI(base_url=f"{service.base_url}/v1", api_key="x", max_retries=0) as client:
        request: dict[str, Any] = {
            "model": "m",
            "messages": [{"role": "user", "content": ROSES}],
            "max_tokens": tokens,
            "seed": 7,
            "temperature": 0.6,
            "extra_body": {"ignore_eos": True},
        } | fields
        if not stream:
            reply = client.chat.completions.create(**request)
            return reply.choices[0].message.content or ""
        chunks = client.chat.completions.create(stream=True, **request)
        return "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)


def worker_pid(service: ServiceProcess) -> int:
    children = psutil.Process(service.process.pid).children(recursive=True)
    (worker,) = [p for p in children if "engine.worker" in " ".join(p.cmdline())]
    return worker.pid


def test_it_is_the_torch_backend_and_says_so(service: ServiceProcess) -> None:
    assert ask(service, tokens=3)
    (entry,) = httpx2.get(f"{service.base_url}/api/models").json()["models"]
    assert entry["backend"] == "torch-cpu"
    assert entry["state"] == "ready"


def test_the_same_request_gives_the_same_text_however_it_is_computed(
    service: ServiceProcess, plain: ServiceProcess
) -> None:
    truth = ask(service)
    assert len(truth) > 50
    assert ask(service, stream=True) == truth  # the cache is hot now
    with ThreadPoolExecutor(4) as pool:  # beside others, with other seeds
        answers = pool.map(lambda seed: ask(service, seed=seed), (7, 8, 7, 9))
    assert [text == truth for text in answers] == [True, False, True, False]
    assert ask(plain) == truth


@pytest.fixture(scope="module")
def plain(model: Path) -> Iterator[ServiceProcess]:
    with serve(model, "--speculation", "off") as plain:
        yield plain


def reply(service: ServiceProcess, **fields: Any) -> tuple[str, str, int]:
    """Text, finish reason and number of tokens."""
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": ROSES}],
        "max_tokens": 150,
        "temperature": 0,
    }
    found = httpx2.post(
        f"{service.base_url}/v1/chat/completions", json=body | fields, timeout=60
    ).json()
    (choice,) = found["choices"]
    return (
        choice["message"]["content"],
        choice["finish_reason"],
        found["usage"]["completion_tokens"],
    )


def test_what_ends_an_answer_ends_it_inside_a_draft(
    service: ServiceProcess, plain: ServiceProcess
) -> None:
    """C18: stop strings, end tokens and limits at every place of a block; nothing behind them is sent or counted."""
    text, _, _ = reply(plain, ignore_eos=True)
    for start in range(40, 70, 3):
        stop = text[start : start + 4]
        expected = reply(plain, ignore_eos=True, stop=[stop])
        assert reply(service, ignore_eos=True, stop=[stop]) == expected
        assert reply(service, ignore_eos=True, max_tokens=start) == reply(
            plain, ignore_eos=True, max_tokens=start
        )
    ends = set()
    for bias in range(20):  # the end token comes later and later into the circles
        expected = reply(plain, logit_bias={"258": bias / 2})
        assert reply(service, logit_bias={"258": bias / 2}) == expected
        ends.add(expected[1])
    assert ends == {"stop", "length"}


def test_near_the_end_of_the_context_drafts_get_shorter(model: Path) -> None:
    """C19."""
    with ServiceProcess(
        model, arguments=("--backend", "torch-cpu", "--threads", "1", "--context", "256")
    ) as service:
        for num_prompt in (200, 250, 254, 255, 256):
            url = f"{service.base_url}/v1/completions"
            body = {"model": "m", "prompt": "a rose " * 60, "max_tokens": 500, "temperature": 0}
            body |= {"prompt": ("a rose " * 60)[:num_prompt], "ignore_eos": True}
            found = httpx2.post(url, json=body, timeout=60)
            if num_prompt >= 256:
                assert found.status_code == 400
                assert found.json()["error"]["code"] == "context_length_exceeded"
            else:
                usage = found.json()["usage"]
                assert found.json()["choices"][0]["finish_reason"] == "length"
                assert usage["completion_tokens"] == 256 - usage["prompt_tokens"]


def test_drafts_are_counted(service: ServiceProcess) -> None:
    body = {
        "model": "m",
        "messages": [{"role": "user", "content": ROSES}],
        "max_tokens": 200,
        "temperature": 0,
        "ignore_eos": True,
    }
    reply = httpx2.post(f"{service.base_url}/v1/chat/completions", json=body, timeout=60).json()
    timings = reply["timings"]
    # greedy noise soon runs in circles, which n-grams see
    assert 0 < timings["draft_n_accepted"] <= timings["draft_n"]
    assert timings["predicted_n"] == 200
    assert reply["usage"]["completion_tokens"] == 200


def test_an_answer_goes_on_token_identically_when_its_worker_is_killed(
    service: ServiceProcess,
) -> None:
    truth = ask(service, tokens=600)
    with OpenAI(base_url=f"{service.base_url}/v1", api_key="x", max_retries=0) as client:
        text, killed = "", False
        for chunk in client.chat.completions.create(
            model="m",
            messages=[{"role": "user", "content": ROSES}],
            max_tokens=600,
            seed=7,
            temperature=0.6,
            stream=True,
            extra_body={"ignore_eos": True},
        ):
            text += "".join(c.delta.content or "" for c in chunk.choices)
            if len(text) > 100 and not killed:
                killed = True
                os.kill(worker_pid(service), signal.SIGKILL)
    assert killed
    assert text == truth


def test_a_file_that_our_decoder_does_not_compute_is_refused_with_the_reason(
    tmp_path: Path,
) -> None:
    scaled = {"rope.scaling.type": "yarn", "rope.scaling.factor": 4.0}
    model = write_model(tmp_path / "m.gguf", "llama", metadata=scaled)
    with serve(model) as service:
        reply = httpx2.post(
            f"{service.base_url}/v1/chat/completions",
            json={"model": "m", "messages": [{"role": "user", "content": "Hi"}]},
            timeout=60,
        )
        assert reply.status_code == 501
        assert "yarn" in reply.json()["error"]["message"]


@pytest.mark.parametrize(
    ("draft", "why_not"),
    [("small", ""), ("gone", ""), ("foreign", "foreign cannot guess ahead for m: its texts")],
)
def test_a_draft_model_guesses_and_changes_nothing(
    service: ServiceProcess, model: Path, tmp_path: Path, draft: str, why_not: str
) -> None:
    """C20: one with another vocabulary is left out, and both models are named."""
    small = write_model(tmp_path / "small.gguf", "llama", layers=1, quantization="Q8_0")
    foreign = write_model(
        tmp_path / "foreign.gguf",
        "llama",
        layers=1,
        quantization="Q8_0",
        tokenizer={"tokenizer.ggml.eos_token_id": 256},
    )
    fixed = ("--backend", "torch-cpu", "--threads", "1", "--context", "2048")
    os.environ["INGLENOOK_MODELS_DRAFT_MODEL"] = draft
    try:
        with ServiceProcess(model, small, foreign, arguments=fixed) as drafting:
            assert ask(drafting) == ask(service)
            listed = httpx2.get(f"{drafting.base_url}/api/models").json()["models"]
    finally:
        del os.environ["INGLENOOK_MODELS_DRAFT_MODEL"]
    (reasons,) = (entry["reasons"] for entry in listed if entry["id"] == "m")
    assert ("cannot guess ahead" in " ".join(reasons)) == bool(why_not)
    assert any(why_not in reason for reason in reasons)
