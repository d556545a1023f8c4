"""The Hugging Face cache: where each byte of a download lies, so that other programs find it too. Nothing is written here.

::

    root/models--owner--name/blobs/<sha256>              the bytes
    root/models--owner--name/blobs/<sha256>.part         while they arrive (ours; the hub library starts anew each time)
    root/models--owner--name/snapshots/<commit>/<path>   links to the blobs, or the files themselves where links are refused
    root/models--owner--name/refs/<branch>               the commit
    root/.locks/models--owner--name/<sha256>.lock        as the hub library locks

Names come from a hub, so they are hostile: each is checked before it is joined. Source: huggingface_hub 2.4, `file_download.py`.
"""

import os
import re
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Final

from engine.errors import InvalidRequest

_REPO: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,95}/[A-Za-z0-9][A-Za-z0-9._-]{0,95}")
_COMMIT: Final = re.compile(r"[0-9a-f]{40}")
_DIGEST: Final = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_MOST_PATH_BYTES: Final = 255
"""Of one name on the usual file systems, and our limit for a path below a snapshot."""
_RESERVED: Final = re.compile(r"(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?", re.IGNORECASE)
_FORBIDDEN: Final = frozenset('\\:*?"<>|') | {chr(code) for code in (*range(32), 127)}


def hub_folder(
    folder: str = "", environment: Mapping[str, str] = os.environ, home: Path | None = None
) -> Path:
    """Where the cache is: the setting, then what the hub library would take."""
    home = home or Path.home()
    if folder:
        return Path(folder).expanduser()
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE"):
        if value := environment.get(name):
            return Path(value).expanduser()
    if value := environment.get("HF_HOME"):
        return Path(value).expanduser() / "hub"
    cache = environment.get("XDG_CACHE_HOME")
    return (Path(cache).expanduser() if cache else home / ".cache") / "huggingface" / "hub"


class RepoFolder:
    """The places of one repository."""

    def __init__(self, root: Path, repo: str) -> None:
        """Know them.

        Raises:
            InvalidRequest: the name is none.
        """
        self.root = root
        self.folder = root / f"models--{checked_repo(repo).replace('/', '--')}"

    def blob(self, digest: str) -> Path:
        """Of finished bytes, by SHA-256 (or the hub's SHA-1 of small files)."""
        return self.folder / "blobs" / _matching(_DIGEST, digest, "checksum")

    def part(self, digest: str) -> Path:
        """Of bytes that still arrive."""
        return self.folder / "blobs" / f"{_matching(_DIGEST, digest, 'checksum')}.part"

    def lock(self, digest: str) -> Path:
        """Held by whoever writes these bytes, the hub library included."""
        name = f"{_matching(_DIGEST, digest, 'checksum')}.lock"
        return self.root / ".locks" / self.folder.name / name

    def snapshot(self, commit: str, path: str) -> Path:
        """What other programs open."""
        commit = _matching(_COMMIT, commit, "commit")
        return self.folder / "snapshots" / commit / PurePosixPath(checked_path(path))

    def ref(self, revision: str) -> Path:
        """Says which commit a branch or tag is."""
        return self.folder / "refs" / PurePosixPath(checked_path(revision))


def checked_repo(repo: str) -> str:
    """The name of a repository, `owner/name`.

    Raises:
        InvalidRequest: it is none.
    """
    if not _REPO.fullmatch(repo) or "--" in repo or ".." in repo:
        raise _invalid("repository", repo)
    for part in repo.split("/"):
        _check_name(part, repo)
    return repo


def checked_path(path: str) -> str:
    """A path inside a repository, with `/` on every system.

    Raises:
        InvalidRequest: it would lead out of its folder, or some system could not keep it under this name.
    """
    try:
        size = len(path.encode())
    except UnicodeEncodeError:  # half of a surrogate pair
        size = 0
    if not 0 < size <= _MOST_PATH_BYTES:
        raise _invalid("file name", path)
    for part in path.split("/"):
        _check_name(part, path)
    return path


def _check_name(name: str, whole: str) -> None:
    if (
        not name
        or name[-1] in ". "
        or name[0] == " "
        or name == "~"
        or not _FORBIDDEN.isdisjoint(name)
        or _RESERVED.fullmatch(name)
    ):
        raise _invalid("file name", whole)


def _matching(pattern: re.Pattern[str], text: str, what: str) -> str:
    if not pattern.fullmatch(text):
        raise _invalid(what, text)
    return text


def _invalid(what: str, text: str) -> InvalidRequest:
    shown = ascii(text)[1:60]
    return InvalidRequest(
        f"The {what} “{shown}” of a download is not allowed.",
        hint="Nothing was written; choose another model.",
        param="repo",
    )
