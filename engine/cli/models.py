"""`inglenook models list|add|remove|verify|disk`."""

import argparse
import json
import os
import sys
from pathlib import Path
from typing import Any

from engine.cli.setup import Context, prepare
from engine.hardware.units import gigabytes
from engine.hub.disk_use import disk_use
from engine.hub.library import LibraryModel
from engine.hub.verify import Verifier


def run(args: argparse.Namespace) -> int:
    """Dispatch."""
    context = prepare(args)
    library = context.library
    match args.action:
        case "list":
            _list(library.models(), as_json=args.json)
        case "add":
            model = library.add(Path(args.path))
            _say(_as_json(model), f"Added {model.id}.", json_wanted=args.json)
        case "verify":
            return _verify(context, library.get(args.name), json_wanted=args.json)
        case "disk":
            _disk(library.models(), json_wanted=args.json)
        case _:
            library.remove(args.name, delete_file=args.delete_file)
            _say({"removed": args.name}, f"Removed {args.name}.", json_wanted=args.json)
    return 0


def _list(models: list[LibraryModel], *, as_json: bool) -> None:
    if as_json:
        print(json.dumps([_as_json(model) for model in models], indent=2))
    elif not models:
        print(
            "No models yet. Add one with `inglenook models add FILE`, or download one with `inglenook pull`; "
            "`inglenook chat` fetches a starter model."
        )
    else:
        _print_table(models)


def _verify(context: Context, model: LibraryModel, *, json_wanted: bool) -> int:
    def progress(done: int, total: int) -> None:
        if sys.stderr.isatty():
            sys.stderr.write(f"\r\x1b[2KReading {model.id}: {done / max(1, total):.0%}")

    found = Verifier(context.paths.checksums).verify(model.files, progress=progress)
    if sys.stderr.isatty():
        sys.stderr.write("\r\x1b[2K")
    assert found is not None  # nobody cancels
    words = {
        "ok": "is whole",
        "damaged": "is damaged: download it again",
        "unknown": "was read; nobody has said what its checksum should be",
    }
    _say(
        {"model": model.id, "state": found.state, "sha256": found.sha256},
        f"{model.id} {words[found.state]}.\n" + "\n".join(found.sha256),
        json_wanted=json_wanted,
    )
    return int(found.state == "damaged")


def _disk(models: list[LibraryModel], *, json_wanted: bool) -> None:
    use = disk_use(models)
    lines = [f"{gigabytes(size):>9}  {name}" for name, size in use.models.items()]
    _say(
        {"models": use.models, "origins": use.origins, "total": use.total},
        "\n".join([*lines, f"{gigabytes(use.total):>9}  in all"]),
        json_wanted=json_wanted,
    )


def _say(value: object, text: str, *, json_wanted: bool) -> None:
    print(json.dumps(value, indent=2) if json_wanted else text)


def _as_json(model: LibraryModel) -> dict[str, Any]:
    """One model, ready for JSON."""
    return {
        "id": model.id,
        "path": os.fsencode(model.path).decode("utf-8", "replace"),
        "size_bytes": model.size_bytes,
        "architecture": model.architecture,
        "quantization": model.quantization,
        "context_length": model.context_length,
        "registered": model.registered,
        "origin": model.origin,
        "problem": model.problem,
    }


def _print_table(models: list[LibraryModel]) -> None:
    width = max(len(model.id) for model in models)
    for model in models:
        facts = [
            gigabytes(model.size_bytes),
            model.quantization or "",
            model.architecture or "",
            model.origin,
        ]
        print(f"{model.id:<{width}}  {'  '.join(fact for fact in facts if fact)}")
        if model.problem:
            print(f"{'':<{width}}  ! {model.problem}")
