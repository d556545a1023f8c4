"""`engine.hub.foreign`: every program's models are found in place on every system, and nothing there is touched."""

import os
import time
from pathlib import Path

import pytest

from engine.hub import scan
from engine.hub.foreign.folders import ForeignFolders
from engine.hub.foreign.places import Places, System
from engine.hub.library import Library
from engine.hub.verify import Verifier
from tests.helpers.foreign_trees import (
    DEFAULTS,
    checksums,
    everything,
    hf_file,
    jan_model,
    mmproj_bytes,
    model_bytes,
    ollama_model,
    put,
)
from tests.helpers.tiny_gguf import tiny_split

SYSTEMS: list[System] = ["linux", "darwin", "win32"]


def places(home: Path, system: System = "linux", **environment: str) -> Places:
    return Places(system, home, environment, root=home / "root")


def found(where: Places) -> dict[str, list[Path]]:
    """By program the files of its models."""
    models: dict[str, list[Path]] = {}
    for model in ForeignFolders(where).models():
        models.setdefault(model.origin, []).append(model.files.first)
    return models


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("system", SYSTEMS)
def test_each_program_on_each_system(tmp_path, system, links):
    home = tmp_path / "田中\u3000 é 'q\" & %20 #"
    files = everything(home, system, links=links)
    before = checksums(home)
    library = Library(tmp_path / "library", ForeignFolders(places(home, system)))
    models = {model.origin: model for model in library.models()}
    assert {origin: model.path for origin, model in models.items()} == files
    assert {
        model.header.name: model.problem for model in models.values() if model.header
    } == dict.fromkeys(("hf", "lm studio", "ollama", "jan", "gpt4all", "llama.cpp"))
    assert {model.id for model in models.values()} == {
        "cached",
        "studio",
        "llama3.2:1b",
        "nano",
        "four",
        "maker_repo_old",
    }
    assert library.get("maker/repo/sub/cached") == models["Hugging Face"]
    assert library.get("jan/nano") == models["Jan"]
    assert [path.name for path in models["LM Studio"].companions] == ["mmproj-studio.gguf"]
    verifier = Verifier(tmp_path / "checksums.json")
    results = {origin: verifier.verify(model.files) for origin, model in models.items()}
    assert results["Ollama"].state == "ok"
    assert results["Hugging Face"].state == ("ok" if links else "unknown")
    assert results["GPT4All"].state == "unknown"
    for model in models.values():
        assert library.remove(model.id) == "forgotten"
    assert library.models() == []
    assert library.add(files["Ollama"]) == models["Ollama"]
    assert checksums(home) == before


MOVED = {
    "HF_HUB_CACHE": "Hugging Face",
    "HUGGINGFACE_HUB_CACHE": "Hugging Face",
    "OLLAMA_MODELS": "Ollama",
    "JAN_DATA_FOLDER": "Jan",
    "LLAMA_CACHE": "llama.cpp",
}


@pytest.mark.parametrize("system", SYSTEMS)
@pytest.mark.parametrize(("variable", "program"), MOVED.items())
def test_folders_that_a_variable_names(tmp_path, system, variable, program):
    everything(tmp_path / "home", system)
    (tmp_path / "home" / DEFAULTS[system][program]).rename(tmp_path / "moved")
    where = places(tmp_path / "home", system, **{variable: str(tmp_path / "moved")})
    (path,) = found(where)[program]
    assert path.is_relative_to(tmp_path / "moved")


def test_the_systems_own_variables(tmp_path):
    everything(tmp_path / "home", "linux")
    for name in (".cache", ".local/share"):
        (tmp_path / "home" / name).rename(tmp_path / Path(name).name)
    where = places(
        tmp_path / "home",
        XDG_CACHE_HOME=str(tmp_path / ".cache"),
        XDG_DATA_HOME=str(tmp_path / "share"),
    )
    assert set(found(where)) == set(DEFAULTS["linux"])
    everything(tmp_path / "windows", "win32")
    (tmp_path / "windows/AppData").rename(tmp_path / "AppData")
    where = places(
        tmp_path / "windows",
        "win32",
        APPDATA=str(tmp_path / "AppData/Roaming"),
        LOCALAPPDATA=str(tmp_path / "AppData/Local"),
    )
    assert set(found(where)) == set(DEFAULTS["win32"])


def test_the_hub_folder_of_the_settings_and_hf_home(tmp_path):
    ours = hf_file(tmp_path / "ours", "a/b", "m.gguf", model_bytes("ours"))
    theirs = hf_file(tmp_path / "hf/hub", "a/b", "m.gguf", model_bytes("theirs"))
    where = places(tmp_path / "home", HF_HOME=str(tmp_path / "hf"))
    models = ForeignFolders(where, tmp_path / "ours").models()
    assert [model.files.first for model in models] == [ours, theirs]


def test_relative_and_empty_variables_are_passed_over(tmp_path):
    files = everything(tmp_path, "linux")
    where = places(tmp_path, HF_HUB_CACHE="x", OLLAMA_MODELS="", LLAMA_CACHE="..", HF_HOME=" ")
    assert {program: paths[-1] for program, paths in found(where).items()} == files


