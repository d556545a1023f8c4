"""Settings: how the hub is reached, as whom, and what was connected to. Neighbours: `section`, `ledger`, `app.stores.network`."""

from typing import Final

from PySide6.QtCore import Qt, QUrl, Slot
from PySide6.QtGui import QShowEvent
from PySide6.QtWidgets import QFileDialog, QHBoxLayout, QLineEdit, QWidget

from app.stores.network import NetworkStore
from app.stores.settings import SettingsStore
from app.theme import UNIT
from app.widgets.common.buttons import plain_button
from app.widgets.common.error_box import ErrorBox
from app.widgets.settings.fields import NumberField, SwitchField
from app.widgets.settings.ledger import Ledger
from app.widgets.settings.section import Section
from app.widgets.settings.text_field import TextField

_KIB_PER_MB: Final = 1024.0
_PROXIES: Final = frozenset({"http", "https", "socks5", "socks5h", "socks4", "socks4a"})


class NetworkSection(Section):
    """Offline switch, hub, proxy, token, downloads, ledger."""

    def __init__(
        self, store: SettingsStore, network: NetworkStore, parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self._store, self._network = store, network
        self.set_title(self.tr("Network"))
        self._trouble = ErrorBox()
        self._trouble.acted.connect(network.refresh)
        self.add_widget(self._trouble)
        self._offline_words = self.add_row(
            self.tr("Offline"),
            "",
            SwitchField(store, "network.offline"),
            object_name="settings-offline",
        )
        self._add_ways(store)
        self._token_words = self.add_row(
            self.tr("Token"), "", self._token_box(), object_name="settings-token-box"
        )
        self._add_downloads(store)
        self.add_widget(Ledger(network))
        store.changed.connect(self._show)
        network.changed.connect(self._show)
        self._show()

    def _add_ways(self, store: SettingsStore) -> None:
        self._hub = TextField(store, "network.endpoint", _is_hub)
        self.add_row(
            self.tr("Hub"),
            self.tr("Address of the model hub, or of a mirror of it; it begins with https://."),
            self._hub,
            object_name="settings-hub",
        )
        self._proxy = TextField(store, "network.proxy", _is_proxy)
        self._proxy.setPlaceholderText(self.tr("As the system says"))
        self.add_row(
            self.tr("Proxy"),
            self.tr("Such as http://proxy:3128 or socks5h://localhost:1080."),
            self._proxy,
            object_name="settings-proxy",
        )

    def _add_downloads(self, store: SettingsStore) -> None:
        self.add_row(
            self.tr("Download limit"),
            self.tr("In MB a second, for all downloads together."),
            NumberField(
                store,
                "network.download_limit_kib_s",
                decimals=1,
                step=1.0,
                scale=_KIB_PER_MB,
                special=self.tr("None"),
            ),
            object_name="settings-download-limit",
        )
        self._folder_words = self.add_row(
            self.tr("Folder of downloads"),
            "",
            self._folder_buttons(),
            object_name="settings-hub-folder",
        )

    def _token_box(self) -> QWidget:
        self._token = QLineEdit()
        self._token.setObjectName("settings-token")
        self._token.setEchoMode(QLineEdit.EchoMode.Password)
        self._token.setMaxLength(500)
        self._token.setMinimumWidth(176)
        self._token.setAccessibleName(self.tr("Token"))
        self._token.setToolTip(
            self.tr("From your account's page of the hub, with the right to read")
        )
        self._token.setPlaceholderText(self.tr("hf_…"))
        self._token.textChanged.connect(self._show_buttons)
        self._token.returnPressed.connect(self._keep_token)
        self._keep = plain_button(self.tr("Keep"), object_name="settings-token-keep")
        self._keep.setToolTip(self.tr("Keep this token in a file that only you can read"))
        self._keep.clicked.connect(self._keep_token)
        self._forget = plain_button(self.tr("Forget"), object_name="settings-token-forget")
        self._forget.setToolTip(self.tr("Forget the token that is kept here"))
        self._forget.clicked.connect(self._network.forget_token)
        box = QWidget()
        row = QHBoxLayout(box)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(UNIT)
        for widget in (self._token, self._keep, self._forget):
            row.addWidget(widget)
        box.setFocusProxy(self._token)
        return box

    def _folder_buttons(self) -> QWidget:
        choose = plain_button(
            self.tr("Choose…"), object_name="settings-hub-folder-choose", icon_name="folder-open"
        )
        choose.setToolTip(self.tr("Choose the folder that downloads go to"))
        choose.clicked.connect(self.choose_folder)
        self._usual = plain_button(
            self.tr("Use the default"), object_name="settings-hub-folder-default"
        )
        self._usual.setToolTip(self.tr("The hub's own folder, where other programs find them, too"))
        self._usual.clicked.connect(self._use_default)
        box = QWidget()
        row = QHBoxLayout(box)
        row.setContentsMargins(0, 0, 0, 0)
        row.addWidget(self._usual)
        row.addWidget(choose)
        box.setFocusProxy(choose)
        return box

    def showEvent(self, event: QShowEvent) -> None:
        """Qt's hook: how it stands is asked when somebody looks."""
        super().showEvent(event)
        self._network.refresh()

    # --- wishes ---------------------------------------------------------------------------------

    @Slot()
    def choose_folder(self) -> QFileDialog:
        """Ask for a folder; the dialog is returned open."""
        now = self._store.values["network.hub_folder"]
        dialog = QFileDialog(self, self.tr("Choose the folder of downloads"), now)
        dialog.setObjectName("settings-hub-folder-dialog")
        dialog.setFileMode(QFileDialog.FileMode.Directory)
        dialog.setOption(QFileDialog.Option.ShowDirsOnly)
        dialog.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        dialog.fileSelected.connect(self._use_folder)
        dialog.open()
        return dialog

    @Slot(str)
    def _use_folder(self, folder: str) -> None:
        self._store.set("network.hub_folder", folder)

    @Slot()
    def _use_default(self) -> None:
        self._use_folder("")

    @Slot()
    def _keep_token(self) -> None:
        token = self._token.text().strip()
        if token:
            self._token.clear()
            self._network.set_token(token)

    # --- showing --------------------------------------------------------------------------------

    @Slot()
    def _show(self) -> None:
        access = self._network.access
        if self._network.problem:
            self._trouble.show_error(self._network.problem, action=self.tr("Try again"))
        else:
            self._trouble.clear()
        offline = access.offline if access else bool(self._store.values["network.offline"])
        self._offline_words.setText(
            self.tr("On: nothing here connects to another machine. No search, no download.")
            if offline
            else self.tr("Off: the hub is reached when you search or download, and only then.")
        )
        self._hub.setPlaceholderText(access.endpoint if access else "https://huggingface.co")
        has_password = "@" in self._store.values["network.proxy"]
        self._proxy.setEchoMode(
            QLineEdit.EchoMode.PasswordEchoOnEdit if has_password else QLineEdit.EchoMode.Normal
        )
        self._token_words.setText(self._token_state())
        folder = self._store.values["network.hub_folder"]
        self._folder_words.setText(
            folder or self.tr("The hub's own folder, where other programs find them, too.")
        )
        self._usual.setVisible(bool(folder))
        self._show_buttons()

    def _token_state(self) -> str:
        access = self._network.access
        if access is None:
            return "…"
        words = {
            "none": self.tr("None. It is needed only for models whose licence has to be accepted."),
            "app": self.tr("Set, in this app."),
            "environment": self.tr("Set, from the environment."),
            "hub": self.tr("Set, from the hub's own tools."),
        }[access.token]
        if access.token_refused:
            whose = self.tr("The hub does not accept it: it may have expired or been revoked.")
        else:
            whose = self.tr("It is {0}'s.").format(access.user) if access.user else ""
        return f"{words} {whose}".strip()

    @Slot()
    def _show_buttons(self) -> None:
        access = self._network.access
        self._keep.setEnabled(bool(self._token.text().strip()))
        self._forget.setVisible(access is not None and access.token == "app")  # noqa: S105 -- where it is from


def _is_hub(text: str) -> bool:
    url = QUrl(text, QUrl.ParsingMode.StrictMode)
    return not text or (url.isValid() and url.scheme() in ("http", "https") and bool(url.host()))


def _is_proxy(text: str) -> bool:
    url = QUrl(text, QUrl.ParsingMode.StrictMode)
    return not text or (url.isValid() and url.scheme() in _PROXIES and bool(url.host()))
