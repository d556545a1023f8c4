"""`engine.hub.library`: listing, finding, adding, removing (cases C25 to C28, C34)."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from engine.errors import InvalidRequest, ModelFormatError, ModelNotFound
from engine.hub import scan
from engine.hub.disk_use import disk_use
from engine.hub.foreign.folders import ForeignFolders
from engine.hub.foreign.places import Places
from engine.hub.library import Library, LibraryModel
from engine.hub.model_defaults import ModelDefaults
from tests.helpers.foreign_trees import (
    OTHER_COMMIT,
    checksums,
    hf_file,
    mmproj_bytes,
    model_bytes,
    ollama_model,
    put,
)
from tests.helpers.tiny_gguf import TINY_TENSORS, gguf_bytes, tiny_model, tiny_split


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "library"


def only(library: Library) -> LibraryModel:
    (model,) = library.models()
    return model


# --- listing -----------------------------------------------------------------------------------------


def test_an_empty_or_missing_library_lists_nothing_and_makes_nothing(root):
    library = Library(root)
    assert library.models() == []
    assert library.notice is None
    assert not root.exists()
    with pytest.raises(ModelNotFound) as caught:
        library.get("x")
    assert "models add" in caught.value.hint


def test_a_model_is_listed_with_what_its_header_says(root):
    path = tiny_model(root / "pub" / "repo" / "tiny.gguf", name="Tiny One")
    os.utime(path, (1_700_000_000, 1_700_000_000))
    model = only(Library(root))
    assert model.id == "tiny"
    assert model.path == path
    assert model.files == (path,)
    assert model.size_bytes == path.stat().st_size
    assert model.modified == 1_700_000_000
    assert (model.name, model.architecture, model.quantization) == ("Tiny One", "llama", "Q4_0")
    assert model.context_length == 256
    assert (model.parts_present, model.parts_total, model.registered) == (1, 1, False)
    assert model.problem is None
    model.ensure_usable()


def test_bad_files_are_listed_with_their_problem_and_break_nothing(root):
    tiny_model(root / "good.gguf")
    (root / "page.gguf").write_bytes(b"<html>")
    (root / "folder.gguf").mkdir()
    (root / "link.gguf").symlink_to(root / "nowhere")
    (root / "lora.gguf").write_bytes(gguf_bytes({"general.type": "adapter"}, TINY_TENSORS))
    (root / "cut.gguf").write_bytes((root / "good.gguf").read_bytes()[:-600])
    problems = {model.id: model.problem for model in Library(root).models()}
    assert problems.pop("good") is None
    words = {
        "page": "web page",
        "folder": "folder",
        "link": "not there",
        "lora": "adapter",
        "cut": "incomplete",
    }
    assert {name: word for name, word in words.items() if word in str(problems[name])} == words
    assert len(set(problems.values())) == 5
    with pytest.raises(ModelFormatError, match="web page"):
        Library(root).get("page").ensure_usable()


def test_headers_are_read_again_only_when_a_file_changed(root):
    path = tiny_model(root / "m.gguf", name="One")
    library = Library(root)
    first = only(library)
    assert only(library).header is first.header
    tiny_model(path, name="Another")
    assert only(library).name == "Another"
    path.write_bytes(b"")
    assert "empty" in str(only(library).problem)
    tiny_model(path, name="Back")
    assert only(library).problem is None


# --- names -------------------------------------------------------------------------------------------


def test_equal_names_are_different_models(root):
    paths = [root / "a/m/model.gguf", root / "b/m/model.gguf", root / "a/m/sub/model.gguf"]
    for path in paths:
        tiny_model(path, name=str(path.relative_to(root).parent))
    library = Library(root)
    models = {model.id: model for model in library.models()}
    assert set(models) == {"a/m/model", "b/m/model", "sub/model"}
    assert {model.name for model in models.values()} == {"a/m", "b/m", "a/m/sub"}
    assert library.get("a/m/sub/model.gguf").path == paths[2]
    with pytest.raises(ModelNotFound, match="several") as caught:
        library.get("model")
    assert "a/m/model, b/m/model, sub/model" in caught.value.hint


NAMES = [
    "模型 😊.gguf",
    "é 'q\" & %20 #.gguf",
    "cafe\u0301.gguf",
    "a\nb.gguf",
    os.fsdecode(b"\xff.gguf"),
    "Case.gguf",
    "case.gguf",
    "-rf.gguf",
    "$(x).gguf",
    "x" * 250 + ".gguf",
]


def test_every_legal_name_can_be_listed_and_asked_for(root):
    folder = root / "田中\u3000 é 'q\" & %20 #"
    for number, name in enumerate(NAMES):
        tiny_model(folder / name, name=str(number))
    library = Library(root)
    models = library.models()
    assert {int(str(model.name)) for model in models} == set(range(len(NAMES)))
    for model in models:
        assert library.get(model.id).path == model.path
        assert library.get(model.id + ".gguf").path == model.path
        assert msgspec.json.decode(msgspec.json.encode(model.id)) == model.id
        assert len(model.id.splitlines()) == 1


LIST = """
import json, sys
from pathlib import Path
from engine.hub.library import Library
library = Library(Path(sys.argv[1]))
print(json.dumps([[model.id, model.problem, library.get(model.id).id] for model in library.models()]))
"""


def test_ids_do_not_depend_on_the_locale(root):
    for name in NAMES:
        tiny_model(root / name)
    outputs = [
        subprocess.run(
            [sys.executable, "-c", LIST, root],
            env={**os.environ, **locale},
            capture_output=True,
            text=True,
            timeout=30,
            check=True,
        ).stdout
        for locale in ({"PYTHONUTF8": "1"}, {"LC_ALL": "C", "PYTHONUTF8": "0"})
    ]
    assert outputs[0] == outputs[1]


WALKS_OUT = [
    "..",
    "../canary",
    "a/../../canary",
    "..%2fcanary",
    "..\\canary",
    "./good",
    ".",
    "/",
    "~",
]
NO_NAMES = ["", "/etc/passwd", "CON", "canary.", "\0", "good\0", "\udcff", "x" * 300]


@pytest.mark.parametrize("wanted", WALKS_OUT + NO_NAMES)
def test_a_name_is_never_a_path(tmp_path, root, wanted):
    tiny_model(root / "good.gguf")
    canary = tiny_model(tmp_path / "canary.gguf")
    library = Library(root)
    for act in (library.get, library.remove):
        with pytest.raises(ModelNotFound) as caught:
            act(wanted)
        assert caught.value.hint == "Choose one of: good."
        caught.value.message.encode("utf-8")
        assert len(caught.value.message) < 500
    assert canary.exists()
    assert (root / "good.gguf").exists()


# --- models in parts ---------------------------------------------------------------------------------


def test_a_split_model_is_one_entry(root):
    paths = tiny_split(root, "big", 3)
    model = only(Library(root))
    assert model.id == "big"
    assert model.path == paths[0]
    assert model.files == tuple(paths)
    assert model.size_bytes == sum(path.stat().st_size for path in paths)
    assert (model.parts_present, model.parts_total, model.problem) == (3, 3, None)
    assert model.architecture == "llama"


@pytest.mark.parametrize("missing", [1, 2, 3])
def test_a_missing_part_is_named(root, missing):
    tiny_split(root, "big", 3)[missing - 1].unlink()
    model = only(Library(root))
    assert (model.id, model.parts_present, model.parts_total) == ("big", 2, 3)
    assert str(model.problem).startswith(f"2 of 3 parts present: missing {missing}.")
    assert model.path.name == "big-00001-of-00003.gguf"


def test_a_cut_off_part_is_noticed(root):
    path = tiny_split(root, "big", 3)[1]
    path.write_bytes(path.read_bytes()[:-200])
    assert "big-00002-of-00003.gguf is incomplete" in str(only(Library(root)).problem)


def test_a_renamed_part_is_explained(root):
    paths = tiny_split(root, "big", 3)
    paths[0].rename(root / "first.gguf")
    models = {model.id: model for model in Library(root).models()}
    assert "2 of 3 parts" in str(models["big"].problem)
    assert "part 1 of 3 of a model, under another name" in str(models["first"].problem)


def test_swapped_parts_are_noticed(root):
    paths = tiny_split(root, "big", 3)
    paths[2].rename(root / "kept")
    paths[1].rename(paths[2])
    (root / "kept").rename(paths[1])
    assert "its name says otherwise" in str(only(Library(root)).problem)


def test_parts_joined_with_cat_are_explained(root):
    paths = tiny_split(root, "big", 3)
    (root / "joined.gguf").write_bytes(b"".join(path.read_bytes() for path in paths))
    problem = str(Library(root).get("joined").problem)
    assert "the 3 parts of a split model joined" in problem
    assert "--merge" in problem


# --- adding ------------------------------------------------------------------------------------------


def test_a_file_from_elsewhere_stays_where_it_is(tmp_path, root):
    path = tiny_model(tmp_path / "elsewhere" / "m.gguf")
    model = Library(root).add(path)
    assert (model.id, model.path, model.registered) == ("m", path, True)
    assert Library(root).add(path) == model
    assert only(Library(root)) == model
    assert Library(root).remove("m") == "forgotten"
    assert Library(root).models() == []
    assert path.exists()


def test_a_file_inside_is_just_returned(tmp_path, root):
    path = tiny_model(root / "m.gguf")
    library = Library(root)
    (tmp_path / "link").symlink_to(root)
    for spelled in (path, root / "x" / ".." / "m.gguf", tmp_path / "link" / "m.gguf"):
        (root / "x").mkdir(exist_ok=True)
        model = library.add(spelled)
        assert (model.path, model.registered) == (path, False)
    assert not (root / "library.json").exists()


def test_a_file_too_deep_in_the_folder_is_registered(root):
    path = tiny_model(root / "1/2/3/4/5/m.gguf")
    assert Library(root).add(path).registered


@pytest.mark.parametrize("chosen", [0, 1, 2])
def test_any_part_adds_the_whole_set(tmp_path, root, chosen):
    paths = tiny_split(tmp_path / "elsewhere", "big", 3)
    model = Library(root).add(paths[chosen])
    assert (model.path, model.files, model.registered) == (paths[0], tuple(paths), True)


def test_what_is_no_model_is_not_added(tmp_path, root):
    (tmp_path / "page.gguf").write_bytes(b"<html>")
    (tmp_path / "lora.gguf").write_bytes(gguf_bytes({"general.type": "adapter"}, TINY_TENSORS))
    parts = tiny_split(tmp_path, "big", 2)
    parts[1].unlink()
    for name, word in (
        ("page.gguf", "web page"),
        ("lora.gguf", "adapter"),
        (parts[0].name, "1 of 2"),
    ):
        with pytest.raises(ModelFormatError, match=word):
            Library(root).add(tmp_path / name)
    for name in (".", "none.gguf", "nul\0.gguf", "x" * 300):
        with pytest.raises(InvalidRequest) as caught:
            Library(root).add(tmp_path / name)
        assert caught.value.details["param"] == "path"
    assert Library(root).models() == []


def test_a_registered_file_that_is_away_stays_listed(tmp_path, root):
    paths = tiny_split(tmp_path / "share", "big", 2)
    library = Library(root)
    library.add(paths[1])
    library.add(tiny_model(tmp_path / "share" / "m.gguf"))
    (tmp_path / "share").rename(tmp_path / "away")
    assert {model.id for model in library.models()} == {"big", "m"}
    for model in library.models():
        assert "not there" in str(model.problem)
        assert (model.size_bytes, model.modified, model.parts_present) == (0, 0, 0)
    (tmp_path / "away").rename(tmp_path / "share")
    assert [model.problem for model in library.models()] == [None, None]
    (tmp_path / "share").rename(tmp_path / "away")
    assert library.remove("m") == "forgotten"


def test_a_library_that_is_away_comes_back_whole(tmp_path, root):
    library = Library(root)
    library.add(tiny_model(tmp_path / "m.gguf"))
    root.rename(tmp_path / "away")
    assert library.models() == []
    (tmp_path / "away").rename(root)
    assert only(library).id == "m"


def test_a_damaged_list_is_noticed_and_the_folder_still_listed(root):
    tiny_model(root / "m.gguf")
    (root / "library.json").write_bytes(b"{")
    library = Library(root)
    assert only(library).id == "m"
    assert "library.broken-1.json" in str(library.notice)


def test_a_folder_that_is_a_file_is_noticed(tmp_path):
    (tmp_path / "file").write_bytes(b"")
    library = Library(tmp_path / "file")
    assert library.models() == []
    assert library.notice


# --- removing ----------------------------------------------------------------------------------------

REMOVE = """
import sys
from pathlib import Path
from engine.hub.library import Library
print(Library(Path(sys.argv[1])).remove(sys.argv[2]))
"""


def remove(root: Path, name: str) -> str:
    """In a process whose trash lies beside the library."""
    return subprocess.run(
        [sys.executable, "-c", REMOVE, root, name],
        env={**os.environ, "HOME": str(root.parent), "XDG_DATA_HOME": str(root.parent / "share")},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    ).stdout.strip()


def contents(folder: Path) -> dict[str, str]:
    return {str(p): hashlib.sha256(p.read_bytes()).hexdigest() for p in folder.rglob("*.gguf")}


@pytest.mark.skipif(sys.platform != "linux", reason="the freedesktop trash")
def test_removing_one_of_equal_names_leaves_the_others(root):
    for name in ("a/m/model.gguf", "b/m/model.gguf", "a/m/sub/model.gguf"):
        tiny_model(root / name, name=name)
    before = contents(root)
    assert remove(root, "a/m/model") == "trashed"
    del before[str(root / "a/m/model.gguf")]
    assert contents(root) == before
    assert (root / "a/m").is_dir()


@pytest.mark.skipif(sys.platform != "linux", reason="the freedesktop trash")
def test_removing_a_split_model_removes_every_part(root):
    tiny_split(root, "big", 3)
    tiny_model(root / "big.gguf")
    assert remove(root, "big-00001-of-00003.gguf") == "trashed"
    assert [path.name for path in root.rglob("*.gguf")] == ["big.gguf"]


def test_links_are_not_followed_when_removing(tmp_path, root):
    target = tiny_model(tmp_path / "elsewhere" / "m.gguf")
    root.mkdir()
    (root / "link.gguf").symlink_to(target)
    (root / "away").symlink_to(target.parent)
    library = Library(root)
    assert library.remove("link") == "unlinked"
    with pytest.raises(InvalidRequest):
        library.remove("m")
    assert target.exists()


# --- folders, and other programs' models -------------------------------------------------------------


def with_programs(tmp_path: Path, root: Path, hub: Path | None = None) -> Library:
    return Library(root, ForeignFolders(Places("linux", tmp_path / "home", {}, tmp_path), hub))


def names(library: Library) -> dict[str, str]:
    return {model.id: model.origin for model in library.models()}


def test_a_folder_is_found_in_place(tmp_path, root):
    folder = tmp_path / "my models"
    (folder / "a").mkdir(parents=True)
    (folder / "a/one.gguf").symlink_to(tiny_model(tmp_path / "behind a link"))
    tiny_split(folder, "big", 2)
    put(folder / "notes.txt", b"")
    before = checksums(folder)
    library = Library(root)
    model = library.add(folder)
    assert (model.path.is_relative_to(folder), model.problem, model.registered) == (
        True,
        None,
        True,
    )
    assert names(library) == names(Library(root)) == {"big": "added", "one": "added"}
    assert library.folders == [folder]
    tiny_model(folder / "b/two.gguf")
    assert set(names(library)) == {"big", "one", "two"}
    (folder / "b/two.gguf").unlink()
    assert library.remove("one") == "forgotten"
    assert set(names(library)) == {"big"}
    assert library.add(folder / "a/one.gguf").id == "one"
    library.remove("big")
    library.remove("one")
    assert library.models() == []
    library.add(folder)
    assert set(names(library)) == {"big", "one"}
    library.remove_folder(folder)
    assert library.models() == library.folders == []
    (folder / "b").rmdir()
    assert {path: what for path, (_, what) in checksums(folder).items()} == {
        path: what for path, (_, what) in before.items()
    }


def test_folders_that_are_not_added(tmp_path, root):
    root.mkdir()
    put(tmp_path / "bad/page.gguf", b"<html>")
    put(tmp_path / "bad/half.gguf.part", model_bytes("half"))
    (tmp_path / "empty").mkdir()
    for folder in (tmp_path / "bad", tmp_path / "empty", tmp_path, root, Path("/")):
        with pytest.raises(InvalidRequest) as caught:
            Library(root).add(folder)
        assert caught.value.hint
    assert not (root / "library.json").exists()


def test_models_of_programs_are_listed_last_and_once(tmp_path, root):
    home = tmp_path / "home"
    content = model_bytes("shared")
    cached = hf_file(home / ".cache/huggingface/hub", "maker/repo", "m.gguf", content)
    hf_file(home / ".cache/huggingface/hub", "maker/repo", "m.gguf", content, commit=OTHER_COMMIT)
    blob = ollama_model(home / ".ollama/models", "h/library/llama3.2/1b", {"model": content})
    linked = home / ".lmstudio/models/maker/repo/linked.gguf"
    linked.parent.mkdir(parents=True)
    linked.symlink_to(blob)
    library = with_programs(tmp_path, root)
    assert names(library) == {"m": "Hugging Face", "linked": "LM Studio"}
    cached.resolve().unlink()
    assert names(library) == {"linked": "LM Studio"}
    linked.unlink()
    assert names(library) == {"llama3.2:1b": "Ollama"}
    root.mkdir()
    os.link(blob, root / "own.gguf")
    assert names(library) == {"own": ""}


def test_a_hidden_model_stays_hidden_in_every_place(tmp_path, root):
    home = tmp_path / "home"
    hub = home / ".cache/huggingface/hub"
    cached = hf_file(hub, "maker/repo", "m.gguf", model_bytes("m"))
    ollama_model(home / ".ollama/models", "h/library/m/1b", {"model": model_bytes("m")})
    library = with_programs(tmp_path, root)
    assert library.remove("m") == "forgotten"
    assert library.models() == with_programs(tmp_path, root).models() == []
    hf_file(hub, "maker/repo", "m.gguf", model_bytes("m"), commit=OTHER_COMMIT)
    assert library.models() == []
    assert library.add(cached).origin == "Hugging Face"
    assert names(library) == {"m": "Hugging Face"}
    assert library.add(cached.resolve()).path == cached
    assert names(library) == {"m": "Hugging Face"}


def test_equal_names_of_programs_are_told_apart(tmp_path, root):
    home = tmp_path / "home"
    hub = home / ".cache/huggingface/hub"
    for repo in ("a/m", "b/m"):
        hf_file(hub, repo, "model.gguf", model_bytes(repo))
    hf_file(hub, "a/m", "model.gguf", model_bytes("before"), commit=OTHER_COMMIT)
    for store, tag in ((home / ".ollama/models", "1b"), (tmp_path / "var/lib/ollama/models", "1b")):
        ollama_model(store, f"h/library/x/{tag}", {"model": model_bytes(str(store))})
    ollama_model(home / ".ollama/models", "h/me/x/1b", {"model": model_bytes("me")})
    ollama_model(home / ".ollama/models", "h/library/y/latest", {"model": model_bytes("y")})
    library = with_programs(tmp_path, root)
    models = {model.id: model for model in library.models()}
    assert len(models) == 7
    assert set(models) >= {"a/m/model", "b/m/model", "me/x:1b", "y:latest"}
    assert library.get("b/m/model.gguf").name == "b/m"
    assert library.get("y").id == "y:latest"
    for model in models.values():
        assert library.get(model.id) == model


def test_what_programs_suggest_and_what_belongs_to_a_model(tmp_path, root):
    home = tmp_path / "home"
    parts = {"model": model_bytes("m"), "projector": mmproj_bytes(), "system": b"Be brief."}
    ollama_model(home / ".ollama/models", "h/library/m/1b", parts)
    put(
        home / ".lmstudio/models/a/b/lora.gguf",
        gguf_bytes({"general.type": "adapter"}, TINY_TENSORS),
    )
    put(root / "sees/one.gguf", model_bytes("one"))
    put(root / "sees/mmproj.gguf", mmproj_bytes("a"))
    put(root / "alone/eyes.gguf", mmproj_bytes("b"))
    models = {model.id: model for model in with_programs(tmp_path, root).models()}
    assert set(models) == {"m:1b", "one", "eyes"}
    assert models["m:1b"].suggested == ModelDefaults(system="Be brief.")
    assert models["m:1b"].companions[0].read_bytes() == mmproj_bytes()
    assert models["one"].companions == (root / "sees/mmproj.gguf",)
    assert "image part" in str(models["eyes"].problem)


def test_files_of_programs_are_never_deleted(tmp_path, root):
    home = tmp_path / "home"
    ollama_model(home / ".ollama/models", "h/library/m/1b", {"model": model_bytes("m")})
    put(home / ".lmstudio/models/a/b/studio.gguf", model_bytes("studio"))
    before = checksums(home)
    library = with_programs(tmp_path, root)
    for name, program in (("m:1b", "Ollama"), ("studio", "LM Studio")):
        with pytest.raises(InvalidRequest, match=program):
            library.remove(name, delete_file=True)
    assert set(names(library)) == {"m:1b", "studio"}
    assert checksums(home) == before


REMOVE_ALL = """
import sys
from pathlib import Path
from engine.hub.foreign.folders import ForeignFolders
from engine.hub.foreign.places import Places
from engine.hub.library import Library
home = Path(sys.argv[2])
library = Library(Path(sys.argv[1]), ForeignFolders(Places("linux", home, {}, home), home / "ours"))
for name in sys.argv[3:]: print(library.remove(name, delete_file=True))
print([model.id for model in library.models()])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="the freedesktop trash")
def test_asked_for_files_go_to_the_trash(tmp_path, root):
    home = tmp_path / "home"
    added = tiny_model(tmp_path / "elsewhere/added.gguf")
    canary = tiny_model(tmp_path / "elsewhere/canary.gguf", name="canary")
    folder = tiny_split(tmp_path / "folder", "big", 2)
    for path in tiny_split(tmp_path / "made", "split", 2):
        hf_file(home / "ours", "a/b", path.name, path.read_bytes())
    hf_file(home / "ours", "a/b", "kept.gguf", model_bytes("kept"))
    library = Library(root)
    library.add(added)
    library.add(tmp_path / "folder")
    done = subprocess.run(
        [sys.executable, "-c", REMOVE_ALL, root, home, "added", "big", "split"],
        env={**os.environ, "HOME": str(home), "XDG_DATA_HOME": str(tmp_path / "share")},
        capture_output=True,
        text=True,
        timeout=30,
        check=True,
    )
    assert done.stdout.splitlines() == ["trashed", "trashed", "trashed", "['kept']"]
    assert len(list((tmp_path / "share/Trash/files").iterdir())) == 5
    assert canary.exists()
    assert not any(path.exists() for path in (added, *folder))
    assert len(list((home / "ours/models--a--b/blobs").iterdir())) == 1


