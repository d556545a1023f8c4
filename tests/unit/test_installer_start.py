"""The fast path, the stamp, and the parts of set-up that need neither network nor compiler."""

import ast
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from engine.errors import SetupError
from installer import bootstrap, checks, environment, layout, mutex, process, relock, stamp
from installer.progress import Line


@pytest.fixture
def venv(tmp_path: Path) -> Path:
    """An environment whose interpreter prints its arguments."""
    folder = tmp_path / "a venv"
    python = layout.python(folder)
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\nprintf "%s|" "$PWD" "$@"\n')
    python.chmod(0o755)
    return folder


def start(venv: Path, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    env = {
        **os.environ,
        layout.VENV_VARIABLE: str(venv),
        layout.CACHE_VARIABLE: str(cwd / "cache"),
        "PATH": "/nowhere",
    }
    command = [sys.executable, str(layout.ROOT / "installer"), *arguments]
    return subprocess.run(command, env=env, cwd=cwd, capture_output=True, text=True, timeout=30)


def test_a_second_start_goes_straight_to_the_app(venv: Path, tmp_path: Path) -> None:
    stamp.write([stamp.BASE], venv)
    done = start(venv, "chat", "two words", "--max-tokens", "8", cwd=tmp_path)
    assert done.stdout == f"{tmp_path}|-P|-m|app|chat|two words|--max-tokens|8|"
    assert done.stderr == ""
    assert not (tmp_path / "cache").exists()


def test_tests_run_in_the_repository(venv: Path, tmp_path: Path) -> None:
    stamp.write([stamp.BASE, stamp.TEST, stamp.QT, stamp.TORCH], venv)
    done = start(venv, "test", "-k", "x", cwd=tmp_path)
    assert done.stdout == f"{layout.ROOT}|-m|pytest|-k|x|"


def test_a_stamp_of_other_parts_or_another_interpreter_does_not_count(venv: Path) -> None:
    stamp.write([stamp.BASE, stamp.TEST], venv)
    assert stamp.current([stamp.BASE], venv)
    assert not stamp.current([stamp.BASE, stamp.QT], venv)
    python = layout.python(venv)
    python.write_text(python.read_text() + "# upgraded\n")
    assert not stamp.current([stamp.BASE], venv)
    assert not stamp.current([stamp.TEST], venv)


def test_an_interrupted_change_is_seen(venv: Path) -> None:
    stamp.write([stamp.BASE], venv)
    stamp.begin(venv)
    assert stamp.unfinished(venv)
    assert not stamp.current([stamp.BASE], venv)
    assert stamp.read(venv) == {}
    assert not environment.works(venv)


def test_a_folder_of_something_else_is_not_touched(tmp_path: Path) -> None:
    environment.refuse_foreign(tmp_path / "absent")
    (tmp_path / "precious").touch()
    with pytest.raises(SetupError, match="not a virtual environment"):
        environment.refuse_foreign(tmp_path)


def test_entry_point_is_readable_for_old_pythons() -> None:
    source = (layout.ROOT / "installer" / "__main__.py").read_text()
    ast.parse(source, feature_version=(3, 5))


def test_set_up_needs_the_standard_library_only() -> None:
    modules = [path.stem for path in (layout.ROOT / "installer").glob("*.py")]
    wanted = [f"installer.{name}" for name in modules if not name.startswith("__")]
    script = f"import sys; sys.path.insert(0, sys.argv[1]); import {', '.join(wanted)}"
    command = [sys.executable, "-I", "-S", "-c", script, str(layout.ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr


def test_follow_reports_every_line_and_the_exit_code(tmp_path: Path) -> None:
    log = tmp_path / "log"
    seen: list[str] = []
    script = "import sys; print('out'); print('err', file=sys.stderr); sys.exit(3)"
    code = process.follow(
        [sys.executable, "-u", "-c", script], log=log, env=dict(os.environ), on_line=seen.append
    )
    assert code == 3
    assert seen == ["out\n", "err\n"]
    assert log.read_text() == "out\nerr\n"


def test_follow_ends_the_command_when_it_is_left(tmp_path: Path) -> None:
    def stop(_line: str) -> None:
        raise KeyboardInterrupt

    script = "import os, subprocess, sys; print(os.getpid(), flush=True); subprocess.run(['sleep', '60'])"
    log = tmp_path / "log"
    with pytest.raises(KeyboardInterrupt):
        process.follow([sys.executable, "-c", script], log=log, env=dict(os.environ), on_line=stop)
    with pytest.raises(ProcessLookupError):
        os.kill(int(log.read_text()), 0)


def test_the_tail_of_a_log_starts_at_the_first_error(tmp_path: Path) -> None:
    log = tmp_path / "log"
    log.write_text("".join(f"[{i}/90] c++\n" for i in range(40)))
    assert process.tail(log, 2) == ["[38/90] c++", "[39/90] c++"]
    log.write_text("[1/9] c++\na.cpp:1: error: no\nnote\nmore\n")
    assert process.tail(log, 2) == ["a.cpp:1: error: no", "note"]


def test_two_set_ups_exclude_each_other(tmp_path: Path) -> None:
    lock = tmp_path / "cache" / "lock"
    waited, entered = threading.Event(), threading.Event()

    def second() -> None:
        with mutex.held(lock, waiting=waited.set):
            entered.set()

    with mutex.held(lock, waiting=pytest.fail):
        thread = threading.Thread(target=second)
        thread.start()
        assert waited.wait(10)
        assert not entered.is_set()
    assert entered.wait(10)
    thread.join(10)


def test_lock_files_pin_and_hash_everything_and_name_no_host() -> None:
    locks = {path.name: path.read_text() for path in layout.LOCKS.glob("*.txt")}
    assert set(locks) == {"base.txt", "test.txt", "llama.txt", "build.txt", "pip.txt"}
    for name, text in locks.items():
        assert not checks.names_host(text), name
        blocks = text.replace("\\\n", " ").splitlines()[1:]
        assert all("==" in block and "--hash=sha256:" in block for block in blocks), name
    assert locks["llama.txt"].splitlines()[1].startswith(relock.engine_requirement())
    assert relock.ENGINE not in locks["base.txt"] + locks["test.txt"]
    assert not any("torch==" in text for text in locks.values())


def test_the_test_lock_holds_the_base_lock() -> None:
    base, test = (pins((layout.LOCKS / name).read_text()) for name in ("base.txt", "test.txt"))
    assert base < test


def test_hosts_in_lock_files_are_seen() -> None:
    assert checks.names_host("--index-url https://example.org/simple\na==1")
    assert checks.names_host("a @ https://example.org/a.whl")
    assert not checks.names_host("a==1 ; python_full_version < '3.12' \\\n    --hash=sha256:00")


def test_check_refuses_arguments_it_does_not_know(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert checks.main(["--fix", "--fast"], tmp_path) == 2
    assert "--fast" in capsys.readouterr().err


def test_progress_line_goes_to_standard_error_by_default(
    capsys: pytest.CaptureFixture[str],
) -> None:
    Line().say("set-up speaks here")
    assert capsys.readouterr() == ("", "set-up speaks here\n")


def pins(lock: str) -> set[str]:
    return {line.split(" ")[0] for line in lock.splitlines() if "==" in line}


@pytest.mark.parametrize(
    ("argv", "environment", "parts"),
    [
        ([], {}, [stamp.BASE]),
        ([], {"DISPLAY": ":0"}, [stamp.BASE, stamp.QT, stamp.X11]),
        ([], {"QT_QPA_PLATFORM": "offscreen"}, [stamp.BASE, stamp.QT]),
        (["--data-dir", "x"], {"WAYLAND_DISPLAY": "w"}, [stamp.BASE, stamp.QT]),
        (["chat", "hi"], {"DISPLAY": ":0"}, [stamp.BASE]),
        (["--serve"], {"DISPLAY": ":0"}, [stamp.BASE]),
    ],
)
def test_only_a_window_needs_qt_s_libraries(
    argv: list[str], environment: dict[str, str], parts: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert bootstrap._parts(argv) == parts
