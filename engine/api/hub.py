"""The model hub on the wire: search, cards, what a file would cost here, downloads, access, connections.

Zone: service and desktop. Texts from the hub are plain text, never markup. Neighbours: `engine.hub` (who finds it out),
`engine.server.hub` (addresses), `engine.client.hub`.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Sort = Literal["trending", "downloads", "likes", "updated"]
Verdict = Literal["fits", "shorter", "no", "unknown"]
"""`shorter`: with a shorter context than usual. `unknown`: its header could not be read yet."""
FileKind = Literal["model", "mmproj", "draft"]
DownloadState = Literal["queued", "running", "waiting", "paused", "checking", "done", "failed"]
"""`waiting`: the line is cut or silent, and it tries again by itself. `checking`: SHA-256 of what is there."""


class HubModel(msgspec.Struct, frozen=True, kw_only=True):
    """One repository of a search."""

    repo: str
    """`owner/name`."""
    downloads: int = 0
    likes: int = 0
    updated: int = 0
    """Seconds since the epoch; 0: not said."""
    gated: bool = False
    """Its licence has to be accepted on the hub's page first."""
    architecture: str = ""
    parameters: int | None = None
    context_length: int | None = None
    license: str = ""
    purpose: str = ""
    """Of the catalog: `chat`, `code`, `draft`, …; empty: found by search."""
    about: str = ""
    """One sentence, of the catalog."""


class HubPage(msgspec.Struct, frozen=True):
    """GET /api/hub/models?search=&sort=&cursor=."""

    models: list[HubModel]
    cursor: str = ""
    """Ask for the next page with it; empty: there is none."""
    offline: bool = False
    """Only what the app brings along: the hub was not asked."""


class HubFile(msgspec.Struct, frozen=True):
    """One file of a repository."""

    path: str
    size_bytes: int
    sha256: str = ""
    """Empty where the hub does not know it."""


class Fit(msgspec.Struct, frozen=True, kw_only=True):
    """What a model would cost and do on this machine."""

    verdict: Verdict
    exact: bool = False
    """The bytes are llama.cpp's own; else by formula from the file's size and what the hub says of it."""
    needed_bytes: int = 0
    weights_bytes: int = 0
    kv_cache_bytes: int = 0
    compute_bytes: int = 0
    free_bytes: int = 0
    """That the verdict was made with: free memory and what the models that would leave hold."""
    context: int = 0
    """Tokens that it would be loaded with."""
    writes: float | None = None
    """Tokens a second, expected from what was measured here; None: nothing was measured that says it."""
    reads: float | None = None
    reasons: tuple[str, ...] = ()


class HubChoice(msgspec.Struct, frozen=True, kw_only=True):
    """One quantization: a file, or all parts of a split one."""

    name: str
    """Path of the file, or of part 1: what a download is asked by."""
    kind: FileKind
    quantization: str
    size_bytes: int
    files: tuple[HubFile, ...]
    missing_parts: int = 0
    fit: Fit | None = None
    recommended: str = ""
    """Why this one, as half a sentence; at most one of a card is recommended."""
    downloaded: bool = False


class HubCard(msgspec.Struct, frozen=True, kw_only=True):
    """GET /api/hub/model?repo=: a repository, its quantizations, its text."""

    model: HubModel
    revision: str
    """Commit, 40 hexadecimal digits."""
    url: str
    """Its page, for a person."""
    choices: tuple[HubChoice, ...]
    readme: str = ""
    """Markdown, without its front matter; never shown with pictures or HTML."""
    problem: str = ""
    """Why it cannot be downloaded: its licence was not accepted, …"""


class DownloadRequest(msgspec.Struct, frozen=True):
    """POST /api/downloads: one choice of a card, with what belongs to it."""

    repo: Annotated[str, Meta(min_length=1)]
    name: str = ""
    """`HubChoice.name`, a quantization such as `Q4_K_M`, or empty: the recommended one."""
    revision: str = "main"
    also: tuple[str, ...] = ()
    """Other choices of the same repository that belong to it: mmproj, draft."""


class DownloadInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One download."""

    id: str
    repo: str
    name: str
    state: DownloadState
    total_bytes: int
    done_bytes: int = 0
    """Downloaded and written; while checking: checked."""
    bytes_per_s: float = 0.0
    """Over the last seconds; 0 unless running."""
    left_s: float | None = None
    position: int = 0
    """In the queue, from 0."""
    problem: str = ""
    """Why it waits, is paused by itself, or failed, and what to do."""
    model: str = ""
    """Once done: the library's id of it."""
    finished: int = 0
    """Seconds since the epoch; 0: not yet."""


class DownloadList(msgspec.Struct, frozen=True):
    """GET /api/downloads: in the order of the queue, then those that ended, latest first."""

    downloads: list[DownloadInfo]
    limit_bytes_per_s: int = 0
    """Of all together; 0: none."""


class DownloadChange(msgspec.Struct, frozen=True, kw_only=True):
    """POST /api/downloads/{id}."""

    action: Literal["pause", "resume", "cancel", "move"]
    """`cancel` leaves nothing behind and also forgets one that ended."""
    position: int = 0
    """For `move`."""


class DownloadLimit(msgspec.Struct, frozen=True):
    """POST /api/downloads/limit."""

    bytes_per_s: Annotated[int, Meta(ge=0)]


class Access(msgspec.Struct, frozen=True, kw_only=True):
    """GET /api/hub/access."""

    endpoint: str
    offline: bool
    token: Literal["none", "app", "environment", "hub"] = "none"  # noqa: S105
    """Where the token comes from that is sent; it is never told."""
    user: str = ""
    """Whose it is, where the hub was asked."""
    token_refused: bool = False
    """The hub does not take it; public models are asked for without it."""
    proxy: str = ""
    """Without its password."""


class TokenChange(msgspec.Struct, frozen=True):
    """POST /api/hub/token; empty: forget it."""

    token: Annotated[str, Meta(max_length=500)]


class OfflineChange(msgspec.Struct, frozen=True):
    """POST /api/hub/offline."""

    offline: bool


class Connection(msgspec.Struct, frozen=True):
    """One line of the ledger: a host that was connected to."""

    at: int
    """First time, seconds since the epoch."""
    last: int
    host: str
    purpose: str
    """`search`, `card`, `download`, `starter model`, …"""
    requests: int
    received_bytes: int
    refused: int = 0
    """Attempts that the offline switch stopped."""


class ConnectionList(msgspec.Struct, frozen=True):
    """GET /api/connections: latest first."""

    connections: list[Connection]
