"""Contact with the shared library: version check, log capture, cheap function handles.

Zone: worker process. Importing this module loads llama.cpp.
llama-cpp-python 0.3.36 is written against one commit of llama.cpp; its structs are plain memory,
so another version with another layout would not fail but corrupt. Hence the checks.
"""

import ctypes
from collections import deque
from typing import ClassVar

import llama_cpp
import llama_cpp.llama_cpp as lib

from engine.errors import SetupError

SUPPORTED_VERSION = "0.3.36"
_STRUCT_BYTES = {"llama_model_params": 80, "llama_context_params": 160, "llama_batch": 56}
_CONTEXT_DEFAULTS = {
    "n_ctx": 512,
    "n_batch": 2048,
    "n_ubatch": 512,
    "n_seq_max": 1,
    "n_threads": 4,
    "type_k": 1,
    "type_v": 1,
    "swa_full": True,
    "kv_unified": False,
}
_LEVEL_DEBUG, _LEVEL_CONTINUED = 1, 5


def check_version() -> None:
    """Compare the binding with what this backend was written for.

    Raises:
        SetupError: naming the difference.
    """
    problem = ""
    if llama_cpp.__version__ != SUPPORTED_VERSION:
        problem = f"llama-cpp-python {llama_cpp.__version__} is installed"
    for name, size in _STRUCT_BYTES.items():
        if not problem and (actual := ctypes.sizeof(getattr(lib, name))) != size:
            problem = f"{name} has {actual} bytes instead of {size}"
    if not problem:
        defaults = lib.llama_context_default_params()
        for name, value in _CONTEXT_DEFAULTS.items():
            if (found := getattr(defaults, name, None)) != value:
                problem = f"the library's default for {name} is {found} instead of {value}"
                break
    if problem:
        raise SetupError(
            f"This llama.cpp build does not match: {problem}, {SUPPORTED_VERSION} is needed.",
            hint="Run the installer again; it puts the right version in place.",
        )


class NativeLog:
    """Keeps llama.cpp's last log lines, so that a failure has a reason. The latest one made listens."""

    _callbacks: ClassVar[list[object]] = []
    """The library keeps its pointer for ever, so none may be freed, whatever becomes of the object."""

    def __init__(self, keep_lines: int = 400) -> None:
        self._lines: deque[str] = deque(maxlen=keep_lines)
        callback = lib.llama_log_callback(self._on_line)
        self._callbacks.append(callback)
        lib.llama_log_set(callback, ctypes.c_void_p(0))

    def _on_line(self, level: int, text: bytes, _data: object) -> None:
        if level == _LEVEL_DEBUG:
            return
        decoded = text.decode("utf-8", "replace")
        if level == _LEVEL_CONTINUED and self._lines:
            self._lines[-1] += decoded.rstrip("\n")
        else:
            self._lines.append(decoded.rstrip("\n"))

    def clear(self) -> None:
        """Forget what was said before the next operation."""
        self._lines.clear()

    @property
    def lines(self) -> list[str]:
        """Oldest first."""
        return list(self._lines)


class QuickCalls:
    """Tiny calls without giving up the GIL: a release costs more than they do.

    Own function objects, because `restype` is a property of the object and the binding's must stay.
    """

    def __init__(self) -> None:
        quick = ctypes.PyDLL(lib._lib._name)  # noqa: SLF001 - the binding has no public handle
        self.get_logits_ith = quick.llama_get_logits_ith
        self.get_logits_ith.argtypes = [ctypes.c_void_p, ctypes.c_int32]
        self.get_logits_ith.restype = ctypes.c_void_p
        self.seq_pos_max = quick.llama_memory_seq_pos_max
        self.seq_pos_max.argtypes = [ctypes.c_void_p, ctypes.c_int32]
        self.seq_pos_max.restype = ctypes.c_int32
        self.seq_pos_min = quick.llama_memory_seq_pos_min
        self.seq_pos_min.argtypes = [ctypes.c_void_p, ctypes.c_int32]
        self.seq_pos_min.restype = ctypes.c_int32
