"""The box that is shown where the window itself cannot be: it says why, and offers to try again."""

from PySide6.QtCore import QCoreApplication
from PySide6.QtWidgets import QMessageBox

from engine.errors import EngineError


def ask_to_try_again(error: EngineError) -> bool:
    """Show why the start failed and what to do; True where the user has done it."""
    box = QMessageBox(QMessageBox.Icon.Critical, "Inglenook", error.message)
    box.setInformativeText(error.hint)
    again = box.addButton(
        QCoreApplication.translate("start_error", "Try again"), QMessageBox.ButtonRole.AcceptRole
    )
    box.addButton(QMessageBox.StandardButton.Close)
    box.setDefaultButton(again)
    box.exec()
    return box.clickedButton() is again
