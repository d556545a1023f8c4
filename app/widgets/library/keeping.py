"""The chosen model's file: is it whole, what it takes of the disk, deleting it.

Zone: app.widgets.library. Neighbours: `details` (shows it), `app.stores.keeping`, `app.stores.models`.
"""

from PySide6.QtCore import Qt, Signal, Slot
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QHBoxLayout, QLabel, QMessageBox, QVBoxLayout, QWidget

from app.item_models.library import size_text
from app.stores.models import ModelsStore
from app.theme import UNIT, tabular
from app.widgets.common.buttons import icon_button, plain_button
from app.widgets.common.labels import ElidedLabel, IconLabel, Role, divider, label, set_role
from app.widgets.common.progress_line import ProgressLine
from engine.api.keeping import DiskUse, Verified
from engine.api.models import ModelInfo


def may_delete(info: ModelInfo) -> bool:
    """May the file of a found or added model be deleted here? Other programs may still use theirs."""
    return info.origin in ("added", "Hugging Face")


class KeepingView(QWidget):
    """One model's file.

    Signals:
        said(str sentence): something worth a short notice happened.
    """

    said = Signal(str)

    def __init__(self, store: ModelsStore, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._store = store
        self.setAccessibleName(self.tr("On the disk"))
        self._disk = label("", "soft", wrap=True, selectable=True)
        self._disk.setObjectName("model-disk")
        self._make_verifying()
        self._make_result()
        self._delete = plain_button(
            self.tr("Delete the file…"), object_name="model-delete-file", icon_name="trash"
        )
        self._delete.setToolTip(self.tr("Move the file to the trash; you are asked first"))
        self._delete.clicked.connect(self.ask_to_delete)
        buttons = QHBoxLayout()
        buttons.setSpacing(UNIT)
        for button in (self._verify, self._stop, self._delete):
            buttons.addWidget(button)
        buttons.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(UNIT)
        column.addWidget(divider())
        column.addSpacing(UNIT)
        column.addWidget(label(self.tr("On the disk"), "title"))
        column.addWidget(self._disk)
        column.addWidget(self._progress)
        column.addWidget(self._result)
        column.addWidget(self._sums)
        column.addLayout(buttons)
        store.keeping.changed.connect(self.show_kept)

    def _make_verifying(self) -> None:
        self._verify = plain_button(
            self.tr("Verify"), object_name="model-verify", icon_name="check"
        )
        self._verify.setToolTip(self.tr("Read the whole file and compare its checksum"))
        self._verify.clicked.connect(self._store.keeping.verify)
        self._stop = plain_button(
            self.tr("Stop"), object_name="model-verify-stop", icon_name="stop"
        )
        self._stop.setToolTip(self.tr("Stop reading the file"))
        self._stop.clicked.connect(self._store.keeping.stop_verifying)
        self._progress = ProgressLine()

    def _make_result(self) -> None:
        self._icons = {
            "good": IconLabel("check", "good"),
            "error": IconLabel("warning", "error"),
            "soft": IconLabel("info", "soft"),
        }
        self._words = label("", wrap=True, selectable=True)
        self._words.setObjectName("model-verified")
        self._result = QWidget()
        row = QHBoxLayout(self._result)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(UNIT)
        for shown in self._icons.values():
            row.addWidget(shown, 0, Qt.AlignmentFlag.AlignTop)
        row.addWidget(self._words, 1)
        self._sum = ElidedLabel("", "soft", Qt.TextElideMode.ElideMiddle)
        self._sum.setObjectName("model-sha256")
        self._sum.setFont(tabular(self._sum.font()))
        copy = icon_button("copy", self.tr("Copy the SHA-256"), object_name="model-sha256-copy")
        copy.clicked.connect(self._copy_sum)
        self._sums = QWidget()
        sums = QHBoxLayout(self._sums)
        sums.setContentsMargins(0, 0, 0, 0)
        sums.setSpacing(UNIT)
        sums.addWidget(self._sum, 1)
        sums.addWidget(copy, 0, Qt.AlignmentFlag.AlignTop)

    # --- showing --------------------------------------------------------------------------------

    @Slot()
    def show_kept(self) -> None:
        """Show what the stores say of the chosen model."""
        info = self._store.get(self._store.selected)
        if info is None:
            return
        self._show_disk(info, self._store.keeping.disk)
        self._show_verified(self._store.keeping.verified)
        self._delete.setVisible(may_delete(info))
        moving = self._store.busy(info.id) or info.state in ("loading", "stopping")
        self._delete.setEnabled(not moving)

    def _show_disk(self, info: ModelInfo, disk: DiskUse | None) -> None:
        taken = (disk.models.get(info.id) if disk else None) or info.size_bytes
        words = self.tr("Takes {0} of the disk.").format(size_text(taken))
        if disk is not None and disk.models:
            everything = self.tr("All together: {0} in %n model(s)", "", len(disk.models))
            words += "\n" + everything.format(size_text(disk.total))
            if disk.free:
                words += self.tr(", {0} free").format(size_text(disk.free))
        self._disk.setText(words)

    def _show_verified(self, verified: Verified | None) -> None:
        running = verified is not None and verified.state == "running"
        focused = self._verify.hasFocus() or self._stop.hasFocus()
        self._verify.setVisible(not running)
        self._stop.setVisible(running)
        if focused:  # a button that is hidden would hand the keyboard to whatever follows
            (self._stop if running else self._verify).setFocus()
        self._verify.setEnabled(verified is not None)
        self._progress.setVisible(running)
        if running and verified is not None:
            percent = self.tr("Reading {0} %").format(int(100 * verified.fraction))
            self._progress.set_progress(verified.fraction, percent)
        role, words = self._outcome(verified)
        self._result.setVisible(bool(words))
        for name, shown in self._icons.items():
            shown.setVisible(name == role)
        set_role(self._words, role)
        self._words.setText(words)
        sums = verified.sha256 if verified and not running else ()
        self._sums.setVisible(bool(sums))
        self._sum.setText(" ".join(("SHA-256", *sums)))

    def _outcome(self, verified: Verified | None) -> tuple[Role, str]:
        if verified is None or verified.state == "running":
            return "soft", ""
        if verified.problem:
            return "error", verified.problem
        if verified.state == "ok":
            return "good", self.tr("Whole")
        if verified.state == "damaged":
            files = verified.damaged if len(verified.sha256) > 1 else ()
            return "error", "\n".join((self.tr("Damaged: download it again"), *files))
        if verified.sha256:
            words = self.tr("Read; nobody has said what its checksum should be")
            return "soft", words
        return "soft", ""

    # --- wishes ---------------------------------------------------------------------------------

    @Slot()
    def _copy_sum(self) -> None:
        verified = self._store.keeping.verified
        if verified is not None:
            QGuiApplication.clipboard().setText("\n".join(verified.sha256))
            self.said.emit(self.tr("The SHA-256 was copied."))

    @Slot()
    def ask_to_delete(self) -> QMessageBox | None:
        """Ask whether the chosen model's file shall go; the question is returned open."""
        info = self._store.get(self._store.selected)
        if info is None or not may_delete(info):
            return None
        box = QMessageBox(self)
        box.setObjectName("delete-file-question")
        box.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        box.setTextFormat(Qt.TextFormat.PlainText)
        box.setIcon(QMessageBox.Icon.Warning)
        box.setText(self.tr("Delete the file of {0}?").format(info.id))
        words = self.tr("{0}, in {1}").format(size_text(info.size_bytes), info.path)
        box.setInformativeText(
            words + "\n" + self.tr("It goes to the trash. Other programs that use it lose it, too.")
        )
        for shown in box.findChildren(QLabel):
            shown.setTextFormat(Qt.TextFormat.PlainText)  # a path is no markup
        yes = box.addButton(self.tr("Delete the file"), QMessageBox.ButtonRole.DestructiveRole)
        keep = box.addButton(QMessageBox.StandardButton.Cancel)
        box.setDefaultButton(keep)
        yes.clicked.connect(lambda: self._store.delete_file(info.id))
        box.open()
        return box
