"""How a download is written: its state, how far it is, how long it still takes. Pure but for the language in force."""

from PySide6.QtCore import QCoreApplication, QLocale

from app.item_models.hub_words import joined
from app.item_models.library import size_text
from engine.api.hub import DownloadInfo

_GIB = 1 << 30
_MIB = 1 << 20


def state_text(info: DownloadInfo) -> str:
    """The state in a word or two."""
    return {
        "queued": QCoreApplication.translate("Downloads", "Waits for its turn"),
        "running": QCoreApplication.translate("Downloads", "Downloading"),
        "waiting": QCoreApplication.translate("Downloads", "No connection, tries again"),
        "paused": QCoreApplication.translate("Downloads", "Paused"),
        "checking": QCoreApplication.translate("Downloads", "Checking"),
        "done": QCoreApplication.translate("Downloads", "Done"),
        "failed": QCoreApplication.translate("Downloads", "Failed"),
    }[info.state]


def fraction(info: DownloadInfo) -> float:
    """0 … 1."""
    return info.done_bytes / info.total_bytes if info.total_bytes else 0.0


def percent_text(info: DownloadInfo) -> str:
    """Whole percent, never 100 before it is done."""
    percent = 100 if info.state == "done" else min(99, int(100 * fraction(info)))
    return QCoreApplication.translate("Downloads", "{0} %").format(percent)


def progress_text(info: DownloadInfo) -> str:
    """Such as "1.2 of 4.9 GB · 23.4 MB/s · 2:41 left"."""
    if info.state == "done":
        return size_text(info.total_bytes)
    speed = left = ""
    if info.state == "running" and info.bytes_per_s > 0:
        speed = speed_text(info.bytes_per_s)
    if info.state in ("running", "checking") and info.left_s is not None:
        words = QCoreApplication.translate("Downloads", "{0} left")
        left = words.format(duration_text(info.left_s))
    return joined(_amount(info), speed, left)


def speed_text(bytes_per_s: float) -> str:
    """Such as "23.4 MB/s"."""
    amount = QLocale().formattedDataSize(
        round(bytes_per_s), 1, QLocale.DataSizeFormat.DataSizeTraditionalFormat
    )
    return QCoreApplication.translate("Downloads", "{0}/s").format(amount)


def duration_text(seconds: float) -> str:
    """As a clock has it: 2:41, or 1:02:41."""
    minutes, rest = divmod(max(0, round(seconds)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _amount(info: DownloadInfo) -> str:
    total = info.total_bytes
    if total >= _GIB:
        done = QLocale().toString(info.done_bytes / _GIB, "f", 1)
    elif total >= _MIB:
        done = QLocale().toString(info.done_bytes / _MIB, "f", 0)
    else:
        done = size_text(info.done_bytes)
    words = QCoreApplication.translate("Downloads", "{0} of {1}")
    return words.format(done, size_text(total))
