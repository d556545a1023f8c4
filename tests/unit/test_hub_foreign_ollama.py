"""`engine.hub.foreign.ollama`: manifests to blobs, what is taken over, and manifests that lie."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from engine.hub.foreign.ollama import find
from engine.hub.model_defaults import ModelDefaults
from engine.hub.scan import Survey
from tests.helpers.foreign_trees import mmproj_bytes, model_bytes, ollama_blob, ollama_model, put

KIND = "application/vnd.ollama.image."


def found(models: Path) -> dict[str, Path]:
    return {model.name: model.files.first for model in find(Survey(), models)}


def test_names_and_places(tmp_path):
    for name in (
        "registry.example/library/llama3.2/latest",
        "registry.example/me/mine/v1",
        "hf.example/maker/Repo-GGUF/Q4_K_M",
        "host:5000/m/t",
    ):
        ollama_model(tmp_path, name, {"model": model_bytes(name)})
    assert {(model.name, str(model.place)) for model in find(Survey(), tmp_path)} == {
        ("llama3.2:latest", "/Ollama/registry.example/library/llama3.2:latest"),
        ("mine:v1", "/Ollama/registry.example/me/mine:v1"),
        ("Repo-GGUF:Q4_K_M", "/Ollama/hf.example/maker/Repo-GGUF:Q4_K_M"),
        ("m:t", "/Ollama/host:5000/m:t"),
    }


def test_what_is_taken_over(tmp_path):
    params = {
        "temperature": 0.2,
        "top_k": 20,
        "repeat_penalty": 1.1,
        "num_ctx": 8192,
        "stop": ["<|a|>", "<|b|>"],
        "min_p": 7.0,
        "top_p": "wrong",
        "repeat_last_n": -1,
        "num_gpu": 99,
        "backend": "fake",
        "system": "from the parameters",
    }
    parts = {
        "model": model_bytes("m"),
        "projector": mmproj_bytes(),
        "params": json.dumps(params).encode(),
        "system": "Be brief, 简短.\n".encode(),
        "template": b"{{ .Prompt }}",
    }
    ollama_model(tmp_path, "h/library/m/1b", parts)
    (model,) = find(Survey(), tmp_path)
    assert model.suggested == ModelDefaults(
        temperature=0.2,
        top_k=20,
        repetition_penalty=1.1,
        context=8192,
        stop=("<|a|>", "<|b|>"),
        system="Be brief, 简短.",
    )
    assert [path.read_bytes() for path in model.companions] == [mmproj_bytes()]
    assert model.sha256 == model.files.first.name.removeprefix("sha256-")


@pytest.mark.parametrize("params", [b"[]", b"{", b"\xff", b"[" * 90_000, b'{"temperature": 1e999}'])
def test_parameters_that_make_no_sense_cost_only_themselves(tmp_path, params):
    ollama_model(tmp_path, "h/library/m/1b", {"model": model_bytes("m"), "params": params})
    (model,) = find(Survey(), tmp_path)
    assert model.suggested == ModelDefaults()


def layer(kind: str = "model", **changes: Any) -> dict[str, Any]:
    return {"mediaType": KIND + kind, "digest": f"sha256:{'0' * 64}", "size": 4} | changes


LIES = [
    b"",
    b"{",
    b"[]",
    b"null",
    b"\xff\xfe",
    b"[" * 100_000,
    b'{"a":' * 40_000,
    b" " * 300_000,
    json.dumps({"layers": [layer()]}).encode(),
    json.dumps({"layers": []}).encode(),
    json.dumps({"layers": {}}).encode(),
    json.dumps({"layers": [1]}).encode(),
    json.dumps({"layers": [layer(size="4")]}).encode(),
    json.dumps({"layers": [layer(size=2**70)]}).encode(),
    json.dumps({"layers": [layer(size=-1)]}).encode(),
    json.dumps({"layers": [layer(digest="sha256:../../../canary")]}).encode(),
    json.dumps({"layers": [layer(digest="../../canary")]}).encode(),
    json.dumps({"layers": [layer(digest="/etc/passwd")]}).encode(),
    json.dumps({"layers": [layer(digest="sha256:" + "0" * 63 + "\n")]}).encode(),
    json.dumps({"layers": [layer(digest="sha256:" + "A" * 64)]}).encode(),
    json.dumps({"layers": [layer()] * 1000}).encode(),
]


@pytest.mark.parametrize("manifest", LIES)
def test_manifests_that_lie_name_no_model(tmp_path, manifest):
    models = tmp_path / "models"
    put(tmp_path / "canary", b"GGUF")
    put(models / "canary", b"GGUF")
    good = ollama_model(models, "h/library/good/1b", {"model": model_bytes("good")})
    put(models / "manifests/h/library/bad/1b", manifest)
    assert found(models) == {"good:1b": good}


def test_a_blob_of_another_size_does_not_count(tmp_path):
    blob = ollama_model(tmp_path, "h/library/m/1b", {"model": model_bytes("m")})
    blob.write_bytes(blob.read_bytes()[:-1])
    assert found(tmp_path) == {}


def test_other_formats_and_bad_neighbours_are_passed_over(tmp_path):
    good = ollama_blob(tmp_path, model_bytes("m"))
    for name, layers in {
        "tensors": [layer("tensor", **ollama_blob(tmp_path, b"zz")), layer(**good)],
        "cloud": [layer("license", **ollama_blob(tmp_path, b"zz"))],
        "two": [layer(**good), layer(**good)],
        "no eyes": [layer(**good), layer("projector", digest=f"sha256:{'1' * 64}")],
        "bad license": [layer(**good), layer("license", digest="sha256:..")],
    }.items():
        put(tmp_path / "manifests/h/library" / name / "1b", json.dumps({"layers": layers}))
    assert found(tmp_path) == {}


@pytest.mark.skipif(os.name == "nt", reason="pipes in folders")
def test_pipes_folders_and_links_are_no_manifests(tmp_path):
    folder = tmp_path / "manifests/h/library/m"
    folder.mkdir(parents=True)
    os.mkfifo(folder / "pipe")
    (folder / "link").symlink_to(tmp_path)
    (folder / "loop").symlink_to(tmp_path / "manifests")
    put(folder / "1/2/3/4/5/6/deep", b"{}")
    assert found(tmp_path) == {}
