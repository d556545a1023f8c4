"""A model hub on loopback that misbehaves on demand: real HTTP, a second origin for the files, a third that only records.

Content of any size comes from its offset, so gigabytes cost no memory. `hub.fault(...)` plants a fault; `hub.log` and
`hub.sent` say afterwards who asked for what, and how many bytes went out.
"""

import hashlib
import json
import random
import re
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from email.message import Message
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Final, Literal, Self
from urllib.parse import parse_qs, quote, unquote, urlencode, urlsplit

COMMIT: Final = "a" * 39 + "1"
MIB: Final = 1 << 20
_CHUNK: Final = 1 << 18
_HELD_S: Final = 60.0
ALWAYS: Final = 1 << 30

Kind = Literal[
    "cut",  # after=n; length=False: without Content-Length, so that the end looks like an end
    "stall",  # after=n: then silence, with the connection open
    "status",  # status=n, where="hub" or "cdn", headers={}
    "expire",  # links given out so far are refused until a new one was fetched
    "wrong_range",  # 206 that begins somewhere else
    "no_ranges",  # 200 and all of it, whatever was asked
    "changed_etag",
    "corrupt",  # right size, wrong bytes
    "html",  # 200 and a web page
    "slow_start",  # seconds=n before the first byte
    "throttle",  # bytes_per_s=n, per connection
    "redirect_loop",
    "third_host",  # the link leads to a host that records headers and has the file
]


class MockFile:
    """Bytes that are given, or `size` bytes made from `seed` wherever they are asked for."""

    def __init__(self, data: bytes = b"", *, size: int | None = None, seed: int = 0) -> None:
        self._data = data
        self.size = len(data) if size is None else size
        self._made = size is not None
        self._seed = seed

    @cached_property
    def _pool(self) -> bytes:
        return random.Random(self._seed).randbytes(MIB)

    def read(self, offset: int, num_bytes: int) -> bytes:
        """At most to the end; made content never more than a mebibyte at once."""
        if not self._made:
            return self._data[offset : offset + num_bytes]
        index, within = divmod(offset, MIB)
        num_bytes = min(num_bytes, MIB - within, self.size - offset)
        piece = self._pool[within : within + num_bytes]
        mark = index.to_bytes(8, "big")  # no two mebibytes are alike
        return mark[within:][:num_bytes] + piece[len(mark[within:]) :]

    def pieces(self, start: int, end: int) -> Iterator[bytes]:
        """Bytes start … end, in order."""
        while start < end:
            piece = self.read(start, min(end - start, _CHUNK))
            yield piece
            start += len(piece)

    @cached_property
    def sha256(self) -> str:
        digest = hashlib.sha256()
        for piece in self.pieces(0, self.size):
            digest.update(piece)
        return digest.hexdigest()

    @cached_property
    def git_sha1(self) -> str:
        digest = hashlib.sha1(b"blob %d\0" % self.size)
        for piece in self.pieces(0, self.size):
            digest.update(piece)
        return digest.hexdigest()


@dataclass
class MockRepo:
    """One repository. `README.md` is made from `readme`."""

    files: dict[str, MockFile] = field(default_factory=dict)
    gated: bool = False
    private: bool = False
    readme: str = ""
    gguf: dict[str, Any] = field(default_factory=dict)
    tags: tuple[str, ...] = ("gguf",)
    downloads: int = 0
    likes: int = 0
    last_modified: str = "2026-10-01T00:00:00.000Z"
    sha: str = COMMIT
    pipeline_tag: str = "text-generation"

    @property
    def all_files(self) -> dict[str, MockFile]:
        extra = {"README.md": MockFile(self.readme.encode())} if self.readme else {}
        return extra | self.files


@dataclass
class Fault:
    """Happens `times` times to requests of a file (`path`; empty: of any)."""

    kind: Kind
    path: str
    times: int
    options: dict[str, Any]