def test_lm_studio_moved(tmp_path):
    home = tmp_path / "home"
    old = put(home / ".cache/lm-studio/models/a/b/old.gguf", model_bytes("old"))
    new = put(home / ".lmstudio/models/a/b/new.gguf", model_bytes("new"))
    assert set(found(places(home))["LM Studio"]) == {old, new}
    away = put(tmp_path / "away/a/b/away.gguf", model_bytes("away"))
    far = put(tmp_path / "far/models/a/b/far.gguf", model_bytes("far"))
    put(tmp_path / "far/settings.json", f'{{"downloadsFolder": "{tmp_path / "away"}"}}')
    put(home / ".lmstudio-home-pointer", f"{tmp_path / 'far'}\n")
    assert found(places(home))["LM Studio"] == [away, far]
    for nonsense in ("[", "[" * 100_000, "[]", '{"downloadsFolder": 3}', "x" * 300_000):
        put(tmp_path / "far/settings.json", nonsense)
        assert found(places(home))["LM Studio"] == [far]


def test_gpt4all_moved(tmp_path):
    path = put(tmp_path / "models here/m.gguf", model_bytes("m"))
    put(
        tmp_path / "home/.config/nomic.ai/GPT4All.ini",
        f"[General]\nlastVersion=3\nmodelPath={path.parent}/\n",
    )
    assert found(places(tmp_path / "home"))["GPT4All"] == [path]


def test_jan_moved_and_its_hostile_descriptions(tmp_path):
    home = tmp_path / "home"
    path = jan_model(tmp_path / "moved", "a/b", model_bytes("m"), mmproj=mmproj_bytes())
    put(
        home / ".config/Jan/settings.json",
        f'{{"data_folder": "{tmp_path / "moved"}"}}',
    )
    (model,) = ForeignFolders(places(home)).models()
    assert (model.files.first, model.name) == (path, "b")
    assert model.companions == (path.with_name("mmproj.gguf"),)
    folder = tmp_path / "moved/llamacpp/models"
    for text in (
        "",
        "model_path:",
        "model_path: \nname: x",
        "model_path: none.gguf",
        "model_path: a\0b.gguf",
        "model_path: /etc/passwd",
        "model_path: ../../../../../etc/passwd.gguf",
        'model_path: "',
        "model_path: " + "x" * 300_000 + ".gguf",
        "\xff",
    ):
        put(folder / "bad/model.yml", text)
        assert [m.name for m in ForeignFolders(places(home)).models()] == ["b"]
    away = put(tmp_path / "my models/own.gguf", model_bytes("own"))
    put(folder / "bad/model.yml", f'model_path: "{away}"\r\n')
    assert [m.files.first for m in ForeignFolders(places(home)).models()] == [path, away]


def test_ollama_as_a_service(tmp_path):
    blob = ollama_model(
        tmp_path / "root/usr/share/ollama/.ollama/models", "h/library/m/1b", {"model": b"GGUF"}
    )
    assert found(places(tmp_path)) == {"Ollama": [blob]}
    assert found(places(tmp_path, "darwin")) == {}


@pytest.mark.skipif(os.name == "nt", reason="POSIX permissions")
def test_a_shut_folder_hides_only_itself(tmp_path):
    files = everything(tmp_path, "linux")
    shut = [tmp_path / ".ollama/models/manifests", tmp_path / ".lmstudio/models"]
    for folder in (tmp_path, *list(tmp_path.parents)[:2]):
        folder.chmod(0o755)
    for folder in shut:
        folder.chmod(0)
    user = os.geteuid()
    if user == 0:  # root may look everywhere
        os.seteuid(65534)
    folders = ForeignFolders(places(tmp_path))
    try:
        models = {model.origin for model in folders.models()}
    finally:
        os.seteuid(user)
        for folder in shut:
            folder.chmod(0o755)
    assert models == set(files) - {"Ollama", "LM Studio"}
    assert {model.origin for model in folders.models()} == set(files)


def test_split_models_loops_and_deep_folders(tmp_path):
    folder = tmp_path / ".lmstudio/models"
    parts = tiny_split(folder / "maker/repo", "big", 3)
    (folder / "maker/loop").symlink_to(folder)
    (folder / "maker/gone.gguf").symlink_to(folder / "nowhere")
    (folder / "maker/folder.gguf").mkdir()
    put(folder / "1/2/3/4/5/deep.gguf", model_bytes("deep"))
    (model,) = ForeignFolders(places(tmp_path)).models()
    assert [path for _, path in model.files.parts] == parts


def test_folders_are_looked_through_again_only_when_they_changed(tmp_path, monkeypatch):
    monkeypatch.setattr(scan, "SETTLED_NS", 0)
    home = tmp_path / "home"
    everything(home, "linux")
    folders = ForeignFolders(places(home))
    looks: list[Path] = []
    look = scan.Survey.entries
    monkeypatch.setattr(
        scan.Survey, "entries", lambda self, folder: looks.append(folder) or look(self, folder)
    )
    names = {model.name for model in folders.models()}
    assert looks
    settle()
    folders.models()
    looks.clear()
    assert {model.name for model in folders.models()} == names
    assert looks == []
    ollama_model(home / ".ollama/models", "h/library/new/1b", {"model": model_bytes("new")})
    assert {model.name for model in folders.models()} == names | {"new:1b"}
    put(home / ".lmstudio/models/a/b/c.gguf", model_bytes("c"))
    settle()
    assert {model.name for model in folders.models()} == names | {"new:1b", "c"}
    (home / ".lmstudio/models/a/b/c.gguf").unlink()
    assert {model.name for model in folders.models()} == names | {"new:1b"}


def settle() -> None:
    """Let the clock leave the tick in which the last file was written."""
    began = time.time_ns()
    while time.time_ns() - began < 20_000_000:
        os.sched_yield()
