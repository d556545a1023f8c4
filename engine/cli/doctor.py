"""`inglenook doctor`: what this machine has, and what would run how, and why."""

import argparse
import json
import platform
from typing import Any

from engine.cli.about import package_version
from engine.cli.setup import Context, prepare
from engine.config import VERSION
from engine.errors import EngineError
from engine.hardware.parts import installed_parts
from engine.hardware.probe import Hardware, probe
from engine.hardware.report import as_json, plan_as_json, report
from engine.hardware.units import gigabytes
from engine.hub.library import LibraryModel
from engine.supervisor.planning import plan_model


def run(args: argparse.Namespace) -> int:
    """Print the report."""
    context = prepare(args)
    hardware = probe()
    parts = installed_parts()
    models = context.library.models()
    software = {
        "Inglenook": VERSION,
        "Python": platform.python_version(),
        "llama-cpp-python": package_version("llama-cpp-python"),
        "PySide6": package_version("PySide6-Essentials"),
        "torch": package_version("torch"),
    }
    if args.json:
        print(
            json.dumps(
                {
                    "software": software,
                    "backends": parts.backends,
                    "hardware": as_json(hardware),
                    "data_folder": str(context.paths.data),
                    "models": {model.id: _plan(context, hardware, model) for model in models},
                },
                indent=2,
            )
        )
        return 0
    lines = report(hardware)
    lines.append(("Software", ", ".join(f"{name} {value}" for name, value in software.items())))
    lines.append(("Backends", ", ".join(parts.backends) or "none: run the installer again"))
    lines.append(("Models in", str(context.library.folder)))
    lines.append(("Settings", str(context.paths.settings)))
    width = max(len(label) for label, _ in lines)
    for label, value in lines:
        print(f"{label:<{width}}  {value}")
    if not models:
        print("\nNo models yet. `inglenook chat` fetches a starter model.")
    for model in models:
        _print_plan(model, _plan(context, hardware, model))
    return 0


def _plan(context: Context, hardware: Hardware, model: LibraryModel) -> dict[str, Any]:
    try:
        settings, folder = context.settings.models, context.paths.cache
        return plan_as_json(plan_model(model, hardware, settings, cache_folder=folder))
    except EngineError as error:
        return {"problem": str(error)}


def _print_plan(model: LibraryModel, plan: dict[str, Any]) -> None:
    print(f"\n{model.id}  {gigabytes(model.size_bytes)}  {model.quantization or ''}")
    if "problem" in plan:
        print(f"  ! {plan['problem']}")
        return
    for reason in plan["reasons"]:
        print(f"  {reason}")
    kind = "GPU memory" if plan["gpu"] else "memory"
    needed = gigabytes(plan["needed"]["total"])
    print(f"  context {plan['context']:,} tokens, about {needed} of {kind}")
