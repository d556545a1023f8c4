"""What the chat page says about a model, in few words. Pure."""

from collections.abc import Sequence

from PySide6.QtCore import QCoreApplication

from engine.api.models import ModelInfo

_GB = 1 << 30


def first_usable(models: Sequence[ModelInfo]) -> str:
    """The model to begin with: the newest that can be used; empty if there is none."""
    usable = [model for model in models if not model.problem]
    return max(usable, key=lambda model: model.created).id if usable else ""


def size(model: ModelInfo) -> str:
    """Size and quantization."""
    gigabytes = model.size_bytes / _GB
    text = f"{gigabytes:.1f} GB" if gigabytes >= 0.1 else f"{model.size_bytes / (1 << 20):.0f} MB"
    return f"{text} · {model.quantization}" if model.quantization else text


def note(model: ModelInfo) -> str:
    """The second line of a choice."""
    return model.problem or size(model)


def chip_note(model: ModelInfo | None) -> str:
    """What stands behind the name on the chip: progress while it loads."""
    if model is None:
        return ""
    if model.state == "loading":
        percent = round((model.progress or 0) * 100)
        return QCoreApplication.translate("ModelWords", "loading {0} %").format(percent)
    return ""


def foot_line(model: ModelInfo | None) -> str:
    """What the engine does, at the foot of the page."""
    if model is None:
        return ""
    if model.state == "ready" and model.reasons:
        return model.reasons[0]
    words = {
        "unloaded": QCoreApplication.translate(
            "ModelWords", "The model is loaded with the first message."
        ),
        "loading": QCoreApplication.translate("ModelWords", "The model is being loaded."),
        "stopping": QCoreApplication.translate("ModelWords", "The model is being unloaded."),
    }
    return words.get(model.state, model.problem or "")
