"""What is to be downloaded: the files that belong together, and the checks before anything is done with them.

Neighbours: `download` (fetches it), `space` (is there room for it?), `download_queue` (remembers it).
"""

import hashlib
from pathlib import Path
from typing import Final

import msgspec

from engine.api.hub import HubFile
from engine.errors import InvalidRequest
from engine.hub.cache_layout import RepoFolder

MOST_BYTES: Final = 1 << 40
"""Of one file; more is no model but an attack on the bookkeeping."""
_MOST_FILES: Final = 500
_OTHER: Final = "Choose another model."


class Wanted(msgspec.Struct, frozen=True):
    """What is to be downloaded."""

    repo: str
    """`owner/name`."""
    revision: str
    """Commit, 40 hexadecimal digits."""
    ref: str
    """Branch or tag that it was chosen by."""
    name: str
    """For people, and how the library's card calls it."""
    files: tuple[HubFile, ...]
    """The first is the one a model is opened by."""

    @property
    def total_bytes(self) -> int:
        """Of all files."""
        return sum(file.size_bytes for file in self.files)

    @property
    def id(self) -> str:
        """The same repository, commit and files are the same download."""
        what = "\n".join([self.repo, self.revision, *sorted(file.path for file in self.files)])
        return hashlib.sha256(what.encode()).hexdigest()[:12]

    def check(self, root: Path) -> None:
        """Look at every name and number before anything is done with it.

        Raises:
            InvalidRequest: one is not acceptable.
        """
        folder = RepoFolder(root, self.repo)
        folder.ref(self.ref or "main")
        if not 0 < len(self.files) <= _MOST_FILES:
            raise InvalidRequest(
                "A download has between 1 and 500 files.", hint=_OTHER, param="files"
            )
        paths = {folder.snapshot(self.revision, file.path) for file in self.files}
        if len(paths) < len(self.files):
            raise InvalidRequest("A download names a file twice.", hint=_OTHER, param="files")
        for file in self.files:
            folder.blob(self.key(file))
            if len(file.sha256) not in (0, 64) or not 0 < file.size_bytes <= MOST_BYTES:
                raise InvalidRequest(
                    "The hub names a size or a checksum that no model has.",
                    hint=_OTHER,
                    param="files",
                )

    def key(self, file: HubFile) -> str:
        """What its bytes are called while they arrive: their SHA-256, or where nobody knows it, one of their place."""
        place = f"{self.repo}\n{self.revision}\n{file.path}"
        return file.sha256 or hashlib.sha256(place.encode()).hexdigest()
