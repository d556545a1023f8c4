"""Bad files, bad requests, taken ports: one sentence with a next step each, and the service keeps running."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest
from openai import BadRequestError, OpenAI

from tests.helpers.service_process import ROOT, ServiceProcess
from tests.helpers.tiny_llama import write_tiny_llama

CONTEXT = 256


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("files")
    good = write_tiny_llama(folder / "good.gguf")
    whole = good.read_bytes()
    (folder / "cut.gguf").write_bytes(whole[: len(whole) // 2])
    (folder / "empty.gguf").write_bytes(b"")
    (folder / "page.gguf").write_text("<!DOCTYPE html><html><body>Not found</body></html>")
    write_tiny_llama(folder / "unknown.gguf", architecture="nosuch")
    write_tiny_llama(folder / "broken-template.gguf", chat_template="line one\n{% for m in %}")
    write_tiny_llama(folder / "no-template.gguf", chat_template=None)
    write_tiny_llama(
        folder / "strict.gguf",
        chat_template="{% for m in messages %}{% if m.role == 'system' %}"
        "{{ raise_exception('System role not supported') }}{% endif %}{{ m.content }}{% endfor %}",
    )
    return sorted(folder.glob("*.gguf"))


@pytest.fixture(scope="module")
def service(files: list[Path]) -> Iterator[ServiceProcess]:
    arguments = ("--threads", "1", "--context", str(CONTEXT))
    with ServiceProcess(*files, arguments=arguments) as service:
        yield service


@pytest.fixture
def client(service: ServiceProcess) -> Iterator[OpenAI]:
    with OpenAI(base_url=f"{service.base_url}/v1", api_key="x", max_retries=0) as client:
        yield client


def post(service: ServiceProcess, model: str, **body: object) -> httpx2.Response:
    request = {
        "model": model,
        "messages": [{"role": "user", "content": "hi"}],
        "max_tokens": 2,
        **body,
    }
    with httpx2.Client(trust_env=False, timeout=60) as http:
        return http.post(f"{service.base_url}/v1/chat/completions", json=request)


@pytest.mark.parametrize(
    ("model", "status", "word"),
    [
        ("cut", 422, "incomplete"),
        ("empty", 422, "empty"),
        ("page", 422, "web page"),
        ("unknown", 422, "nosuch"),
        ("nosuch-99b", 404, "good"),
    ],
)
def test_a_bad_model_is_one_sentence(
    service: ServiceProcess, model: str, status: int, word: str
) -> None:
    reply = post(service, model)
    assert reply.status_code == status, reply.text
    message = reply.json()["error"]["message"] + " " + str(reply.json()["error"].get("hint", ""))
    assert word in message
    assert post(service, "good").status_code == 200


@pytest.mark.parametrize("model", ["broken-template", "no-template"])
def test_a_model_without_a_usable_template_answers_with_a_fallback(
    service: ServiceProcess, model: str
) -> None:
    replies = [post(service, model) for _ in range(2)]
    assert [reply.status_code for reply in replies] == [200, 200]
    notices = [reply.headers.get("x-inglenook-notice", "") for reply in replies]
    assert "ChatML" in notices[0]
    assert not notices[1], "told once"


def test_a_template_without_a_system_role_takes_the_system_text_anyway(
    service: ServiceProcess,
) -> None:
    messages = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]
    reply = post(service, "strict", messages=messages)
    assert reply.status_code == 200
    assert "system" in reply.headers["x-inglenook-notice"]


def test_the_context_s_edge(client: OpenAI) -> None:
    def ask(num_tokens: int) -> str | None:
        prompt = [28] * num_tokens
        reply = client.completions.create(
            model="good", prompt=prompt, max_tokens=500, extra_body={"ignore_eos": True}
        )
        assert reply.usage is not None
        assert reply.usage.total_tokens <= CONTEXT
        return reply.choices[0].finish_reason

    assert ask(200) == "length"
    assert ask(CONTEXT - 1) == "length"
    for num_tokens in (CONTEXT, CONTEXT + 1, 5000):
        with pytest.raises(BadRequestError) as caught:
            ask(num_tokens)
        assert caught.value.code == "context_length_exceeded"
        assert f"{num_tokens:,}" in caught.value.message
        assert str(CONTEXT) in caught.value.message


@pytest.mark.parametrize(
    "fields",
    [
        {"max_tokens": 0},
        {"max_tokens": -5},
        {"max_tokens": "5"},
        {"temperature": float("nan")},
        {"logit_bias": {"99999999": 1}},
        {"messages": []},
        {"messages": [{"role": "root", "content": "x"}]},
        {"stop": [""]},
    ],
)
def test_a_bad_request_is_400(service: ServiceProcess, fields: dict[str, object]) -> None:
    import json

    body = json.dumps({"model": "good", "messages": [{"role": "user", "content": "x"}], **fields})
    with httpx2.Client(trust_env=False, timeout=60) as http:
        reply = http.post(
            f"{service.base_url}/v1/chat/completions",
            content=body,
            headers={"content-type": "application/json"},
        )
    assert reply.status_code == 400, reply.text
    assert reply.json()["error"]["message"]
    assert post(service, "good").status_code == 200


def run_cli(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "app", *arguments],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )


def test_a_taken_port_is_said_with_the_way_on(service: ServiceProcess) -> None:
    port = service.base_url.rsplit(":", 1)[1]
    result = run_cli("--data-dir", str(service.data_folder), "--serve", "--port", port)
    assert result.returncode == 1
    assert port in result.stderr
    assert "--port" in result.stderr
    assert "Traceback" not in result.stderr


def test_a_wide_address_without_a_key_is_refused(service: ServiceProcess) -> None:
    result = run_cli(
        "--data-dir", str(service.data_folder), "--serve", "--host", "0.0.0.0", "--port", "0"
    )
    assert result.returncode == 1
    assert "--api-key" in result.stderr


def test_without_a_terminal_one_line_says_what_to_run() -> None:
    result = subprocess.run(
        [sys.executable, "-m", "engine"],
        cwd=ROOT,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert result.returncode == 2
    assert result.stderr.count("\n") == 1
    assert "inglenook chat" in result.stderr


def test_a_stop_signal_ends_in_order(files: list[Path]) -> None:
    with ServiceProcess(files[0].with_name("good.gguf"), arguments=("--threads", "1")) as service:
        assert post(service, "good").status_code == 200
        assert service.stop() == 0
        assert "Traceback" not in service.log()
