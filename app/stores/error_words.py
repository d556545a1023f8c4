"""Why there was no answer, in the user's language and with what can be done in this window.

The engine's own sentences are English and name commands; they stand where none of these fits.
"""

from PySide6.QtCore import QCoreApplication

from engine.errors import (
    ContextOverflow,
    EngineError,
    ModelNotFound,
    OutOfMemory,
    ServiceUnavailable,
    WorkerCrashed,
)

_GIB = 2**30


def sentence(error: EngineError, model: str) -> str:
    """What to show for an answer of `model` that failed."""
    match error:
        case ContextOverflow():
            return QCoreApplication.translate(
                "Errors",
                "This conversation has {0} tokens and the context holds {1}. "
                "Start a new chat, or load the model with a larger context in the settings.",
            ).format(f"{error.prompt_tokens:,}", f"{error.limit:,}")
        case ModelNotFound():
            return QCoreApplication.translate(
                "Errors",
                "The model {0} is not here any more. "
                "Choose another one (Ctrl+M), or add one on the models page (Ctrl+2).",
            ).format(model)
        case OutOfMemory() if {"needed_bytes", "free_bytes"} <= error.details.keys():
            needed, free = (error.details[k] / _GIB for k in ("needed_bytes", "free_bytes"))
            return QCoreApplication.translate(
                "Errors",
                "{0} needs {1} GiB of memory, and {2} GiB are free. "
                "Close other programs, or choose a smaller model.",
            ).format(model, f"{needed:.1f}", f"{free:.1f}")
        case WorkerCrashed():
            return QCoreApplication.translate(
                "Errors",
                "The process that computes {0} died again and again. "
                "Try again, or choose another model.",
            ).format(model)
        case ServiceUnavailable():
            return QCoreApplication.translate(
                "Errors", "The service does not answer at the moment. Try again shortly."
            )
    return str(error)
