"""The language of the window: Qt Linguist catalogues, loaded and changed at run time.

Zone: app, below the widgets. The catalogues lie in `resources/translations`; English has one too,
for its plurals. Widgets hear of a change by `LanguageChange` (`QWidget.changeEvent`).
"""

from typing import Final, Literal

from PySide6.QtCore import QCoreApplication, QLibraryInfo, QLocale, QObject, QTranslator, Signal

from app.theme import resource

Language = Literal["system", "en", "zh_CN"]

LANGUAGES: Final = {"en": "English", "zh_CN": "简体中文"}
"""What there is a catalogue for, each under its own name."""


def system_language() -> str:
    """The first of the user's languages that there is a catalogue for, else English."""
    for name in QLocale.system().uiLanguages():
        locale = QLocale(name)
        if locale.language() == QLocale.Language.English:
            return "en"
        # Traditional readers are better served by Simplified Chinese than by English.
        if locale.language() == QLocale.Language.Chinese:
            return "zh_CN"
    return "en"


class Translation(QObject):
    """Puts one language's catalogues, Qt's own and ours, into the application.

    Signals:
        changed(): another language is in force; Qt posts `LanguageChange` to the widgets, which
            arrives with the next turn of the event loop.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._translators: list[QTranslator] = []
        self.language = ""

    def set_language(self, language: Language) -> None:
        """Change the language of everything, number formats included."""
        wanted = system_language() if language == "system" else language
        if wanted == self.language:
            return
        self.language = wanted
        for old in self._translators:
            QCoreApplication.removeTranslator(old)
        QLocale.setDefault(_number_formats(wanted))
        qt_folder = QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)
        self._translators = [
            # Qt's sentences (dialog buttons, context menus) may be missing in a small bundle: no harm.
            self._install(f"qtbase_{wanted}", qt_folder),
            self._install(f"inglenook_{wanted}", str(resource("translations"))),
        ]
        self.changed.emit()

    def _install(self, name: str, folder: str) -> QTranslator:
        translator = QTranslator(self)
        if translator.load(name, folder):
            QCoreApplication.installTranslator(translator)
        return translator


def _number_formats(language: str) -> QLocale:
    """The system's formats where it speaks the language, else the language's usual ones."""
    system = QLocale.system()
    locale = QLocale(language)
    return system if system.language() == locale.language() else locale