@dataclass(frozen=True)
class Request:
    """One request that came in."""

    server: str
    """`hub`, `cdn` or `third`."""
    method: str
    path: str
    """Without query, unquoted."""
    query: str
    range: str | None
    headers: dict[str, str]
    """Names in lower case."""


class MockHub:
    """Runs on entering. `url` is the hub's endpoint."""

    def __init__(self, repos: dict[str, MockRepo] | None = None) -> None:
        self.repos: dict[str, MockRepo] = repos or {}
        self.tokens: set[str] = {"hf_good"}
        """Valid; any other that is sent gets a 401, as on the real hub."""
        self.accepted: set[str] = set()
        """Tokens whose owner accepted the licences."""
        self.faults: list[Fault] = []
        self.log: list[Request] = []
        self.sent: Counter[str] = Counter()
        """Bytes of bodies by file path, of both origins."""
        self.links_from = 0
        self.link = 0
        """Number in the signature of the latest link."""
        self._lock = threading.Lock()
        self._went_out = threading.Condition(self._lock)
        self._servers: dict[str, _Server] = {}
        self.released = threading.Event()

    def fault(self, kind: Kind, path: str = "", times: int = 1, **options: Any) -> None:
        """Plant one."""
        if kind == "expire":
            self.links_from = self.link + 1
            return
        with self._lock:
            self.faults.append(Fault(kind, path, times, options))

    def clear(self) -> None:
        """Take all faults away and forget the log."""
        with self._lock:
            self.faults.clear()
            self.log.clear()
            self.sent.clear()

    def take(self, path: str, *kinds: Kind, **options: Any) -> Fault | None:
        """The first fault of these kinds that is due, once less from now on."""
        with self._lock:
            for fault in self.faults:
                wanted = fault.options.items() >= options.items()
                if fault.times > 0 and fault.kind in kinds and fault.path in ("", path) and wanted:
                    fault.times -= 1
                    return fault
        return None

    def count(self, path: str, num_bytes: int) -> None:
        """Bytes went out."""
        with self._lock:
            self.sent[path] += num_bytes
            self._went_out.notify_all()

    def wait_sent(self, path: str, num_bytes: int, timeout_s: float = 30) -> bool:
        """Come back once so many bytes of a file went out; False: they did not."""
        with self._went_out:
            return self._went_out.wait_for(lambda: self.sent[path] >= num_bytes, timeout_s)

    def record(self, request: Request) -> None:
        """A request came in."""
        with self._lock:
            self.log.append(request)

    def requests(self, server: str = "", method: str = "") -> list[Request]:
        """Of the log, those to one server."""
        with self._lock:
            return [r for r in self.log if server in ("", r.server) and method in ("", r.method)]

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port('hub')}"

    @property
    def cdn_url(self) -> str:
        return f"http://localhost:{self.port('cdn')}"

    @property
    def third_url(self) -> str:
        return f"http://127.0.0.1:{self.port('third')}"

    def port(self, name: str) -> int:
        return int(self._servers[name].server_address[1])

    def __enter__(self) -> Self:
        for name in ("hub", "cdn", "third"):
            self._servers[name] = server = _Server(self, name)
            threading.Thread(target=server.serve_forever, args=(0.005,), daemon=True).start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.released.set()
        for server in self._servers.values():
            server.shutdown()
            server.server_close()
            server.hang_up()


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64

    def __init__(self, hub: MockHub, name: str) -> None:
        self.hub = hub
        self.name = name
        self._open: set[socket.socket] = set()
        super().__init__(("127.0.0.1", 0), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        self._open.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._open.discard(request)
        super().shutdown_request(request)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hangs up is no news."""

    def hang_up(self) -> None:
        for connection in list(self._open):
            with suppress(OSError):
                connection.shutdown(socket.SHUT_RDWR)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Server
    headers: Message

    @property
    def hub(self) -> MockHub:
        return self.server.hub

    def log_message(self, *args: Any) -> None:
        pass

    def do_HEAD(self) -> None:
        self._route()

    def do_GET(self) -> None:
        self._route()

    def do_POST(self) -> None:
        self._route()

    def _route(self) -> None:
        parts = urlsplit(self.path)
        path, query = unquote(parts.path), parse_qs(parts.query, keep_blank_values=True)
        headers = {name.lower(): value for name, value in self.headers.items()}
        body = self.rfile.read(int(headers.get("content-length", 0)))
        wants = headers.get("range")
        self.hub.record(Request(self.server.name, self.command, path, parts.query, wants, headers))
        if self.server.name == "hub":
            self._hub(path, query, body)
        else:
            self._storage(path, query)

    # The hub's own origin.

    def _hub(self, path: str, query: dict[str, list[str]], body: bytes) -> None:
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        if fault := self.hub.take(path.rpartition("/")[2], "status", where="api"):
            return self._error(fault.options["status"], headers=fault.options.get("headers"))
        if path == "/api/whoami-v2":
            known = token in self.hub.tokens
            return self._json({"name": "me", "type": "user"}) if known else self._bad_token()
        if token and token not in self.hub.tokens:
            return self._bad_token()
        if path == "/api/models":
            return self._list(query)
        if match := re.fullmatch(r"/api/models/([^/]+/[^/]+)/(tree|paths-info)/([^/]+)/?", path):
            return self._tree(match[1], match[3], match[2] == "paths-info", body)
        if match := re.fullmatch(r"/api/models/([^/]+/[^/]+?)(?:/revision/(.+))?", path):
            return self._info(match[1], match[2], query)
        if match := re.fullmatch(r"/([^/]+/[^/]+)/(?:resolve|raw)/([^/]+)/(.+)", path):
            return self._resolve(match[1], match[2], match[3], token)
        return self._error(404)

    def _list(self, query: dict[str, list[str]]) -> None:
        search = query.get("search", [""])[0].lower()
        tags = {tag for value in query.get("filter", []) for tag in value.split(",")}
        found = [
            (name, repo)
            for name, repo in self.hub.repos.items()
            if all(word in name.lower() for word in search.split())
            and tags <= {*repo.tags}
            and not repo.private
            and query.get("author", [name.split("/")[0]])[0] == name.split("/")[0]
        ]
        order = query.get("sort", ["trendingScore"])[0]
        found.sort(key=lambda item: (_rank(item[1], order), item[0]), reverse=True)
        limit = int(query.get("limit", ["1000"])[0])
        start = int(query.get("cursor", ["0"])[0])
        link = {}
        if start + limit < len(found):
            rest = [
                (key, value) for key, all_of in query.items() for value in all_of if key != "cursor"
            ]
            after = urlencode([*rest, ("cursor", str(start + limit))])
            link = {"Link": f'<{self.hub.url}/api/models?{after}>; rel="next"'}
        page = [_entry(name, repo, blobs=False) for name, repo in found[start : start + limit]]
        return self._json(page, headers=link)

    def _info(self, name: str, revision: str | None, query: dict[str, list[str]]) -> None:
        repo = self._repo(name, revision)
        if repo is not None:
            self._json(
                _entry(name, repo, blobs=query.get("blobs", [""])[0].lower() in ("1", "true"))
            )

    def _tree(self, name: str, revision: str, only: bool, body: bytes) -> None:
        repo = self._repo(name, revision)
        if repo is None:
            return
        paths = set(repo.all_files)
        if only:
            text = body.decode()
            paths &= set(
                json.loads(text)["paths"] if text.startswith("{") else parse_qs(text)["paths"]
            )
        self._json([_tree_entry(path, repo.all_files[path]) for path in sorted(paths)])

    def _repo(self, name: str, revision: str | None) -> MockRepo | None:
        """The repository; None: an error was answered."""
        repo = self.hub.repos.get(name)
        token = (self.headers.get("Authorization") or "").removeprefix("Bearer ")
        if repo is None or (repo.private and not token):
            self._error(404 if token else 401, "RepoNotFound", "Repository not found")
            return None
        if revision not in (None, "main", repo.sha):
            self._error(404, "RevisionNotFound", "Invalid rev id")
            return None
        return repo

    def _resolve(self, name: str, revision: str, path: str, token: str) -> None:
        repo = self._repo(name, revision)
        if repo is None:
            return None
        if repo.gated and path != "README.md" and token not in self.hub.accepted:
            return self._error(403 if token else 401, "GatedRepo", "Access to it is restricted.")
        file = repo.all_files.get(path)
        if file is None:
            return self._error(404, "EntryNotFound", "Entry not found", {"X-Repo-Commit": repo.sha})
        if fault := self.hub.take(path, "status", where="hub"):
            return self._error(fault.options["status"], headers=fault.options.get("headers"))
        large = path.lower().endswith(".gguf")
        etag = file.sha256 if large else file.git_sha1
        if self.hub.take(path, "redirect_loop"):
            return self._redirect(self.hub.url + quote(f"/{name}/resolve/{revision}/{path}"), {})
        named = {
            "X-Repo-Commit": repo.sha,
            "X-Linked-Etag": f'"{etag}"',
            "X-Linked-Size": str(file.size),
            "Accept-Ranges": "bytes",
        }
        if not large:
            return self._body(path, file, named | {"ETag": f'"{etag}"'})
        with self.hub._lock:
            self.hub.link += 1
            number = self.hub.link
        origin = self.hub.third_url if self.hub.take(path, "third_host") else self.hub.cdn_url
        where = f"/blob/{quote(name)}/{quote(path)}?X-Amz-Signature={number}"
        return self._redirect(origin + where, named)

    # The storage behind it.

    def _storage(self, path: str, query: dict[str, list[str]]) -> None:
        match = re.fullmatch(r"/blob/([^/]+/[^/]+)/(.+)", path)
        repo = self.hub.repos.get(match[1]) if match else None
        if match is None or repo is None or match[2] not in repo.all_files:
            return self._error(404)
        name, file = match[2], repo.all_files[match[2]]
        if int(query.get("X-Amz-Signature", ["0"])[0]) < self.hub.links_from:
            return self._error(403)
        if fault := self.hub.take(name, "status", where="cdn"):
            return self._error(fault.options["status"], headers=fault.options.get("headers"))
        if self.hub.take(name, "html"):
            return self._page()
        changed = self.hub.take(name, "changed_etag") is not None
        return self._body(name, file, {"ETag": f'"{"f" * 32 if changed else file.sha256[:32]}"'})

    def _body(self, name: str, file: MockFile, headers: dict[str, str]) -> None:
        start, end, status = 0, file.size, 200
        match = re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range") or "")
        if match and not self.hub.take(name, "no_ranges"):
            start, status = int(match[1]), 206
            end = min(int(match[2]) + 1, file.size) if match[2] else file.size
            if start >= file.size:
                return self._error(416, headers={"Content-Range": f"bytes */{file.size}"})
        if status == 206 and self.hub.take(name, "wrong_range"):
            shift = min(4096, file.size - end) or -start
            start, end = start + shift, end + shift
        if fault := self.hub.take(name, "slow_start"):
            self.hub.released.wait(fault.options["seconds"])
        cut = self.hub.take(name, "cut", "stall") if self.command == "GET" else None
        self.send_response(status)
        self.send_header("Content-Type", "application/octet-stream")
        if status == 206:
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{file.size}")
        if cut and not cut.options.get("length", True):
            self.send_header("Connection", "close")
            self.close_connection = True
        else:
            self.send_header("Content-Length", str(end - start))
        for key, value in headers.items():
            self.send_header(key, value)
        self.end_headers()
        if self.command == "GET":
            self._send(name, file, start, end, cut)
        return None

    def _send(self, name: str, file: MockFile, start: int, end: int, cut: Fault | None) -> None:
        throttle = self.hub.take(name, "throttle")
        corrupt = self.hub.take(name, "corrupt") is not None
        stop = min(end, start + cut.options["after"]) if cut else end
        began, sent = time.monotonic(), 0
        try:
            for piece in file.pieces(start, stop):
                self.wfile.write(bytes([piece[0] ^ 1]) + piece[1:] if corrupt else piece)
                sent += len(piece)
                self.hub.count(name, len(piece))
                if throttle:
                    due = began + sent / throttle.options["bytes_per_s"]
                    self.hub.released.wait(max(0.0, due - time.monotonic()))
            if cut and cut.kind == "stall":
                self.hub.released.wait(_HELD_S)
        except OSError:
            self.close_connection = True
        if cut:
            self.close_connection = True

    # Answers.

    def _redirect(self, to: str, headers: dict[str, str]) -> None:
        self.send_response(302)
        for key, value in {"Location": to, "Content-Length": "0", **headers}.items():
            self.send_header(key, value)
        self.end_headers()

    def _page(self) -> None:
        page = b"<!DOCTYPE html><html><body>Please log in to this network.</body></html>"
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(page)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(page)

    def _bad_token(self) -> None:
        self._error(401, "", "Invalid credentials in Authorization header")

    def _error(
        self, status: int, code: str = "", message: str = "", headers: dict[str, str] | None = None
    ) -> None:
        named = {"X-Error-Code": code, "X-Error-Message": message}
        extra = {key: value for key, value in named.items() if value} | (headers or {})
        self._json({"error": message or code or str(status)}, status, extra)

    def _json(self, value: Any, status: int = 200, headers: dict[str, str] | None = None) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        sent = {"Content-Type": "application/json", "Content-Length": str(len(data))}
        for key, text in (sent | (headers or {})).items():
            self.send_header(key, text)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)


def _rank(repo: MockRepo, order: str) -> Any:
    if order in ("lastModified", "last_modified"):
        return repo.last_modified
    return repo.likes if order == "likes" else repo.downloads


def _entry(name: str, repo: MockRepo, *, blobs: bool) -> dict[str, Any]:
    siblings = []
    for path, file in repo.all_files.items():
        sibling: dict[str, Any] = {"rfilename": path}
        if blobs:
            entry = _tree_entry(path, file)
            sibling |= {"size": file.size, "blobId": entry["oid"]}
            if lfs := entry.get("lfs"):
                sibling["lfs"] = {"sha256": lfs["oid"], "size": file.size, "pointerSize": 134}
        siblings.append(sibling)
    return {
        "_id": "1",
        "id": name,
        "modelId": name,
        "author": name.split("/")[0],
        "sha": repo.sha,
        "private": repo.private,
        "gated": "manual" if repo.gated else False,
        "downloads": repo.downloads,
        "likes": repo.likes,
        "trendingScore": repo.downloads,
        "tags": list(repo.tags),
        "pipeline_tag": repo.pipeline_tag,
        "library_name": "gguf",
        "lastModified": repo.last_modified,
        "createdAt": "2026-09-01T00:00:00.000Z",
        "siblings": siblings,
        "gguf": repo.gguf,
    }


def _tree_entry(path: str, file: MockFile) -> dict[str, Any]:
    large = path.lower().endswith(".gguf")
    # Of a large file git keeps a pointer, whose sha1 nobody looks at here.
    entry: dict[str, Any] = {"type": "file", "path": path, "size": file.size}
    entry["oid"] = file.sha256[:40] if large else file.git_sha1
    if large:
        entry["lfs"] = {"oid": file.sha256, "size": file.size, "pointerSize": 134}
    return entry
