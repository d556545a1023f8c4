"""The real service with the real model: one process for the whole run, one thread."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from openai import OpenAI

from tests.helpers.service_process import ServiceProcess


@pytest.fixture(scope="session")
def real_service(starter_model: Path) -> Iterator[ServiceProcess]:
    """`--serve` with SmolLM2-135M, context 2,048. It measures nothing: every load computes in the same way, and idle is idle."""
    service = ServiceProcess(starter_model, arguments=("--threads", "1", "--context", "2048"))
    config = service.data_folder / "config"
    config.mkdir()
    (config / "settings.toml").write_text("[models]\nmeasure = false\n")
    with service:
        yield service


@pytest.fixture
def client(real_service: ServiceProcess) -> Iterator[OpenAI]:
    """The official SDK, without its retries."""
    with OpenAI(
        base_url=f"{real_service.base_url}/v1", api_key="any", max_retries=0, timeout=60
    ) as client:
        yield client
