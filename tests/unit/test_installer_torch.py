"""torch, the optional part: what goes in, what goes out again, and when it is offered. pip is made up."""

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from engine.errors import SetupError
from installer import (
    bootstrap,
    disk,
    environment,
    layout,
    nvidia,
    pip,
    stamp,
    steps,
    torch_command,
    torch_part,
    torch_size,
)
from installer.nvidia import Found, Gpu

H200 = Found((Gpu("NVIDIA H200", (9, 0)),), (13, 0))
NONE = Found(note="there is no NVIDIA driver (libcuda.so.1 was not found)")


ANSWER = [("torch", "2.13.0"), ("nvidia-cublas", "13.1.1.3")]
"""What pip would install, in its report."""


def report(files: list[tuple[str, str]]) -> dict[str, Any]:
    return {
        "install": [
            {
                "download_info": {"url": f"https://index/{name}.whl"},
                "metadata": {"name": name, "version": version},
            }
            for name, version in files
        ]
    }


def test_constraints_are_the_lock_s_pins_without_hashes() -> None:
    lock = (
        "# Made\njinja2==3.1.6 \\\n    --hash=sha256:00 \\\n    --hash=sha256:11\n"
        "numpy==2.3.5 ; python_full_version < '3.12' \\\n    --hash=sha256:22\n"
    )
    assert torch_part.constraints(lock) == (
        "jinja2==3.1.6\nnumpy==2.3.5 ; python_full_version < '3.12'\n"
    )
    real = (layout.LOCKS / "test.txt").read_text()
    lines = torch_part.constraints(real).splitlines()
    assert "--hash" not in torch_part.constraints(real)
    assert len(lines) == sum("==" in line and line[0] not in " #" for line in real.splitlines())
    assert {"jinja2", "typing-extensions", "numpy"} <= torch_part.pinned(real)


def test_only_what_torch_alone_needed_goes_with_it() -> None:
    installed = {
        "torch": ["sympy", "jinja2", "networkx>=2.5", "setuptools"],
        "sympy": ["mpmath<1.4"],
        "mpmath": [],
        "networkx": [],
        "jinja2": ["MarkupSafe>=2.0"],
        "markupsafe": [],
        "setuptools": [],
        "drawn-by-hand": ["Network_X; extra == 'x'", "networkx ; python_version > '3'"],
        "huggingface-hub": ['torch; extra == "torch"', 'mpmath ; extra=="all"'],
    }
    brought = {"torch", "sympy", "mpmath", "networkx", "jinja2", "gone-already"}
    names = torch_part.removable(installed, brought=brought, pinned={"jinja2", "markupsafe"})
    assert names == ["torch", "mpmath", "sympy"]


class Pip:
    """Stands for pip in an environment of names: answers the question, installs, removes."""

    def __init__(self, *, fails: bool = False, cuda: str = "") -> None:
        self.calls: list[list[str]] = []
        self.installed: dict[str, list[str]] = {"jinja2": [], "pip": []}
        self._fails, self._cuda = fails, cuda

    def run(self, _python: Path, arguments: list[str | Path], **_rest: Any) -> None:
        words = [str(word) for word in arguments]
        self.calls.append(words)
        if self._fails:
            raise SetupError("torch: the package index could not be reached.")
        if "--dry-run" in words:
            answer = report([] if "torch" in self.installed else ANSWER)
            Path(words[words.index("--report") + 1]).write_text(json.dumps(answer))
        elif words[0] == "uninstall":
            self.installed = {n: r for n, r in self.installed.items() if n not in words}
        elif words[-1].startswith("torch=="):
            constraint = Path(words[words.index("--constraint") + 1])
            assert "jinja2==" in constraint.read_text()
            self.installed |= {"torch": ["sympy", "jinja2"], "sympy": []}

    def built_for(self, _venv: Path) -> str | None:
        return self._cuda if "torch" in self.installed else None


