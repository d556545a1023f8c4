"""The runtime file: what is written is read, by its owner alone, and stale or foreign files are nothing."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from engine.client import discovery
from engine.client.discovery import Found
from engine.paths import Paths

OURS = Found("http://127.0.0.1:4645", "sesame", os.getpid(), "0.1.0", owned=True)


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return Paths.find(tmp_path / "data")


def gone_pid() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait(timeout=20)
    return process.pid


def test_round_trip_readable_by_the_owner_alone(paths: Paths) -> None:
    assert discovery.read(paths) is None
    discovery.write(paths, OURS)
    assert discovery.read(paths) == OURS
    assert stat.S_IMODE(discovery.path(paths).stat().st_mode) == 0o600
    assert [file.name for file in paths.data.iterdir()] == [discovery.FILE_NAME]


def test_a_newer_service_takes_the_place_and_the_older_leaves_it(paths: Paths) -> None:
    discovery.write(paths, Found("http://127.0.0.1:1", "", gone_pid(), "0"))
    discovery.path(paths).chmod(0o644)
    discovery.write(paths, OURS)
    assert stat.S_IMODE(discovery.path(paths).stat().st_mode) == 0o600
    discovery.remove(paths, OURS.pid + 1)
    assert discovery.read(paths) == OURS
    discovery.remove(paths, OURS.pid)
    assert not discovery.path(paths).exists()
    discovery.remove(paths, OURS.pid)


def test_a_dead_service_is_not_found(paths: Paths) -> None:
    discovery.write(paths, Found("http://127.0.0.1:1", "", gone_pid(), "0"))
    assert discovery.read(paths) is None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff",
        b"[]",
        b'{"url":"http://127.0.0.1:1"}',
        b'{"url":1,"key":"","pid":1,"version":""}',
        b'{"url":"u","key":"","pid":-1,"version":""}',
        b'{"url":"u","key":"","pid":0,"version":""}',
    ],
)
def test_files_that_are_not_ours(paths: Paths, content: bytes) -> None:
    paths.data.mkdir()
    discovery.path(paths).write_bytes(content)
    assert discovery.read(paths) is None
    discovery.remove(paths, os.getpid())
    assert discovery.path(paths).read_bytes() == content


def test_a_place_that_cannot_be_written_leaves_no_draft(paths: Paths) -> None:
    discovery.path(paths).mkdir(parents=True)
    with pytest.raises(OSError, match=r"service\.json"):
        discovery.write(paths, OURS)
    assert [file.name for file in paths.data.iterdir()] == [discovery.FILE_NAME]
    assert discovery.read(paths) is None
