"""House rules that a linter does not know: sizes, names, every module tested, lock files."""

import re
import statistics
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
MODULES = sorted(
    path
    for package in ("app", "engine", "resources", "installer")
    for path in (ROOT / package).rglob("*.py")
)
TESTS = " ".join(path.read_text() for path in (ROOT / "tests").rglob("*.py"))


def test_modules_stay_small() -> None:
    lines = {path: len(path.read_text().splitlines()) for path in MODULES}
    assert {str(p): n for p, n in lines.items() if n > 400} == {}
    assert statistics.median(n for n in lines.values() if n > 3) <= 130


def test_no_grab_bags() -> None:
    forbidden = {"utils", "util", "helpers", "misc", "common", "core"}
    assert [path for path in MODULES if path.stem in forbidden] == []


@pytest.mark.parametrize(
    "module",
    [p for p in MODULES if p.parts[-2] != "installer" and p.stem not in ("__init__", "__main__")],
    ids=lambda p: str(p.relative_to(ROOT)),
)
def test_every_module_is_used_by_a_test_or_by_a_tested_module(module: Path) -> None:
    name = ".".join(module.relative_to(ROOT).with_suffix("").parts)
    package, stem = name.rsplit(".", 1)
    used = re.compile(rf"{re.escape(name)}\b|from {re.escape(package)} import [^\n]*\b{stem}\b")
    sources = [TESTS, *(p.read_text() for p in MODULES if p != module)]
    assert any(used.search(source) for source in sources)


def test_lock_files_name_no_host_and_reach_no_torch() -> None:
    locks = list((ROOT / "installer" / "locks").glob("*.txt"))
    assert locks
    for lock in locks:
        text = lock.read_text().lower()
        assert "://" not in text, lock
        names = [line.split("==")[0].strip() for line in text.splitlines() if "==" in line]
        assert not [n for n in names if n in ("torch", "triton") or n.startswith("nvidia-c")], lock
