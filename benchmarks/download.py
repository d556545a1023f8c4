"""How fast does a download come to the disk, and what does it cost? Yardstick: curl, alternating with ours.

The server is a process of its own that hands a file on with sendfile: as fast as it can, then 125 MB/s over all connections.
Ours is the whole way: several connections, SHA-256, journal, fsync, put in place. Gates: at 125 MB/s as fast as curl with less
than 35 % of a core a 100 MB/s; unlimited at least half of curl. One JSON line on stdout.

`python -m benchmarks.download [--megabytes N] [--rounds N] [--folder F]`.
"""

import argparse
import hashlib
import json
import os
import re
import resource
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Final

from engine.api.hub import HubFile
from engine.config import NetworkSettings
from engine.hub.download import Download
from engine.hub.ledger import Ledger
from engine.hub.network import Network
from engine.hub.pacer import Pacer
from engine.hub.token import TokenStore
from engine.hub.transfer import Patience
from engine.hub.wanted import Wanted

REPO: Final = "bench/model"
COMMIT: Final = "b" * 40
NAME: Final = "model.gguf"
RATE: Final = 125_000_000
_PIECE: Final = 1 << 18


class Bucket:
    """The line's speed, shared by all connections."""

    def __init__(self, bytes_per_s: int) -> None:
        self._rate = bytes_per_s
        self._next = 0.0
        self._lock = threading.Lock()

    def wait(self, num_bytes: int) -> None:
        """Until they may go."""
        if not self._rate:
            return
        with self._lock:
            self._next = max(self._next, time.monotonic() - 0.02) + num_bytes / self._rate
            due = self._next
        time.sleep(max(0.0, due - time.monotonic()))


def answer(connection: socket.socket, file: int, size: int, bucket: Bucket) -> None:
    """Serve one connection."""
    with connection, connection.makefile("rb") as lines:
        while True:
            request = b""
            while (line := lines.readline()).strip():
                request += line
            if not request:
                return
            span = re.search(rb"(?i)range: bytes=(\d+)-(\d*)", request)
            start = int(span[1]) if span else 0
            end = int(span[2]) + 1 if span and span[2] else size
            status = "206 Partial Content" if span else "200 OK"
            head = f"HTTP/1.1 {status}\r\nContent-Length: {end - start}\r\n"
            head += f"Content-Range: bytes {start}-{end - 1}/{size}\r\n" if span else ""
            connection.sendall(f"{head}\r\n".encode())
            piece = _PIECE if bucket._rate else end - start
            while start < end:
                bucket.wait(min(piece, end - start))
                start += os.sendfile(connection.fileno(), file, start, min(piece, end - start))


def serve(path: str, bytes_per_s: int) -> None:
    """The server's process: prints its port, runs until it is killed."""
    file = os.open(path, os.O_RDONLY)
    size = os.fstat(file).st_size
    bucket = Bucket(bytes_per_s)
    with socket.create_server(("127.0.0.1", 0)) as server:
        print(server.getsockname()[1], flush=True)
        while True:
            connection, _ = server.accept()
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(
                target=answer, args=(connection, file, size, bucket), daemon=True
            ).start()


def fetch(url: str, folder: str, size: int, sha256: str) -> None:
    """Our process: prints seconds and seconds of CPU, without the start of Python."""
    wanted = Wanted(REPO, COMMIT, "main", NAME, (HubFile(NAME, size, sha256),))
    download = Download(
        Network(NetworkSettings(endpoint=url), Ledger(None), {}),
        TokenStore(Path(folder) / "token", {"HF_HOME": folder}),
        Pacer(),
        Path(folder) / "hub",
        wanted,
        stop=threading.Event(),
        report=lambda _: None,
        patience=Patience(),
    )
    before, began = resource.getrusage(resource.RUSAGE_SELF), time.perf_counter()
    download.run()
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_SELF)
    user, system = after.ru_utime - before.ru_utime, after.ru_stime - before.ru_stime
    print(json.dumps({"seconds": seconds, "cpu": user + system, "user": user}))


def ours(url: str, folder: Path, size: int, sha256: str) -> dict[str, float]:
    """One download of ours."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.download",
        "--fetch",
        url,
        str(folder),
        str(size),
        sha256,
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return dict(json.loads(done.stdout))


def curl(url: str, folder: Path) -> dict[str, float]:
    """One download with curl."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    target = f"{url}/{REPO}/resolve/{COMMIT}/{NAME}"
    subprocess.run(["curl", "-sSf", "-o", str(folder / "curl.out"), target], check=True)
    seconds, after = time.perf_counter() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return {"seconds": seconds, "cpu": cpu}


def compare(path: Path, work: Path, sha256: str, bytes_per_s: int, rounds: int) -> dict[str, Any]:
    """Ours and curl in turns, against one server."""
    size = path.stat().st_size
    command = [sys.executable, "-m", "benchmarks.download", "--serve", str(path), str(bytes_per_s)]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert server.stdout is not None
        url = f"http://127.0.0.1:{int(server.stdout.readline())}"
        seen: dict[str, list[dict[str, float]]] = {"ours": [], "curl": []}
        for _ in range(rounds):
            for name in seen:
                folder = work / name
                folder.mkdir()
                once = ours(url, folder, size, sha256) if name == "ours" else curl(url, folder)
                seen[name].append(once)
                shutil.rmtree(folder)
    finally:
        server.kill()
        server.wait()
        if server.stdout is not None:
            server.stdout.close()
    seconds = {n: statistics.median(r["seconds"] for r in runs) for n, runs in seen.items()}
    cpu = {n: statistics.median(r["cpu"] for r in runs) for n, runs in seen.items()}
    return {
        "ours_mb_s": round(size / seconds["ours"] / 1e6, 1),
        "curl_mb_s": round(size / seconds["curl"] / 1e6, 1),
        "ratio": round(seconds["curl"] / seconds["ours"], 3),
        "ours_core_percent_per_100_mb_s": round(cpu["ours"] * 100 / (size / 1e8), 1),
        "curl_core_percent_per_100_mb_s": round(cpu["curl"] * 100 / (size / 1e8), 1),
    }


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument(
        "--folder", help="where both write; default: the folder for temporary files"
    )
    parser.add_argument("--serve", nargs=2, help=argparse.SUPPRESS)
    parser.add_argument("--fetch", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        return serve(options.serve[0], int(options.serve[1]))
    if options.fetch:
        url, folder, size, sha256 = options.fetch
        return fetch(url, folder, int(size), sha256)
    if shutil.which("curl") is None:
        sys.exit("curl is the yardstick and is not installed; nothing was measured.")
    with tempfile.TemporaryDirectory(dir=options.folder) as name:
        path, digest = Path(name) / "source", hashlib.sha256()
        with path.open("wb") as file:
            for _ in range(options.megabytes):
                piece = os.urandom(1_000_000)
                digest.update(piece)
                file.write(piece)
        result = {
            "question": "download",
            "megabytes": options.megabytes,
            "limited": compare(path, Path(name), digest.hexdigest(), RATE, options.rounds),
            "unlimited": compare(path, Path(name), digest.hexdigest(), 0, options.rounds),
        }
    print(json.dumps(result))
    return None


if __name__ == "__main__":
    main()
