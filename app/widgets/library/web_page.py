"""Opening a page in the user's browser: on a click only, http and https only."""

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices


def open_web_page(address: str) -> None:
    """Do it; any other address does nothing."""
    url = QUrl(address)
    if url.isValid() and url.scheme() in ("http", "https") and url.host():
        QDesktopServices.openUrl(url)
