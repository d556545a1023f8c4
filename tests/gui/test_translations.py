"""The catalogues are complete, fit the source, and take effect while the window is open."""

import filecmp
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QCoreApplication, QLocale
from PySide6.QtWidgets import QAbstractButton, QApplication, QWidget
from pytestqt.qtbot import QtBot

from app.translation import LANGUAGES, Translation, system_language
from app.widgets.common.error_box import ErrorBox
from tests.helpers import translations as tool

pytestmark = pytest.mark.gui

HINT = "run: python -m tests.helpers.translations update"


@pytest.fixture
def translation(qapp: QApplication) -> Iterator[Translation]:
    before = QLocale()
    translation = Translation()
    yield translation
    translation.set_language("en")
    translation.deleteLater()
    QLocale.setDefault(before)


@pytest.fixture(scope="module")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The catalogues as an update would leave them."""
    folder = tmp_path_factory.mktemp("catalogues")
    for path in tool.CATALOGUES.glob("*.ts"):
        shutil.copy(path, folder)
    tool.update(folder)
    return folder


@pytest.mark.parametrize("language", LANGUAGES)
def test_catalogues_hold_what_the_source_says(language: str, fresh: Path) -> None:
    name = f"inglenook_{language}.ts"
    kept = {message.key for message in tool.messages(tool.CATALOGUES / name)}
    wanted = {message.key for message in tool.messages(fresh / name)}
    assert sorted(wanted - kept) == [], f"not in the catalogue; {HINT}"
    assert sorted(kept - wanted) == [], f"vanished from the source; {HINT}"


@pytest.mark.parametrize("language", LANGUAGES)
def test_everything_is_translated(language: str) -> None:
    for message in tool.messages(tool.CATALOGUES / f"inglenook_{language}.ts"):
        assert message.context, f"{message.source!r}: call translate() by its full name"
        assert message.finished, f"{message.key} has no translation"
        for form in message.forms:
            assert form.strip(), message.key
            assert tool.placeholders(form) == tool.placeholders(message.source), message.key
            assert form.endswith("\n") == message.source.endswith("\n"), message.key


@pytest.mark.parametrize("language", LANGUAGES)
def test_compiled_catalogues_are_fresh(language: str, tmp_path: Path) -> None:
    catalogue = tool.CATALOGUES / f"inglenook_{language}.ts"
    compiled = tmp_path / "fresh.qm"
    tool.compile_catalogue(catalogue, compiled)
    assert filecmp.cmp(compiled, catalogue.with_suffix(".qm"), shallow=False), HINT


def test_the_language_changes_while_a_widget_is_shown(
    translation: Translation, qtbot: QtBot
) -> None:
    translation.set_language("en")
    box = ErrorBox()
    qtbot.addWidget(box)
    fold = box.findChild(QAbstractButton, "error_fold")
    assert fold is not None
    assert fold.text() == "Details"
    with qtbot.waitSignal(translation.changed):
        translation.set_language("zh_CN")
    qtbot.waitUntil(lambda: fold.text() == "详细信息")
    # Qt's own sentences come with it: the buttons of its dialogs.
    assert QCoreApplication.translate("QPlatformTheme", "Cancel") == "取消"
    translation.set_language("en")
    qtbot.waitUntil(lambda: fold.text() == "Details")
    assert QCoreApplication.translate("QPlatformTheme", "Cancel") == "Cancel"


def test_the_same_language_again_changes_nothing(translation: Translation, qtbot: QtBot) -> None:
    translation.set_language("zh_CN")
    with qtbot.assertNotEmitted(translation.changed):
        translation.set_language("zh_CN")


def test_numbers_are_written_in_the_language(translation: Translation) -> None:
    translation.set_language("zh_CN")
    assert QLocale().language() is QLocale.Language.Chinese
    assert QLocale().toString(8192) == "8,192"
    translation.set_language("system")
    assert translation.language == system_language()


@pytest.mark.parametrize(
    ("languages", "expected"),
    [
        (["zh-Hans-CN", "en-US"], "zh_CN"),
        (["zh-TW"], "zh_CN"),
        (["de-DE", "zh-CN"], "zh_CN"),
        (["de-DE", "en-GB"], "en"),
        (["fr-FR"], "en"),
        ([], "en"),
    ],
)
def test_the_first_language_that_is_spoken_wins(
    languages: list[str], expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class System(QLocale):
        def uiLanguages(self) -> list[str]:
            return languages

    monkeypatch.setattr(QLocale, "system", staticmethod(System))
    assert system_language() == expected


def test_a_widget_made_later_speaks_it_too(translation: Translation, qtbot: QtBot) -> None:
    translation.set_language("zh_CN")
    parent = QWidget()
    qtbot.addWidget(parent)
    fold = ErrorBox(parent).findChild(QAbstractButton, "error_fold")
    assert fold is not None
    assert fold.text() == "详细信息"