def test_disk_use_counts_shared_files_once(tmp_path, root):
    home = tmp_path / "home"
    own = tiny_model(root / "own.gguf")
    os.link(own, root / "twin.gguf")
    put(root / "eyes.gguf", mmproj_bytes())
    parts = {"model": model_bytes("m"), "projector": mmproj_bytes("x")}
    ollama_model(home / ".ollama/models", "h/library/m/1b", parts)
    library = with_programs(tmp_path, root)
    library.add(tiny_model(tmp_path / "away.gguf", name="away"))
    (tmp_path / "away.gguf").unlink()
    size, eyes = own.stat().st_size, len(mmproj_bytes())
    theirs = sum(map(len, parts.values()))
    use = disk_use(library.models())
    assert use.models == {"own": size + eyes, "twin": size + eyes, "m:1b": theirs, "away": 0}
    assert use.origins == {"": size + eyes, "added": 0, "Ollama": theirs}
    assert use.total == size + eyes + theirs


def test_a_known_library_is_not_looked_through_again(tmp_path, root, monkeypatch):
    monkeypatch.setattr(scan, "SETTLED_NS", 0)
    for number in range(200):
        tiny_model(root / f"{number % 10}/m{number}.gguf")
    library = Library(root)
    first = library.models()
    monkeypatch.setattr(scan.os, "scandir", None)
    assert library.models() == first
    monkeypatch.undo()
    (root / "3/m3.gguf").unlink()
    assert len(library.models()) == 199
