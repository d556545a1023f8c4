"""One window for each data folder, however the starts fall."""

import subprocess
import sys
from pathlib import Path

import pytest

from app.single_instance import SingleInstance

pytestmark = pytest.mark.gui
ROOT = Path(__file__).parents[2]

START = """
import sys
from PySide6.QtCore import QCoreApplication
from app.single_instance import SingleInstance
app = QCoreApplication([])
instance = SingleInstance(sys.argv[1])
asked = []
instance.activated.connect(lambda: asked.append(1) or (len(asked) == 3 and app.quit()))
print("up", flush=True)
sys.stdin.readline()  # nobody leaves before everybody has come
if instance.is_first and len(sys.argv) > 2:
    app.exec()
print("first" if instance.is_first else "second", flush=True)
"""


def start(folder: Path, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", START, str(folder), *more],
        cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip


def test_of_four_starts_in_one_instant_one_is_first_and_hears_the_others(tmp_path: Path) -> None:
    starts = [start(tmp_path, "listen") for _ in range(4)]
    try:
        said = [process.communicate("\n", timeout=30)[0].split()[-1] for process in starts]
    finally:
        for process in starts:
            process.kill()
    assert sorted(said) == ["first", "second", "second", "second"]


def test_a_killed_first_one_leaves_the_place(tmp_path: Path, qapp) -> None:
    killed = start(tmp_path)
    try:
        assert killed.stdout is not None
        assert killed.stdout.readline() == "up\n"
    finally:
        killed.kill()
        killed.communicate()
    instance = SingleInstance(str(tmp_path))
    assert instance.is_first
    instance.close()


def test_each_folder_has_its_own_window(tmp_path: Path, qapp) -> None:
    one, two = SingleInstance(str(tmp_path / "1")), SingleInstance(str(tmp_path / "2"))
    assert (one.is_first, two.is_first) == (True, True)
    one.close()
    again = SingleInstance(str(tmp_path / "1"))
    assert again.is_first
    for instance in (again, two):
        instance.close()
