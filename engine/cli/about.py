"""Versions."""

import argparse
from importlib.metadata import PackageNotFoundError, version

from engine.config import VERSION


def print_version(args: argparse.Namespace) -> int:
    """`--version`."""
    del args
    print(f"Inglenook {VERSION} (llama-cpp-python {package_version('llama-cpp-python')})")
    return 0


def package_version(name: str) -> str:
    """Of an installed package, without importing it."""
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"
