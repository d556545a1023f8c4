"""The service dies or is stopped in mid-answer: a clear event, the text stays, the worker goes too."""

import asyncio
import signal
from pathlib import Path

import psutil
import pytest

from engine.api.events import TextDelta
from engine.api.requests import ChatRequest, Message
from engine.client.client import Client
from engine.errors import ServiceUnavailable
from tests.helpers.service_process import ServiceProcess
from tests.helpers.tiny_llama import write_tiny_llama


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
def test_the_client_gets_a_clear_error_and_keeps_its_text(
    tmp_path: Path, number: signal.Signals
) -> None:
    model = write_tiny_llama(tmp_path / "tiny.gguf", n_ctx=8192)
    request = ChatRequest(
        messages=[Message("user", "hello")], model="tiny", ignore_eos=True, max_tokens=8000
    )
    received: list[str] = []
    workers: list[psutil.Process] = []

    async def read(service: ServiceProcess) -> None:
        async with Client(service.base_url) as client, client.chat(request) as stream:
            async for event in stream:
                if isinstance(event, TextDelta):
                    if not received:
                        workers.extend(psutil.Process(service.process.pid).children())
                        service.process.send_signal(number)
                    received.append(event.content)

    with ServiceProcess(model, arguments=("--threads", "1")) as service:
        with pytest.raises(ServiceUnavailable) as caught:
            asyncio.run(read(service))
        assert caught.value.message
        assert caught.value.hint
        assert "".join(received)
        (worker,) = workers
        worker.wait(timeout=15)
        service.process.wait(timeout=15)
