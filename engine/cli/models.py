"""`inglenook models list|add|remove`."""

import argparse
import json
import os
from pathlib import Path
from typing import Any

from engine.cli.setup import prepare
from engine.hardware.units import gigabytes
from engine.hub.library import LibraryModel


def run(args: argparse.Namespace) -> int:
    """Dispatch."""
    library = prepare(args).library
    if args.action == "list":
        models = library.models()
        if args.json:
            print(json.dumps([as_json(model) for model in models], indent=2))
        elif not models:
            print(
                "No models yet. Add one with `inglenook models add FILE`; `inglenook chat` fetches a starter model."
            )
        else:
            _print_table(models)
        return 0
    if args.action == "add":
        model = library.add(Path(args.path))
        print(json.dumps(as_json(model), indent=2) if args.json else f"Added {model.id}.")
        return 0
    library.remove(args.name)
    print(json.dumps({"removed": args.name}) if args.json else f"Removed {args.name}.")
    return 0


def as_json(model: LibraryModel) -> dict[str, Any]:
    """One model, ready for JSON."""
    return {
        "id": model.id,
        "path": os.fsencode(model.path).decode("utf-8", "replace"),
        "size_bytes": model.size_bytes,
        "architecture": model.architecture,
        "quantization": model.quantization,
        "context_length": model.context_length,
        "registered": model.registered,
        "problem": model.problem,
    }


def _print_table(models: list[LibraryModel]) -> None:
    width = max(len(model.id) for model in models)
    for model in models:
        facts = [gigabytes(model.size_bytes), model.quantization or "", model.architecture or ""]
        print(f"{model.id:<{width}}  {'  '.join(fact for fact in facts if fact)}")
        if model.problem:
            print(f"{'':<{width}}  ! {model.problem}")
