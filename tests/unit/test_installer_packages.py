"""Which system packages are asked for, when, and of whom."""

import io
from pathlib import Path

import pytest

from engine.errors import SetupError
from installer import packages, stamp
from installer.packages import Need
from installer.progress import Line

MISSING = Need("libmissing1", lambda: False)
PRESENT = Need("libpresent1", lambda: True)
FONT = Need("fonts-missing", lambda: False, optional=True)


@pytest.fixture
def fake_apt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An apt-get that writes down its arguments and knows no package with `unknown` in its name."""
    script = tmp_path / "bin" / "apt-get"
    script.parent.mkdir()
    calls = tmp_path / "calls"
    script.write_text(
        f'#!/bin/sh\necho "$@" >> "{calls}"\n'
        'case "$*" in *unknown*) echo "E: Unable to locate package"; exit 100;; esac\n'
    )
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{script.parent}:/usr/bin:/bin")
    return calls


def ensure(needs: list[Need], folder: Path, *, root: bool) -> str:
    out = io.StringIO()
    packages.ensure(needs, line=Line(out), log=folder / "apt.log", root=root)
    return out.getvalue()


def test_qt_and_fonts_count_only_where_qt_starts() -> None:
    base = {need.package for need in packages.needs({stamp.BASE})}
    everything = {need.package for need in packages.needs({stamp.BASE, stamp.TEST, stamp.QT})}
    assert {"g++", "libgomp1"} <= base
    assert not base & {*packages.QT_LIBRARIES.values(), packages.CJK_FONT}
    assert {*packages.QT_LIBRARIES.values(), packages.CJK_FONT} <= everything


def test_a_user_is_told_one_line(fake_apt: Path, tmp_path: Path) -> None:
    with pytest.raises(SetupError) as caught:
        ensure([MISSING, PRESENT, FONT], tmp_path, root=False)
    commands = [text.strip() for text in caught.value.hint.splitlines() if "sudo" in text]
    assert commands == ["sudo apt-get install -y --no-install-recommends libmissing1 fonts-missing"]
    assert not fake_apt.exists()


def test_a_missing_font_alone_stops_nobody(fake_apt: Path, tmp_path: Path) -> None:
    assert "sudo apt-get" in ensure([PRESENT, FONT], tmp_path, root=False)
    assert not fake_apt.exists()


def test_root_installs_what_is_missing_at_once(fake_apt: Path, tmp_path: Path) -> None:
    ensure([MISSING, PRESENT, FONT], tmp_path, root=True)
    installs = [call for call in fake_apt.read_text().splitlines() if call.startswith("install")]
    assert len(installs) == 1
    assert installs[0].endswith("libmissing1 fonts-missing")


def test_root_does_without_a_font_that_cannot_be_had(fake_apt: Path, tmp_path: Path) -> None:
    ensure([MISSING, Need("fonts-unknown", lambda: False, optional=True)], tmp_path, root=True)
    assert fake_apt.read_text().splitlines()[-1].endswith("libmissing1")


def test_a_failed_install_says_what_apt_said(fake_apt: Path, tmp_path: Path) -> None:
    with pytest.raises(SetupError) as caught:
        ensure([Need("unknown", lambda: False)], tmp_path, root=True)
    assert "Unable to locate package" in caught.value.hint


def test_nothing_missing_calls_nobody(fake_apt: Path, tmp_path: Path) -> None:
    assert ensure([PRESENT], tmp_path, root=True) == ""
    assert not fake_apt.exists()


def test_libraries_are_found_by_loading_them() -> None:
    assert packages.loads("libc.so.6")
    assert not packages.loads("libinglenook-none.so.9")


def test_cjk_fonts_are_known_by_name(tmp_path: Path) -> None:
    fonts = tmp_path / "truetype"
    fonts.mkdir()
    (fonts / "DejaVuSans.ttf").touch()
    assert not packages.has_cjk_font([str(tmp_path)])
    (fonts / "wqy-microhei.ttc").touch()
    assert packages.has_cjk_font([str(tmp_path)])
