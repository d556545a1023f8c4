"""The translators' tool: `python -m tests.helpers.translations update`.

Reads the strings of `app` into the catalogues (`.ts`), keeps what is translated, drops what has
vanished, compiles them (`.qm`) and lists what is left to translate.
"""

import re
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
CATALOGUES = ROOT / "resources" / "translations"
LANGUAGES = ("en", "zh_CN")
PLACEHOLDER = re.compile(r"\{[^{}]*\}|%n|%L?\d|&(?=\w)")


@dataclass(frozen=True)
class Message:
    context: str
    source: str
    comment: str
    forms: tuple[str, ...]
    """The translation; several with plurals."""
    finished: bool

    @property
    def key(self) -> tuple[str, str, str]:
        return self.context, self.source, self.comment


def update(folder: Path = CATALOGUES) -> None:
    """Bring the catalogues in `folder` up to the source, and compile them."""
    sources = sorted(str(p.relative_to(ROOT)) for p in (ROOT / "app").rglob("*.py"))
    for language in LANGUAGES:
        catalogue = folder / f"inglenook_{language}.ts"
        only = ["-pluralonly"] if language == "en" else []
        fixed = ["-locations", "none", "-no-obsolete", "-no-ui-lines"]
        _tool("lupdate", *fixed, *only, "-source-language", "en", "-target-language", language,
              *sources, "-ts", str(catalogue))  # fmt: skip
        compile_catalogue(catalogue, catalogue.with_suffix(".qm"))


def compile_catalogue(catalogue: Path, target: Path) -> None:
    """Write the `.qm` that belongs to a `.ts`."""
    _tool("lrelease", "-silent", "-nounfinished", str(catalogue), "-qm", str(target))


def messages(catalogue: Path) -> Iterator[Message]:
    """Everything in a `.ts`."""
    for context in ET.parse(catalogue).getroot().iter("context"):
        for message in context.iter("message"):
            translation = message.find("translation")
            assert translation is not None
            numerus = [form.text or "" for form in translation.iter("numerusform")]
            yield Message(
                context.findtext("name") or "",
                message.findtext("source") or "",
                message.findtext("comment") or "",
                tuple(numerus or [translation.text or ""]),
                finished=translation.get("type") is None,
            )


def placeholders(text: str) -> list[str]:
    """What a translation must repeat: `{name}`, `%n`, `%1`, and an accelerator."""
    return sorted(PLACEHOLDER.findall(text))


def _tool(name: str, *arguments: str) -> None:
    path = shutil.which(f"pyside6-{name}", path=str(Path(sys.executable).parent))
    assert path is not None, f"pyside6-{name} is not beside this Python"
    subprocess.run([path, *arguments], cwd=ROOT, check=True, capture_output=True, text=True)


if __name__ == "__main__":
    if sys.argv[1:] != ["update"]:
        sys.exit(__doc__)
    update()
    for name in LANGUAGES:
        for found in messages(CATALOGUES / f"inglenook_{name}.ts"):
            if not found.finished:
                print(f"{name}: {found.context}: {found.source!r}")
