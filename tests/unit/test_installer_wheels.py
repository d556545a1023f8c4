"""The cache of compiled wheels: the key, damage, leftovers; and what the compiler says about the CPU."""

import os
from pathlib import Path

import pytest

from engine.errors import SetupError
from installer import build, cpu, pip, recipe, wheels

DRY_RUN = (
    "COLLECT_GCC=c++\ngcc version 12.2.0\nCOMPILER_PATH=/usr/lib\n"
    ' /cc1plus -E "-march=znver3" -mavx2 -mno-avx512f --param "l1-cache-size=32" -mtune=znver3\n'
    "LIBRARY_PATH=/lib\n"
)


def entry(folder: Path, name: str = "built") -> Path:
    built = folder / name
    built.mkdir(parents=True)
    wheel = built / "llama-1-py3-none-any.whl"
    wheel.write_bytes(b"wheel of " + name.encode())
    return wheel


def test_key_changes_with_every_input() -> None:
    def inputs(
        view: str = "gcc 12 -mavx2", recipe: bytes = b"sdist", env: dict[str, str] | None = None
    ) -> dict[str, str]:
        return wheels.inputs(compiler_view=view, ingredients=[recipe], environment=env or {})

    variants = [
        inputs(),
        inputs(view="gcc 12 -mno-avx2"),
        inputs(view="gcc 13 -mavx2"),
        inputs(recipe=b"other sdist"),
        inputs(env={"CMAKE_ARGS": "-DGGML_CUDA=ON"}),
        inputs(env={"CXXFLAGS": "-O1"}),
        inputs() | {"platform": "linux-aarch64"},
    ]
    assert len({wheels.key(variant) for variant in variants}) == len(variants)
    assert wheels.key(inputs(env={"HOME": "/a"})) == wheels.key(inputs(env={"HOME": "/b"}))


def test_recipe_holds_the_sdist_hash_and_the_arguments() -> None:
    text = b"".join(recipe.ingredients())
    assert b"llama-cpp-python==" in text
    assert b"--hash=sha256:" in text
    assert b"-DGGML_NATIVE=ON" in text


def test_a_stored_wheel_is_found_and_a_damaged_one_is_not(tmp_path: Path) -> None:
    stored = wheels.store(tmp_path, "k", entry(tmp_path), {"compiler": "c"})
    assert wheels.find(tmp_path, "k") == stored
    assert wheels.find(tmp_path, "another") is None
    stored.write_bytes(stored.read_bytes()[:-1])
    assert wheels.find(tmp_path, "k") is None
    again = wheels.store(tmp_path, "k", entry(tmp_path, "second"), {})
    assert wheels.find(tmp_path, "k") == again


def test_an_entry_without_manifest_is_not_there(tmp_path: Path) -> None:
    entry(tmp_path, "k")
    assert wheels.find(tmp_path, "k") is None


def test_old_entries_go(tmp_path: Path) -> None:
    for age in range(6):
        name = f"k{age}"
        wheels.store(tmp_path, name, entry(tmp_path, f"b{age}"), {})
        os.utime(tmp_path / name, (1000 - age, 1000 - age))
    wheels.store(tmp_path, "last", entry(tmp_path), {})
    left = {path.name for path in tmp_path.iterdir()}
    assert "last" in left
    assert len(left) == 4


def test_workspace_sweeps_up_after_killed_builds_and_after_itself(tmp_path: Path) -> None:
    (tmp_path / ".build-killed").mkdir()
    (tmp_path / "finished").mkdir()

    def interrupted_build() -> None:
        with build.workspace(tmp_path) as work:
            (work / "object.o").write_text("x")
            assert [path.name for path in tmp_path.glob(".build-*")] == [work.name]
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted_build()
    assert [path.name for path in tmp_path.iterdir()] == ["finished"]


def test_jobs_fit_cores_and_memory() -> None:
    assert build.jobs(8, None) == 8
    assert build.jobs(8, 64_000_000_000) == 8
    assert build.jobs(8, 1_500_000_000) == 2
    assert build.jobs(8, 100_000_000) == 1


def test_compiler_view_keeps_instruction_sets_and_drops_noise() -> None:
    view = cpu.simplify(DRY_RUN)
    assert "gcc version 12.2.0" in view
    assert "-mavx2 -mno-avx512f -mtune=znver3" in view
    assert "cache-size" not in view
    assert "/lib" not in view


def test_a_compiler_without_native_falls_back_to_version_and_flags(tmp_path: Path) -> None:
    compiler = tmp_path / "odd-c++"
    compiler.write_text('#!/bin/sh\n[ "$1" = --version ] && echo odd 1.0 && exit 0\nexit 1\n')
    compiler.chmod(0o755)
    view = cpu.compiler_view(str(compiler))
    assert view.splitlines()[0] == "odd 1.0"
    assert " ".join(cpu.flags().split()) in view


def test_flags_of_the_first_core(tmp_path: Path) -> None:
    file = tmp_path / "cpuinfo"
    file.write_text("processor\t: 0\nflags\t\t: sse avx2 aes\n\nprocessor\t: 1\nflags\t\t: sse\n")
    assert cpu.flags(file) == "aes avx2 sse"
    file.write_text("processor\t: 0\nFeatures\t: fp asimd\n")
    assert cpu.flags(file) == "asimd fp"
    assert cpu.flags(tmp_path / "absent")


@pytest.mark.parametrize(
    ("output", "said"),
    [
        ("OSError: [Errno 28] No space left on device", "disk is full"),
        ("ERROR: THESE PACKAGES DO NOT MATCH THE HASHES", "checksum"),
        ("NewConnectionError: refused\nERROR: No matching distribution found", "not be reached"),
        ("ERROR: No matching distribution found for x", "not offered"),
        ("ERROR: something new", "pip failed"),
    ],
)
def test_failures_of_pip_become_sentences(tmp_path: Path, output: str, said: str) -> None:
    log = tmp_path / "pip.log"
    log.write_text(f"Collecting x\n{output}\n")
    error = pip.failure("Packages", log)
    assert isinstance(error, SetupError)
    assert said in error.message
    assert str(log) in error.hint
