"""Where a worker keeps what it has read of conversations: as set, and only where it can tell its model from every other."""

import logging
import os
from pathlib import Path

import xxhash

from engine.backends.base import Capabilities
from engine.errors import EngineError
from engine.formats.model_identity import model_identity
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
        folder = KvFolder(Path(os.fsdecode(load.kept_folder)), fingerprint, load.kept_disk_bytes)
    return KvStore(fingerprint, memory_bytes=load.kept_memory_bytes, folder=folder)


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
