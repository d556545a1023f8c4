"""Repositories, cards, fits and downloads as the service tells them, for tests of the window."""

from typing import Any

from engine.api.hub import (
    Access,
    Connection,
    DownloadInfo,
    Fit,
    HubCard,
    HubChoice,
    HubFile,
    HubModel,
    HubPage,
)

GIB = 1 << 30
NOON = 1_796_040_000
README = """# Heron 7B

<div align="center"><img src="https://example.org/logo.png"></div>

A small model that **reads long texts**. See [its page](https://example.org/heron).

![a picture](https://example.org/p.png)

| size | score |
|------|------:|
| 7B   | 61.2  |

```python
print("<b>code stays</b>")
```
"""


def model(repo: str = "heron-lab/Heron-7B-Instruct-GGUF", /, **fields: Any) -> HubModel:
    base: dict[str, Any] = {
        "downloads": 1_234_567,
        "likes": 420,
        "updated": NOON,
        "architecture": "llama",
        "parameters": 7_600_000_000,
        "context_length": 32_768,
        "license": "apache-2.0",
    }
    return HubModel(repo=repo, **(base | fields))


def fit(verdict: Any = "fits", /, **fields: Any) -> Fit:
    base: dict[str, Any] = {
        "needed_bytes": 6 * GIB,
        "weights_bytes": 5 * GIB,
        "kv_cache_bytes": GIB // 2,
        "compute_bytes": GIB // 2,
        "free_bytes": 9 * GIB,
        "context": 8192,
        "writes": 11.6,
        "reads": 84.0,
        "reasons": (
            "memory: 6.0 GB of 9.0 GB free",
            "speed: as measured with a model of this size",
        ),
    }
    return Fit(verdict=verdict, **(base | fields))


def choice(quantization: str, size: float, /, **fields: Any) -> HubChoice:
    """`size` in GiB."""
    name = fields.pop("name", f"Heron-7B-Instruct-{quantization}.gguf")
    count = round(size * GIB)
    base: dict[str, Any] = {
        "kind": "model",
        "quantization": quantization,
        "size_bytes": count,
        "files": (HubFile(name, count, "0" * 64),),
        "fit": fit(needed_bytes=count + GIB),
    }
    return HubChoice(name=name, **(base | fields))


def choices() -> tuple[HubChoice, ...]:
    """One of each kind of row."""
    return (
        choice("Q2_K", 2.9, fit=fit(needed_bytes=4 * GIB, writes=17.2)),
        choice("Q4_0", 4.2, recommended="the best quality that writes faster than you read"),
        choice("Q6_K", 5.8, fit=fit("shorter", needed_bytes=8 * GIB, context=4096, writes=8.4)),
        choice("Q8_0", 7.7, fit=fit("no", needed_bytes=10 * GIB)),
        choice("F16", 14.5, fit=Fit(verdict="unknown"), missing_parts=1),
        choice("F16", 0.8, name="mmproj-F16.gguf", kind="mmproj", fit=None),
    )


def card(**fields: Any) -> HubCard:
    base: dict[str, Any] = {
        "model": model(),
        "revision": "a" * 40,
        "url": "https://hub.example/heron-lab/Heron-7B-Instruct-GGUF",
        "choices": choices(),
        "readme": README,
    }
    return HubCard(**(base | fields))


def page(**fields: Any) -> HubPage:
    base: dict[str, Any] = {
        "models": [
            model(),
            model("someone/Quill-1.7B-GGUF", parameters=1_700_000_000, architecture="qwen3"),
            model("a-long-owner-name/Otter-Coder-32B-Instruct-v2.5-imatrix-GGUF", gated=True),
            model("tiny/Wren-135M-GGUF", parameters=134_515_008, downloads=4_321, license=""),
        ],
        "cursor": "next",
    }
    return HubPage(**(base | fields))


def catalog() -> HubPage:
    """Without the hub."""
    return HubPage(
        [
            model(purpose="chat", about="Good answers in many languages.", downloads=0),
            model(
                "someone/Quill-1.7B-GGUF",
                parameters=1_700_000_000,
                purpose="chat",
                about="Small and quick.",
                downloads=0,
            ),
        ],
        offline=True,
    )


def download(name: str, /, state: Any = "running", **fields: Any) -> DownloadInfo:
    base: dict[str, Any] = {
        "repo": "heron-lab/Heron-7B-Instruct-GGUF",
        "name": f"Heron-7B-Instruct-{name}.gguf",
        "total_bytes": round(4.9 * GIB),
        "done_bytes": round(1.2 * GIB),
    }
    if state == "running":
        base |= {"bytes_per_s": 23.4 * (1 << 20), "left_s": 161.0}
    return DownloadInfo(id=name, state=state, **(base | fields))


ACCESS = Access(endpoint="https://hub.example", offline=False, token="app", user="ada")
CONNECTIONS = [
    Connection(NOON, NOON + 60, "hub.example", "search", 12, 340_000),
    Connection(NOON, NOON + 50, "cdn.hub.example", "download", 48, round(4.2 * GIB)),
    Connection(NOON, NOON, "hub.example", "card", 3, 91_000, 2),
]
