"""`engine.hub.index`: the list of added files survives damage, foreign hands and other processes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from engine.errors import SetupError
from engine.hub.index import FILE_NAME, Entries, Index


def test_paths_come_back_in_order_and_once(tmp_path):
    index = Index(tmp_path / "new")
    assert index.read() == Entries()
    assert not (tmp_path / "new").exists()
    paths = [Path("/b/x.gguf"), Path("/a/x.gguf"), Path(os.fsdecode(b"/\xff\n/\xe6\xa8\xa1.gguf"))]
    for path in [*paths, paths[0]]:
        index.add(path)
    assert Index(tmp_path / "new").read().files == tuple(paths)
    index.remove(paths[0])
    index.remove(Path("/never/added"))
    assert index.read().files == tuple(paths[1:])


def test_folders_and_hidden_models(tmp_path):
    index = Index(tmp_path)
    index.add_folder(Path("/a"))
    index.add_folder(Path("/b"))
    index.add_folder(Path("/a"))
    for name in ("/a/x", "/a/y/z", "/ab/x"):
        index.hide(Path(name))
    index.remove_folder(Path("/a"))
    index.show([Path("/a/x"), Path("/a/y/z"), Path("/never/hidden")])
    assert index.read() == Entries(folders=(Path("/b"),), hidden=(Path("/ab/x"),))


def test_a_list_of_before_there_were_folders_is_good(tmp_path):
    (tmp_path / FILE_NAME).write_bytes(b'{"version": 1, "files": ["/x"]}')
    assert Index(tmp_path).read() == Entries(files=(Path("/x"),))


def test_the_list_does_not_depend_on_the_locale(tmp_path):
    path = tmp_path / "模型.gguf"
    Index(tmp_path).add(path)
    path.write_bytes(b"x")
    code = (
        "import sys; from pathlib import Path; from engine.hub.index import Index\n"
        "(path,) = Index(Path(sys.argv[1])).read().files; print(path.stat().st_size)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, tmp_path],
        env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0"},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert done.stdout == "1\n"


@pytest.mark.parametrize(
    "damage",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"version": 1}',
        b'{"version": 1, "files": [3]}',
        b'{"version": 1, "files": ["\\ud800"]}',
        b'{"version": 2, "files": []}',
        b'{"version": 1, "files": [], "folders": [3]}',
        b'{"version": 1, "files": [], "hidden": {}}',
        b"[" * 100_000,
    ],
)
def test_a_damaged_list_is_set_aside_and_said(tmp_path, damage):
    (tmp_path / FILE_NAME).write_bytes(damage)
    index = Index(tmp_path)
    with pytest.raises(SetupError, match="damaged"):
        index.read()
    assert (tmp_path / "library.broken-1.json").read_bytes() == damage
    assert index.read() == Entries()
    index.add(Path("/x"))
    (tmp_path / FILE_NAME).write_bytes(damage)
    with pytest.raises(SetupError, match=r"library\.broken-2\.json"):
        index.add(Path("/y"))
    assert (tmp_path / "library.broken-1.json").exists()


def test_a_list_that_cannot_be_read_is_left_alone(tmp_path):
    (tmp_path / FILE_NAME).mkdir()
    index = Index(tmp_path)
    for act in (index.read, lambda: index.add(Path("/x")), lambda: index.remove(Path("/x"))):
        with pytest.raises(SetupError):
            act()
    assert [p.name for p in tmp_path.iterdir() if not p.name.startswith(".")] == [FILE_NAME]


def test_a_folder_that_cannot_be_made_is_an_error_in_words(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(SetupError, match="cannot be changed"):
        Index(tmp_path / "file" / "library").add(Path("/x"))


def test_processes_that_add_at_once_lose_nothing(tmp_path):
    code = (
        "import sys; from pathlib import Path; from engine.hub.index import Index\n"
        "index = Index(Path(sys.argv[1]))\n"
        "for i in range(20): index.add(Path(f'/{sys.argv[2]}/{i}'))"
    )
    children = [
        subprocess.Popen([sys.executable, "-c", code, tmp_path, str(number)]) for number in range(3)
    ]
    assert [child.wait(timeout=30) for child in children] == [0, 0, 0]
    files = json.loads((tmp_path / FILE_NAME).read_text("ascii"))["files"]
    assert len(files) == len(set(files)) == 60
