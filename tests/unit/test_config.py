"""Settings: where they come from, and what is said when they are wrong."""

from pathlib import Path

import pytest

from engine.config import Settings, load
from engine.errors import SetupError
from engine.paths import Paths


def test_without_anything_the_defaults_hold(tmp_path: Path) -> None:
    assert load(tmp_path / "settings.toml", {}) == Settings()


def test_file_then_environment(tmp_path: Path) -> None:
    file = tmp_path / "settings.toml"
    file.write_text('[server]\nport = 5000\nhost = "127.0.0.1"\n[generation]\ntemperature = 0.2\n')
    settings = load(file, {"INGLENOOK_SERVER_PORT": "6000", "INGLENOOK_MODELS_THREADS": "3"})
    assert settings.server.port == 6000
    assert settings.server.host == "127.0.0.1"
    assert settings.models.threads == 3
    assert settings.generation.temperature == 0.2
    assert settings.generation.top_k == Settings().generation.top_k


@pytest.mark.parametrize(
    ("text", "environment", "word"),
    [
        ("[server\n", {}, "settings.toml"),
        ('[server]\nport = "many"\n', {}, "server.port"),
        ("", {"INGLENOOK_SERVER_PORT": "many"}, "server.port"),
    ],
)
def test_a_wrong_setting_is_named(
    tmp_path: Path, text: str, environment: dict[str, str], word: str
) -> None:
    file = tmp_path / "settings.toml"
    file.write_text(text)
    with pytest.raises(SetupError, match=word):
        load(file, environment)


def test_a_data_folder_holds_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = Paths.find(tmp_path)
    assert all(
        p.is_relative_to(tmp_path) for p in (paths.data, paths.config, paths.cache, paths.logs)
    )
    monkeypatch.setenv("INGLENOOK_DATA_DIR", str(tmp_path / "other"))
    assert Paths.find().models == tmp_path / "other" / "models"
    assert Paths.find(tmp_path).models == tmp_path / "models"
    monkeypatch.delenv("INGLENOOK_DATA_DIR")
    assert "inglenook" in str(Paths.find().data)


def test_a_backend_for_one_model(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(
        '[models]\nbackend = "llama.cpp"\n[models.backend_for]\n"a.b-Q4" = "torch-cpu"\n'
    )
    assert load(path, {}).models.backend_for == {"a.b-Q4": "torch-cpu"}
    path.write_text("[models]\nbackend_for = 3\n")
    with pytest.raises(SetupError):
        load(path, {})


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("keep_disk_mib = -1", "keep_disk_mib"),
        ("keep_memory_mib = -1", "keep_memory_mib"),
        (f"keep_disk_mib = {1 << 50}", "keep_disk_mib"),
        ('keep = "cloud"', "keep"),
        ('speculation = "magic"', "speculation"),
    ],
)
def test_what_is_kept_and_guessed_has_limits(tmp_path: Path, text: str, word: str) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(f"[models]\n{text}\n")
    with pytest.raises(SetupError, match=word):
        load(path, {})


@pytest.mark.parametrize(("written", "read"), [("ngram", ""), ("", ""), ("off", "off")])
def test_the_old_word_for_guessing_means_the_default(
    tmp_path: Path, written: str, read: str
) -> None:
    path = tmp_path / "settings.toml"
    path.write_text(f'[models]\nspeculation = "{written}"\nkeep_disk_mib = 0\n')
    assert load(path, {}).models.speculation == read
