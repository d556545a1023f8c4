"""Models, details, plans and machines as the service tells them, for tests of the window."""

from typing import Any

from engine.api.models import ModelDetails, ModelInfo, StarterInfo

GIB = 1 << 30
HARDWARE: dict[str, Any] = {
    "system": "Linux 6.1",
    "cpu": {
        "name": "A Processor",
        "machine": "x86_64",
        "physical_cores": 2,
        "logical_cpus": 4,
        "usable_cores": 2,
        "features": ["avx2", "fma"],
    },
    "memory": {"total": 8 * GIB, "free": 6 * GIB},
    "gpus": [],
    "gpu_note": "",
    "backends": ["llama.cpp", "torch-cpu"],
}
PLAN: dict[str, Any] = {
    "backend": "llama.cpp",
    "context": 2048,
    "decode_threads": 1,
    "needed": {"total": 310 << 20},
    "gpu": None,
    "reasons": ["no NVIDIA GPU: llama.cpp on 1 of 2 cores", "limited to 2 of 4 CPUs: 1 thread"],
}
STARTER = StarterInfo(
    state="absent",
    name="SmolLM2-135M-Instruct",
    license="Apache-2.0",
    size_bytes=98_362_432,
    download_bytes=92_871_040,
)


def info(name: str, /, **fields: Any) -> ModelInfo:
    base = {"state": "unloaded", "path": f"/models/{name}.gguf", "size_bytes": 94 << 20}
    base |= {"created": 0, "quantization": "Q4_1"}
    return ModelInfo(id=name, **(base | fields))


def details(name: str, /, **fields: Any) -> ModelDetails:
    base: dict[str, Any] = {
        "path": f"/models/{name}.gguf",
        "files": (f"/models/{name}.gguf",),
        "parts_total": 1,
        "size_bytes": 94 << 20,
        "registered": False,
        "name": "A model",
        "architecture": "llama",
        "quantization": "Q4_1",
        "license": "apache-2.0",
        "parameters": 134_515_008,
        "context_length": 2048,
        "layers": 30,
        "embedding_length": 576,
        "vocabulary": 49_152,
        "has_chat_template": True,
        "plan": PLAN,
    }
    return ModelDetails(id=name, **(base | fields))
