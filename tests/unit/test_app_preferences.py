import os
import stat
import tomllib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.preferences import Preferences, load, save
from engine import config
from engine.errors import InvalidRequest, SetupError


def test_no_file_gives_the_defaults(tmp_path: Path) -> None:
    assert load(tmp_path / "none.toml") == Preferences()


def test_what_is_saved_is_loaded_by_window_and_service(tmp_path: Path) -> None:
    path = tmp_path / "new" / "settings.toml"
    save(path, {"desktop.theme": "dark", "models.threads": 3, "generation.top_p": 0.5})
    loaded = load(path)
    assert (loaded["desktop.theme"], loaded["models.threads"], loaded["generation.top_p"]) == (
        "dark",
        3,
        0.5,
    )
    assert config.load(path).models.threads == 3
    assert [p.name for p in path.parent.iterdir()] == ["settings.toml"]


def test_comments_unknown_keys_and_other_values_stay(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text('# mine\n[server]\nport = 1 # low\nnew_thing = "x"\n\n[other]\na = [1]\n')
    save(path, {"server.port": 4000, "desktop.language": "zh_CN"})
    text = path.read_text()
    assert "# mine" in text
    assert "port = 4000 # low" in text
    assert tomllib.loads(text)["server"]["new_thing"] == "x"
    assert tomllib.loads(text)["other"] == {"a": [1]}
    assert load(path)["desktop.language"] == "zh_CN"


@given(st.text())
def test_any_text_survives(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.mktemp("s") / "settings.toml"
    try:
        text.encode()
    except UnicodeEncodeError:
        return
    save(path, {"models.folder": text})
    assert load(path)["models.folder"] == text


def test_a_damaged_file_is_told_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text("port = = 1")
    with pytest.raises(SetupError, match=r"settings\.toml cannot be read"):
        load(path)
    with pytest.raises(SetupError, match="cannot be read"):
        save(path, {"models.threads": 1})
    assert path.read_text() == "port = = 1"


def test_a_section_that_is_no_table_is_told_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text("desktop = 3\n")
    with pytest.raises(SetupError):
        load(path)
    with pytest.raises(SetupError):
        save(path, {"desktop.theme": "dark"})
    assert path.read_text() == "desktop = 3\n"


@pytest.mark.skipif(not hasattr(os, "geteuid"), reason="POSIX permissions")
def test_a_place_that_cannot_be_written_is_told(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(SetupError, match="could not be saved"):
        save(blocked / "settings.toml", {"models.threads": 1})


@pytest.mark.skipif(os.name != "posix", reason="POSIX permissions and links")
def test_only_the_owner_can_read_it_and_a_link_stays(tmp_path: Path) -> None:
    real, link = tmp_path / "real.toml", tmp_path / "settings.toml"
    real.write_text("")
    link.symlink_to(real)
    save(link, {"server.api_key": "secret"})
    assert link.is_symlink()
    assert stat.S_IMODE(real.stat().st_mode) == 0o600
    assert load(link)["server.api_key"] == "secret"


def test_values_are_checked() -> None:
    preferences = Preferences()
    assert preferences.with_value("models.threads", 2)["models.threads"] == 2
    assert preferences["models.threads"] == 0
    for name, value in (
        ("models.threads", -1),
        ("server.port", 70_000),
        ("desktop.theme", "pink"),
        ("generation.temperature", float("nan")),
    ):
        with pytest.raises(InvalidRequest):
            preferences.with_value(name, value)
    with pytest.raises(ValueError, match="no such setting"):
        preferences.with_value("models.colour", 1)
