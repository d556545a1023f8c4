"""How the hub's values are written: counts, parameters, verdicts, speeds. Pure but for the language in force."""

from typing import Final, Literal

from PySide6.QtCore import QCoreApplication, QDateTime, QLocale

from engine.api.hub import Fit, HubModel, Verdict

Tone = Literal["good", "warn", "error", "soft"]
TONES: Final[dict[Verdict, Tone]] = {
    "fits": "good",
    "shorter": "warn",
    "no": "error",
    "unknown": "soft",
}
ICONS: Final[dict[Verdict, str]] = {
    "fits": "check",
    "shorter": "info",
    "no": "x",
    "unknown": "question",
}
"""The sign beside the words, so that the colour is not needed."""
_STEPS: Final = ((1e12, "T"), (1e9, "B"), (1e6, "M"), (1e3, "k"))


def count_text(count: int) -> str:
    """A large number in three figures at most, such as 1.2 M."""
    for size, unit in _STEPS:
        if count >= size:
            value = count / size
            return f"{QLocale().toString(value, 'f', 1 if value < 100 else 0)} {unit}"
    return QLocale().toString(count)


def parameters_text(parameters: int | None) -> str:
    """Such as "7.6 B parameters"; empty where it is not known."""
    if not parameters:
        return ""
    words = QCoreApplication.translate("Hub", "{0} parameters")
    return words.format(count_text(parameters))


def downloads_text(downloads: int) -> str:
    """Such as "1.2 M downloads"; empty for none, as the catalog has it."""
    if not downloads:
        return ""
    return QCoreApplication.translate("Hub", "{0} downloads").format(count_text(downloads))


def gated_text(model: HubModel) -> str:
    """That a licence has to be accepted first, or nothing."""
    return QCoreApplication.translate("Hub", "Licence to accept") if model.gated else ""


def day_text(seconds: int) -> str:
    """A day, or nothing."""
    if not seconds:
        return ""
    day = QDateTime.fromSecsSinceEpoch(seconds).date()
    return QLocale().toString(day, QLocale.FormatType.ShortFormat)


def verdict_text(verdict: Verdict) -> str:
    """Whether it fits."""
    return {
        "fits": QCoreApplication.translate("Hub", "Fits"),
        "shorter": QCoreApplication.translate("Hub", "Fits with a shorter context"),
        "no": QCoreApplication.translate("Hub", "Does not fit"),
        "unknown": QCoreApplication.translate("Hub", "Not known"),
    }[verdict]


def speed_text(tokens_per_s: float | None) -> str:
    """Such as "about 12 tokens/s"; empty where nothing says it."""
    number = speed_figure(tokens_per_s)
    return QCoreApplication.translate("Hub", "about {0} tokens/s").format(number) if number else ""


def speed_figure(tokens_per_s: float | None) -> str:
    """Only the number; empty where nothing says it."""
    if not tokens_per_s:
        return ""
    return QLocale().toString(tokens_per_s, "f", 1 if tokens_per_s < 10 else 0)


def speed_of(fit: Fit | None) -> float | None:
    """The expected speed of writing, if it could be loaded at all."""
    return fit.writes if fit is not None and fit.verdict != "no" else None


def joined(*parts: str) -> str:
    """What there is of it, in a line."""
    return " · ".join(part for part in parts if part)


def plain_tip(text: str) -> str:
    """A tooltip that Qt cannot take for markup."""
    return text.replace("<", "\N{SINGLE LEFT-POINTING ANGLE QUOTATION MARK}")
