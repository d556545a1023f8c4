"""What a repository offers to download: its GGUF files, put together to choices. Pure. Neighbour: `engine.hub.card`.

File names come from strangers: one that could walk out of a folder, or that a system does not take, is left out.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from engine.api.hub import FileKind, HubChoice, HubFile
from engine.errors import InvalidRequest
from engine.hub.cache_layout import checked_path
from engine.hub.split import SUFFIX, group, stem

_MOST_CHOICES: Final = 500
_MOST_NAME: Final = 200
_LISTED: Final = 12
_SHA256: Final = re.compile(r"[0-9a-f]{64}")

_QUANTIZATION: Final = re.compile(
    r"""(?<![a-z0-9])
    (?P<prefix>(?:ud|i1)-)?
    (?P<name> i?q[1-8]_(?:k(?:_(?:xxs|xs|s|m|l|xl))?|xxs|xs|s|m|l|xl|nl|[01](?:_[48]_[48])?)
            | tq[12]_0 | mxfp4(?:_moe)? | nvfp4 | bf16 | f16 | f32 | fp16 | fp32 | q[2-8] )
    (?![a-z0-9])""",
    re.IGNORECASE | re.VERBOSE,
)
_PLAIN_NAMES: Final = {"FP16": "F16", "FP32": "F32"}
_FULL_PRECISION: Final = frozenset({"", "F16", "F32", "BF16"})
_WORD: Final = re.compile(r"[^a-z0-9]+")
_DRAFT: Final = frozenset({"draft", "mtp", "eagle", "eagle2", "eagle3"})
_OTHER: Final = frozenset({"imatrix", "vocab", "lora", "adapter"})
"""Words of files that are no models, unless they are quantized: `model-imatrix-Q4_K_M.gguf` is one."""

_DEFAULTS: Final = (
    *("Q4_K_M", "UD-Q4_K_XL", "i1-Q4_K_M", "MXFP4", "MXFP4_MOE", "Q4_K_S", "Q4_K_L", "Q4_0"),
    *("IQ4_NL", "IQ4_XS", "Q5_K_M", "Q5_K_S", "Q6_K", "Q8_0"),
)
"""Which one is taken where nobody has said what fits: about 4.5 bits a weight cost little quality and half the memory of 8."""


def choices_of(files: Iterable[HubFile]) -> tuple[HubChoice, ...]:
    """Everything that can be downloaded, smallest first; at most 500 choices.

    Args:
        files: of the repository, as the hub lists them; other than GGUF files are passed over.
    """
    known: dict[Path, HubFile] = {}
    for file in files:
        if _is_offered(file):
            sha256 = file.sha256.lower()
            checked = sha256 if _SHA256.fullmatch(sha256) else ""
            known.setdefault(Path(file.path), HubFile(file.path, file.size_bytes, checked))
    choices = []
    for found in group(known):
        parts = tuple(known[path] for _, path in found.parts)
        name = found.first.as_posix()
        choices.append(
            HubChoice(
                name=name,
                kind=_kind(name),
                quantization=quantization_of(name),
                size_bytes=sum(part.size_bytes for part in parts),
                files=parts,
                missing_parts=found.total - len(parts),
            )
        )
    choices.sort(key=lambda choice: (choice.size_bytes, choice.name))
    return tuple(choices[:_MOST_CHOICES])


def choose(choices: Sequence[HubChoice], wanted: str, repo: str) -> HubChoice:
    """The choice that a person or a program means.

    Args:
        choices: of the repository.
        wanted: a `HubChoice.name`, a quantization in any case of letters, or empty: the recommended one, else a usual one.
        repo: for the message.

    Raises:
        InvalidRequest: there is none of that name, or there are several; the hint lists what there is.
    """
    models = [choice for choice in choices if choice.kind == "model"] or list(choices)
    if not models:
        raise InvalidRequest(
            f"{repo} has no GGUF files.",
            hint="Look for the model's name together with GGUF.",
            param="repo",
        )
    if not wanted:
        return _default(models)
    by_name = [choice for choice in choices if choice.name == wanted]
    exact = [c for c in models if c.quantization.lower() == wanted.lower()]
    bare = [c for c in models if _bare(c.quantization) == wanted.lower()]
    for found in (by_name, exact, bare):
        if len(found) == 1:
            return found[0]
    several = exact or bare
    listed = [c.name for c in several] if several else [c.quantization or c.name for c in models]
    raise InvalidRequest(
        f"{repo} has {'several' if several else 'no'} files for “{wanted[:_MOST_NAME]}”.",
        hint=f"Choose one of: {_listed(listed)}.",
        param="name",
    )


def quantization_of(path: str) -> str:
    """The quantization that a file's name tells, else its folder's, such as `Q4_K_M`, `UD-Q4_K_XL`, `BF16`; empty: none."""
    for part in reversed(PurePosixPath(path).parts):
        found = list(_QUANTIZATION.finditer(stem(part)))
        if found:
            name = found[-1]["name"].upper()
            prefix = (found[-1]["prefix"] or "").upper().replace("I1", "i1")
            return prefix + _PLAIN_NAMES.get(name, name)
    return ""


def _is_offered(file: HubFile) -> bool:
    return (
        file.path.lower().endswith(SUFFIX)
        and file.size_bytes > 0
        and _is_safe(file.path)
        and not (
            _words(file.path) & _OTHER and quantization_of(file.path).upper() in _FULL_PRECISION
        )
    )


def _is_safe(path: str) -> bool:
    """Would it be downloaded, and can its name be shown? Hidden files are no models: some systems leave them beside each file."""
    try:
        checked_path(path)
    except InvalidRequest:
        return False
    return path.isprintable() and not any(name.startswith(".") for name in path.split("/"))


def _kind(path: str) -> FileKind:
    words = _words(path)
    if "mmproj" in words:
        return "mmproj"
    return "draft" if words & _DRAFT else "model"


def _words(path: str) -> set[str]:
    """Of the file's name; a folder or the repository may be called after what only one of its files is."""
    return set(_WORD.split(stem(path.rpartition("/")[2]).lower()))


def _default(models: Sequence[HubChoice]) -> HubChoice:
    whole = [choice for choice in models if not choice.missing_parts] or models
    rank = {name: place for place, name in enumerate(_DEFAULTS)}
    return min(
        whole,
        key=lambda choice: (
            not choice.recommended,
            rank.get(choice.quantization, len(rank)),
            choice.size_bytes,
        ),
    )


def _bare(quantization: str) -> str:
    return quantization.lower().removeprefix("ud-").removeprefix("i1-")


def _listed(names: Sequence[str]) -> str:
    different = list(dict.fromkeys(names))
    more = f" and {len(different) - _LISTED} more" if len(different) > _LISTED else ""
    return ", ".join(different[:_LISTED]) + more
