"""Settings: language and look. Neighbour: `section`."""

from PySide6.QtWidgets import QWidget

from app.stores.settings import SettingsStore
from app.widgets.settings.fields import ChoiceField
from app.widgets.settings.section import Section


class GeneralSection(Section):
    """How the window speaks and looks."""

    def __init__(self, store: SettingsStore, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.set_title(self.tr("General"))
        system = self.tr("As the system")
        languages = [("system", system), ("en", "English"), ("zh_CN", "简体中文")]
        self.add_row(
            self.tr("Language"),
            self.tr("Of the window; models answer in whatever language they are asked."),
            ChoiceField(store, "desktop.language", languages),
            object_name="settings-language",
        )
        themes = [
            ("system", system),
            ("light", self.tr("Light")),
            ("dark", self.tr("Dark")),
        ]
        self.add_row(
            self.tr("Theme"),
            self.tr("Warm paper or warm dark."),
            ChoiceField(store, "desktop.theme", themes),
            object_name="settings-theme",
        )
