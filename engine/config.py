"""Settings: defaults < settings.toml < environment < command line.

Zone: any process; read once at start and passed on as a value.
"""

import dataclasses
import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from engine.errors import SetupError
from engine.types import SamplingParams

VERSION = "0.1.0"
ENVIRONMENT_PREFIX = "INGLENOOK_"
MOST_MIB: Final = 1 << 40
"""More is no number of bytes that fits where it is sent."""
Mebibytes = Annotated[int, Meta(ge=0, le=MOST_MIB)]
Speculation = Literal["", "off", "ngram"]


@dataclass(frozen=True, slots=True)
class ServerSettings:
    """The HTTP front."""

    host: str = "localhost"
    """`localhost` listens on both loopback addresses."""
    port: int = 4645
    """Spells INGL on a telephone; 0 takes a free one."""
    api_key: str = ""
    """Empty: no key is asked for, which only a loopback address allows."""
    allowed_hosts: tuple[str, ...] = ()
    """Host names besides the loopback ones, such as a reverse proxy's."""
    allowed_origins: tuple[str, ...] = ()
    """Web pages that may use the API from a browser."""


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """How models are loaded and kept."""

    folder: str = ""
    """Empty: `models` in the data folder."""
    other_programs: bool = True
    """Also list the models that LM Studio, Ollama, Jan, GPT4All and others keep on this machine. They stay where they are."""
    context: int = 0
    """Tokens of the KV cache; 0 leaves the choice to the plan (at most 8,192)."""
    threads: int = 0
    """0: llama.cpp uses the cores that other programs leave free, torch all but one."""
    num_sequences: int = 8
    """Answers computed at the same time."""
    idle_timeout_s: float = 900.0
    """A model without requests leaves memory after this time."""
    backend: str = ""
    """Empty: chosen by the plan."""
    backend_for: Mapping[str, str] = field(default_factory=dict)
    """Backend by a model's id, before `backend`: `[models.backend_for]` in the file."""
    keep: Literal["disk", "memory", "off"] = "disk"
    """Where what a model has read of conversations is kept when it leaves the KV cache; `disk` survives a restart."""
    keep_memory_mib: Mebibytes = 512
    """Most memory for it, for each loaded model; with 0 nothing is kept, on disk either."""
    keep_disk_mib: Mebibytes = 4096
    """Most disk space for it, all models together; 0: as `keep = "memory"`."""
    speculation: Speculation = ""
    """Empty (`ngram` means the same): tokens are guessed ahead from the text itself, as far as measured costs and
    chances pay. `off`: none are."""
    kv_type: Literal["", "f16", "q8_0"] = ""
    """Of llama.cpp's KV cache: 16 bits or 8. Empty: 16, and 8 before the context would be cut, if that was measured to
    cost little time."""
    measure: bool = True
    """What steps cost here is measured once for each model, in spare time; the next load uses it."""
    draft_model: str = ""
    """Id of a small model of the library that guesses ahead, where its vocabulary is the same; empty: none."""
    exact: bool = False
    """llama.cpp computes each row the same in every batch (Q4_0, Q4_1 and Q8_0 files); prompts are read slower."""


@dataclass(frozen=True, slots=True)
class NetworkSettings:
    """How the model hub is reached."""

    offline: bool = False
    """Nothing connects to other machines: no search, no download."""
    endpoint: str = ""
    """Of the hub or a mirror; empty: `HF_ENDPOINT`, else the hub itself."""
    proxy: str = ""
    """Such as `http://host:3128` or `socks5h://host:1080`; empty: `https_proxy`, `http_proxy`, `all_proxy`, `no_proxy`."""
    ca_file: str = ""
    """Certificates to trust, PEM; empty: `SSL_CERT_FILE`, `REQUESTS_CA_BUNDLE`, else the system's."""
    hub_folder: str = ""
    """Where downloads go, laid out as the Hugging Face cache; empty: that cache itself."""
    download_limit_kib_s: int = 0
    """Of all downloads together; 0: none."""


@dataclass(frozen=True, slots=True)
class Settings:
    """Everything that can be set."""

    server: ServerSettings = field(default_factory=ServerSettings)
    models: ModelSettings = field(default_factory=ModelSettings)
    network: NetworkSettings = field(default_factory=NetworkSettings)
    generation: SamplingParams = field(default_factory=SamplingParams)
    """What a request gets where it is silent."""


def load(path: Path, environment: Mapping[str, str] = os.environ) -> Settings:
    """Read the settings file, if there is one, and the environment.

    Environment variables are named INGLENOOK_SECTION_FIELD, such as INGLENOOK_SERVER_PORT.

    Raises:
        SetupError: naming the file or variable and what is wrong with it.
    """
    tree: dict[str, Any] = {}
    if path.exists():
        try:
            tree = tomllib.loads(path.read_text("utf-8"))
        except (OSError, ValueError) as error:
            raise SetupError(
                f"The settings file {path.name} cannot be read: {error}.",
                hint="Correct or remove it.",
            ) from error
    for section in dataclasses.fields(Settings):
        for setting in dataclasses.fields(section.default_factory):  # type: ignore[arg-type]
            name = f"{ENVIRONMENT_PREFIX}{section.name}_{setting.name}".upper()
            if name in environment:
                tree.setdefault(section.name, {})[setting.name] = environment[name]
    try:
        settings = msgspec.convert(tree, Settings, strict=False)
    except msgspec.ValidationError as error:
        raise SetupError(f"A setting is not valid: {error}.", hint=f"See {path}.") from error
    if settings.models.speculation == "ngram":
        models = dataclasses.replace(settings.models, speculation="")
        settings = dataclasses.replace(settings, models=models)
    return settings
