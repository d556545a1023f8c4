"""What a worker keeps beside the model: conversations that it has read, and what it has measured.

Only where it can tell its model from every other. Both lie in the cache folder, and everything works without them.
"""

import logging
import os
from pathlib import Path

import xxhash

from engine.backends.base import Capabilities
from engine.errors import EngineError
from engine.formats.kv_file import KEPT
from engine.formats.model_identity import model_identity
from engine.hardware.cpu import read_cpu
from engine.hardware.load import allowed_cpus
from engine.hub.split import set_of
from engine.ipc.messages import Load
from engine.scheduler.kv_folder import KvFolder
from engine.scheduler.kv_store import KvStore

logger = logging.getLogger(__name__)


def make_store(load: Load, caps: Capabilities) -> KvStore | None:
    """The store behind the KV cache; None where nothing is to be kept."""
    if not load.kept_memory_bytes:
        return None
    folder = None
    fingerprint = caps.state_fingerprint
    if load.kept_disk_bytes and (identity := _identity(load)):
        fingerprint = xxhash.xxh3_128_hexdigest(f"{identity} {fingerprint}".encode())
        root = Path(os.fsdecode(load.cache_folder)) / KEPT
        folder = KvFolder(root, fingerprint, load.kept_disk_bytes)
    return KvStore(fingerprint, memory_bytes=load.kept_memory_bytes, folder=folder)


def figures_file(load: Load, caps: Capabilities) -> Path | None:
    """Where the model's measurements are: the same file only for the same model, build, machine and mode."""
    if not load.cache_folder or not (identity := _identity(load)):
        return None
    cpu = read_cpu()
    what = (identity, caps.state_fingerprint, load.backend, load.exact, cpu.name, allowed_cpus())
    name = xxhash.xxh3_128_hexdigest(repr(what).encode())
    return Path(os.fsdecode(load.cache_folder)) / "measured" / f"{name}.json"


def _identity(load: Load) -> str:
    """Which model it is; empty where that cannot be told, and then nothing is written."""
    if load.backend == "fake":
        return "fake"
    try:
        parts = set_of(Path(os.fsdecode(load.path))).parts
        return model_identity([path for _, path in parts])
    except (EngineError, OSError) as error:
        logger.warning("conversations are not kept on disk, error=%s", error)
        return ""
