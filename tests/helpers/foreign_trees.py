"""Folders as other programs leave them, made of small files: for every program, on every system."""

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.helpers.tiny_gguf import TINY_TENSORS, gguf_bytes, tiny_metadata

COMMIT = "0123456789abcdef0123456789abcdef01234567"
OTHER_COMMIT = "fedcba9876543210fedcba9876543210fedcba98"
DEFAULTS = {
    "linux": {
        "Hugging Face": ".cache/huggingface/hub",
        "LM Studio": ".lmstudio",
        "Ollama": ".ollama/models",
        "Jan": ".local/share/Jan/data",
        "GPT4All": ".local/share/nomic.ai/GPT4All",
        "llama.cpp": ".cache/llama.cpp",
    },
    "darwin": {
        "Hugging Face": ".cache/huggingface/hub",
        "LM Studio": ".lmstudio",
        "Ollama": ".ollama/models",
        "Jan": "Library/Application Support/Jan/data",
        "GPT4All": "Library/Application Support/nomic.ai/GPT4All",
        "llama.cpp": "Library/Caches/llama.cpp",
    },
    "win32": {
        "Hugging Face": ".cache/huggingface/hub",
        "LM Studio": ".lmstudio",
        "Ollama": ".ollama/models",
        "Jan": "AppData/Roaming/Jan/data",
        "GPT4All": "AppData/Local/nomic.ai/GPT4All",
        "llama.cpp": "AppData/Local/llama.cpp",
    },
}
"""Where each program keeps its models, below the home, as its own documentation says."""


def model_bytes(name: str) -> bytes:
    """A whole model that no other name has."""
    return gguf_bytes(tiny_metadata(name=name), TINY_TENSORS)


def mmproj_bytes(name: str = "eyes") -> bytes:
    """The part of a model for images."""
    return gguf_bytes({"general.architecture": "clip", "general.name": name}, TINY_TENSORS)


def put(path: Path, content: bytes | str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def ollama_blob(models: Path, content: bytes) -> dict[str, Any]:
    """Write a blob; its layer but for the kind."""
    digest = hashlib.sha256(content).hexdigest()
    put(models / "blobs" / f"sha256-{digest}", content)
    return {"digest": f"sha256:{digest}", "size": len(content)}


def ollama_model(models: Path, name: str, parts: Mapping[str, bytes], **changes: Any) -> Path:
    """Write a manifest and its parts.

    Args:
        models: the program's model folder.
        name: `host/owner/model/tag`.
        parts: content by kind, such as `model` or `params`.
        changes: of the manifest, to make it wrong.

    Returns: the model's blob.
    """
    layers = [
        {"mediaType": f"application/vnd.ollama.image.{kind}"} | ollama_blob(models, content)
        for kind, content in parts.items()
    ]
    manifest = {"schemaVersion": 2, "config": {"digest": "sha256:0"}, "layers": layers} | changes
    put(models / "manifests" / name, json.dumps(manifest))
    return models / "blobs" / f"sha256-{hashlib.sha256(parts.get('model', b'')).hexdigest()}"


def hf_file(
    hub: Path, repo: str, path: str, content: bytes, *, commit: str = COMMIT, link: bool = True
) -> Path:
    """Write one file of a repository as the hub library does; its place in the snapshot."""
    repository = hub / f"models--{repo.replace('/', '--')}"
    put(repository / "refs" / "main", COMMIT)
    place = repository / "snapshots" / commit / path
    if not link:
        return put(place, content)
    blob = put(repository / "blobs" / hashlib.sha256(content).hexdigest(), content)
    place.parent.mkdir(parents=True, exist_ok=True)
    place.symlink_to(os.path.relpath(blob, place.parent))
    return place


def jan_model(data: Path, name: str, content: bytes, *, mmproj: bytes = b"") -> Path:
    folder = data / "llamacpp/models" / name
    model = put(folder / "model.gguf", content)
    lines = [f"model_path: llamacpp/models/{name}/model.gguf", f'name: "{name}"', "size_bytes: 3"]
    if mmproj:
        put(folder / "mmproj.gguf", mmproj)
        lines.append(f"mmproj_path: 'llamacpp/models/{name}/mmproj.gguf'")
    put(folder / "model.yml", "\n".join(lines) + "\n")
    return model


def everything(home: Path, system: str, *, links: bool = True) -> dict[str, Path]:
    """One model of every program, and what lies about besides.

    Returns: by the program's name the file that holds its model.
    """
    places = {program: home / folder for program, folder in DEFAULTS[system].items()}
    hub, studio, ollama = places["Hugging Face"], places["LM Studio"], places["Ollama"]
    files = {
        "Hugging Face": hf_file(
            hub, "maker/repo", "sub/cached.gguf", model_bytes("hf"), link=links
        ),
        "LM Studio": put(studio / "models/maker/repo/studio.gguf", model_bytes("lm studio")),
        "Ollama": ollama_model(
            ollama,
            "registry.example/library/llama3.2/1b",
            {
                "model": model_bytes("ollama"),
                "template": b"{{ .Prompt }}",
                "params": b'{"stop": ["<|end|>"], "temperature": 0.2, "num_ctx": 4096, "num_gpu": 3}',
                "system": b"You are brief.\n",
                "license": b"MIT",
            },
        ),
        "Jan": jan_model(places["Jan"], "jan/nano", model_bytes("jan")),
        "GPT4All": put(places["GPT4All"] / "four.gguf", model_bytes("gpt4all")),
        "llama.cpp": put(places["llama.cpp"] / "maker_repo_old.gguf", model_bytes("llama.cpp")),
    }
    put(places["GPT4All"] / "incomplete-next.gguf", model_bytes("next"))
    put(places["GPT4All"] / "localdocs_v2.db", b"SQLite")
    put(places["llama.cpp"] / "maker_repo_new.gguf.downloadInProgress", model_bytes("new"))
    put(places["llama.cpp"] / "maker_repo_old.gguf.json", "{}")
    put(studio / "models/maker/repo/downloading_next.gguf.part", b"GGUF")
    put(studio / "models/maker/repo/mmproj-studio.gguf", mmproj_bytes())
    put(ollama / "blobs" / f"sha256-{'a' * 64}-partial", b"GGUF")
    put(hub / "models--maker--repo/blobs" / f"{'b' * 64}.12345678.incomplete", b"GGUF")
    put(hub / "models--maker--repo/blobs" / f"{'c' * 64}.part", b"GGUF")
    put(hub / "datasets--maker--words/snapshots" / COMMIT / "no.gguf", model_bytes("no"))
    return files


def checksums(folder: Path) -> dict[str, tuple[int, str]]:
    """Everything below: time of change, and content, target or kind."""
    found = {}
    for place, folders, names in os.walk(folder):
        for path in (Path(place, name) for name in [*folders, *names]):
            if path.is_symlink():
                what = f"-> {path.readlink()}"
            else:
                what = "folder" if path.is_dir() else hashlib.sha256(path.read_bytes()).hexdigest()
            found[os.fspath(path)] = (path.lstat().st_mtime_ns, what)
    return found
