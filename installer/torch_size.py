"""How much installing torch would fetch: pip is asked what it would take, the files' servers how large that is.

pip must not fetch the packages just to answer: that needs the pip of `locks/pip.txt`, and is guarded besides.
"""

import json
import re
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from installer import pip
from installer.progress import Line, size

_DOWNLOAD = re.compile(r"^\s*Downloading \S+ \(([\d.]+) (MB|GB)\)")
_MOST_TO_ANSWER = 30.0  # MB; metadata and small packages may be read whole
_TIMEOUT_S = 20.0

ABOUT = "torch with CUDA is about 2.7 GB"
"""Said where the real size cannot be found. Measured: the Linux wheels of 2.13.0 and what they need."""


class TooLargeError(Exception):
    """Pip was about to fetch a large package instead of reading its metadata."""


@dataclass(frozen=True, slots=True)
class Size:
    """What would be fetched."""

    version: str = ""
    """torch's own; empty when it is there already."""
    local: int = 0
    """Bytes that lie on this machine."""
    remote: int = 0
    """Bytes to download."""
    unknown: int = 0
    """Files whose size nobody tells."""
    asked: bool = True
    """Whether pip's answer is known at all."""

    @property
    def total(self) -> int:
        """Bytes that are known of."""
        return self.local + self.remote

    def amount(self) -> str:
        """Such as `2.7 GB to download`."""
        if not self.asked or (self.unknown and not self.total):
            return f"the size could not be found ({ABOUT})"
        least = "at least " if self.unknown else ""
        if not self.local:
            return f"{least}{size(self.remote)} to download"
        if not self.remote and not self.unknown:
            return f"{size(self.local)}, all on this machine's disk"
        return f"{size(self.local)} on this machine's disk, {least}{size(self.remote)} to download"


def find(python: Path, arguments: list[str | Path], *, work: Path, line: Line, log: Path) -> Size:
    """Ask pip, installing nothing.

    Args:
        python: the environment's interpreter, with a pip that can answer without fetching.
        arguments: what pip would be given after `install`.
        work: a folder for pip's answer.
        line: shows what it is busy with.
        log: gets pip's output.

    Raises:
        SetupError: pip would fail as well.
    """
    report = work / "report.json"
    report.unlink(missing_ok=True)
    question = ["install", "--dry-run", "--use-feature=fast-deps", "--report", report, *arguments]
    try:
        pip.run(python, question, what="Asking for torch", line=line, log=log, watch=refuse_large)
    except TooLargeError:
        return Size(asked=False)
    try:
        return measure(json.loads(report.read_text(encoding="utf-8")))
    except (OSError, ValueError, KeyError, TypeError):
        return Size(asked=False)


def measure(report: dict[str, Any], length: Callable[[str], int | None] | None = None) -> Size:
    """Add up a report of pip's.

    Args:
        report: what `pip install --report` wrote.
        length: the bytes of a file on a server; default: ask it.
    """
    urls = [str(item["download_info"]["url"]) for item in report["install"]]
    versions = {
        item["metadata"]["name"].lower(): item["metadata"]["version"] for item in report["install"]
    }
    here = [_file_size(url) for url in urls if url.startswith("file:")]
    with ThreadPoolExecutor(max_workers=8) as pool:
        there = list(
            pool.map(length or content_length, (u for u in urls if not u.startswith("file:")))
        )
    return Size(
        version=str(versions.get("torch", "")),
        local=_sum(here),
        remote=_sum(there),
        unknown=[*here, *there].count(None),
    )


def content_length(url: str) -> int | None:
    """What the server says about one file; None when it does not."""
    if not url.startswith(("https://", "http://")):
        return None
    try:
        request = urllib.request.Request(url, method="HEAD")
        with urllib.request.urlopen(request, timeout=_TIMEOUT_S) as answer:
            return int(answer.headers["Content-Length"])
    except (OSError, ValueError, TypeError):  # offline, a private index, or no such header
        return None


def refuse_large(text: str) -> None:
    """Stop pip when an index offers neither metadata nor parts of files.

    Raises:
        TooLargeError: this line of pip's output says that a large file is being fetched.
    """
    found = _DOWNLOAD.match(text)
    if found and float(found[1]) * (1000 if found[2] == "GB" else 1) > _MOST_TO_ANSWER:
        raise TooLargeError


def _file_size(url: str) -> int | None:
    try:
        return Path(urllib.request.url2pathname(urllib.parse.urlsplit(url).path)).stat().st_size
    except OSError:
        return None


def _sum(sizes: Iterable[int | None]) -> int:
    return sum(each for each in sizes if each)