@pytest.fixture
def venv(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "venv"
    python = layout.python(folder)
    python.parent.mkdir(parents=True)
    python.write_text("#!/bin/sh\n")
    monkeypatch.setenv(layout.CACHE_VARIABLE, str(tmp_path / "cache"))
    for name in ("CI", torch_command.NO_TORCH, torch_command.REQUIRE_TORCH):
        monkeypatch.delenv(name, raising=False)
    stamp.write([stamp.BASE, stamp.TEST, stamp.QT], folder)
    return folder


@pytest.fixture
def use(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Pip]]:
    def set_up(fake: Pip, gpus: Found = NONE) -> Pip:
        monkeypatch.setattr(pip, "run", fake.run)
        monkeypatch.setattr(environment, "distributions", lambda _venv: dict(fake.installed))
        monkeypatch.setattr(torch_part, "built_for", fake.built_for)
        monkeypatch.setattr(torch_size, "content_length", lambda _url: 1_370_000_000)
        monkeypatch.setattr(disk, "check_space", lambda _needed: None)
        monkeypatch.setattr(nvidia, "look", lambda: gpus)
        monkeypatch.setattr(sys, "platform", "linux")
        return fake

    return set_up


def test_tests_get_torch_once_with_its_size_said_first(
    venv: Path, use: Callable[..., Pip], capsys: pytest.CaptureFixture[str]
) -> None:
    fake = use(Pip())
    torch_command.for_tests(venv)
    said = capsys.readouterr().err
    assert "torch 2.13.0 and what it needs: 2.7 GB to download.\n" in said
    assert "torch is installed (without CUDA" in said
    assert [call[-1] for call in fake.calls[1:]] == ["torch==2.13.0"] * 2
    assert stamp.current([stamp.BASE, stamp.TEST, stamp.TORCH], venv)
    assert not stamp.current([stamp.CUDA], venv)
    assert not (layout.cache() / "torch").exists()
    torch_command.for_tests(venv)
    assert len(fake.calls) == 3
    assert capsys.readouterr().err == ""


