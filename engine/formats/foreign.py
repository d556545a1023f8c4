"""What a file is that is no GGUF, guessed from its first bytes. Pure. Neighbour: `engine.formats.gguf`."""

from typing import Final

from engine.errors import ModelFormatError

HEAD: Final = 4096
"""How many first bytes the guess wants."""

_AGAIN = "Download it again."
_FIND_GGUF = (
    "Look for a GGUF version of the model, or convert it with llama.cpp's convert_hf_to_gguf.py."
)

_MAGICS: Final[tuple[tuple[bytes, str, str], ...]] = (
    (
        b"version https://git-lfs",
        "is a Git LFS pointer that stands for a model, not the model",
        "Run `git lfs pull` in its repository, or download the file itself.",
    ),
    (b"\x89HDF", "is a Keras (HDF5) file, not a GGUF model", _FIND_GGUF),
    (b"PK\x03\x04", "is a ZIP archive or a PyTorch checkpoint, not a GGUF model", _FIND_GGUF),
    (b"\x80", "is a PyTorch checkpoint (pickle), not a GGUF model", _FIND_GGUF),
    (b"\x1f\x8b", "is a compressed archive (gzip), not a model", "Unpack it first."),
    (b"\xfd7zXZ", "is a compressed archive (xz), not a model", "Unpack it first."),
    (b"7z\xbc\xaf", "is a compressed archive (7z), not a model", "Unpack it first."),
    (b"\x28\xb5\x2f\xfd", "is a compressed archive (zstd), not a model", "Unpack it first."),
    (b"\x7fELF", "is a program, not a model", "Choose a file that ends in .gguf."),
    (b"MZ", "is a program, not a model", "Choose a file that ends in .gguf."),
)
_LEGACY: Final = (b"lmgg", b"fmgg", b"tjgg", b"algg")
"""GGML, GGMF, GGJT, GGLA: llama.cpp's formats of 2023, little-endian on disk."""


def not_gguf(name: str, head: bytes, size: int) -> ModelFormatError:
    """The error for a file that does not begin like a GGUF file.

    Args:
        name: printable file name.
        head: its first `HEAD` bytes, all of them where it is shorter.
        size: of the file, in bytes.
    """
    what, hint = _guess(head, size)
    return ModelFormatError(f"{name} {what}.", hint=hint, file=name)


def _guess(head: bytes, size: int) -> tuple[str, str]:
    text = head.lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if not head:
        return "is empty", _AGAIN
    if not head.strip(b"\0"):
        return "holds nothing but zeros: a download that never finished", _AGAIN
    if text.startswith((b"<!doctype", b"<html", b"<head", b"<?xml")):
        return (
            "is a web page, not a model",
            "Download the file itself instead of the page about it.",
        )
    if head.startswith(_LEGACY):
        return (
            "is in a format from before August 2023 (GGML)",
            "Look for a GGUF version of the model.",
        )
    if head[8:9] == b"{" and int.from_bytes(head[:8], "little") <= size:
        return "is a safetensors file, not a GGUF model", _FIND_GGUF
    for magic, what, hint in _MAGICS:
        if head.startswith(magic):
            return what, hint
    if text.startswith((b"{", b"[")):
        return "is a JSON text (perhaps a server's error message), not a model", _AGAIN
    if b"GGUF".startswith(head):
        return f"is cut off after {size} bytes", _AGAIN
    return "is not a GGUF model", "Choose a model file in the GGUF format; its name ends in .gguf."