def test_without_torch_the_tests_go_on_and_say_so(
    venv: Path,
    use: Callable[..., Pip],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake = use(Pip(fails=True))
    torch_command.for_tests(venv)
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "THE TORCH TESTS WILL BE SKIPPED" in said
    assert "could not be reached" in said
    assert stamp.current([stamp.BASE, stamp.TEST], venv)
    assert not stamp.current([stamp.TORCH], venv)
    monkeypatch.setenv(torch_command.NO_TORCH, "1")
    fake.calls.clear()
    torch_command.for_tests(venv)
    assert fake.calls == []


@pytest.mark.parametrize("variable", ["CI", torch_command.REQUIRE_TORCH])
def test_in_ci_missing_torch_is_a_failure(
    variable: str,
    venv: Path,
    use: Callable[..., Pip],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fake = use(Pip(fails=True))
    monkeypatch.setattr(bootstrap, "_run", lambda *_: 0)
    monkeypatch.chdir(layout.ROOT)
    monkeypatch.setenv("QT_QPA_PLATFORM", "offscreen")
    monkeypatch.setenv(layout.VENV_VARIABLE, str(venv))
    assert bootstrap.main(["test"]) == 0
    monkeypatch.setenv(variable, "true")
    assert bootstrap.main(["test"]) == 1
    assert "in CI the torch tests must run" in capsys.readouterr().err
    fake.installed["torch"] = []
    assert bootstrap.main(["test"]) == 0


def test_the_cuda_part_goes_in_and_out(
    venv: Path, use: Callable[..., Pip], capsys: pytest.CaptureFixture[str]
) -> None:
    fake = use(Pip(cuda="13.0"), H200)
    assert torch_command.main([], venv) == 0
    assert fake.calls[-1][-1] == "torch==2.13.0,!=2.13.0+cpu"
    assert stamp.current([stamp.BASE, stamp.TORCH, stamp.CUDA], venv)
    assert "(with CUDA 13.0" in capsys.readouterr().err
    assert torch_command.main([], venv) == 0
    assert "installed already" in capsys.readouterr().err
    assert torch_command.main(["--remove"], venv) == 0
    assert set(fake.installed) == {"jinja2", "pip"}
    assert capsys.readouterr().err == "Removed: torch, sympy.\n"
    assert stamp.current([stamp.BASE, stamp.TEST], venv)
    assert not stamp.current([stamp.TORCH], venv)
    assert torch_command.main(["--remove"], venv) == 0
    assert "not installed" in capsys.readouterr().err


def test_torch_without_cuda_is_not_taken_for_the_cuda_part(
    venv: Path, use: Callable[..., Pip], capsys: pytest.CaptureFixture[str]
) -> None:
    use(Pip(cuda=""), H200)
    assert torch_command.main([], venv) == 1
    assert "without CUDA only" in capsys.readouterr().err
    assert not stamp.current([stamp.CUDA], venv)


def test_without_a_gpu_nothing_is_installed_unless_asked(
    venv: Path, use: Callable[..., Pip], capsys: pytest.CaptureFixture[str]
) -> None:
    fake = use(Pip())
    assert torch_command.main([], venv) == 1
    assert "Nothing was installed: there is no NVIDIA driver" in capsys.readouterr().err
    assert fake.calls == []
    assert torch_command.main(["--cpu"], venv) == 0
    assert "torch" in fake.installed
    assert torch_command.main(["--gpu"], venv) == 2


def test_the_offer_is_one_line_with_size_and_command(
    venv: Path, use: Callable[..., Pip], capsys: pytest.CaptureFixture[str]
) -> None:
    fake = use(Pip(), H200)
    torch_command.offer(venv)
    assert capsys.readouterr().err == (
        "NVIDIA H200 can be used, with the CUDA part (2.7 GB to download): python3 installer torch\n"
    )
    assert "torch" not in fake.installed
    stamp.change(venv, add=[stamp.CUDA])
    torch_command.offer(venv)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("gpus", [NONE, Found((Gpu("Tesla T4", (7, 5)),), (13, 0))])
def test_no_offer_without_a_gpu_that_can_use_it(
    gpus: Found, venv: Path, use: Callable[..., Pip], capsys: pytest.CaptureFixture[str]
) -> None:
    fake = use(Pip(), gpus)
    torch_command.offer(venv)
    assert capsys.readouterr().err == ""
    assert fake.calls == []


def test_an_offer_whose_size_is_unknown_says_so(
    venv: Path, use: Callable[..., Pip], capsys: pytest.CaptureFixture[str]
) -> None:
    use(Pip(fails=True), H200)
    torch_command.offer(venv)
    assert "the size could not be found" in capsys.readouterr().err


def test_a_set_up_of_other_parts_keeps_torch_only_where_it_is(
    venv: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[bool] = [False]
    monkeypatch.setattr(steps, "_install", lambda *_, **__: made[0])
    monkeypatch.setattr(steps.packages, "needs", lambda _parts: [])

    def set_up_again(parts: list[str]) -> set[str]:
        stamp.write(parts, venv)
        stamp.change(venv, drop=[stamp.BASE])
        assert steps.prepare([stamp.BASE], venv)
        return set(stamp.read(venv))

    assert set_up_again([stamp.BASE, stamp.TORCH]) == {stamp.BASE, stamp.TORCH}
    made[0] = True  # the environment is new, and what was in it is gone
    assert set_up_again([stamp.BASE, stamp.TORCH]) == {stamp.BASE}
    made[0] = False
    stamp.write([stamp.TORCH], venv)
    monkeypatch.setattr(stamp, "TORCH_REQUIREMENT", "torch==9")
    assert steps.prepare([stamp.BASE], venv)
    assert set(stamp.read(venv)) == {stamp.BASE}
