"""A model's file and its defaults in every state, in both themes and languages, as pictures; nothing in them is cut off.

Only with `INGLENOOK_PICTURES=folder pytest tests/gui/test_keeping_pictures.py`: they are made to be looked at.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QAbstractButton, QApplication, QMessageBox, QWidget

from engine.api.hub import DownloadList
from engine.api.keeping import Defaults, DiskUse, Verified
from engine.api.models import ModelList
from tests.gui.test_chat_page import Desk
from tests.gui.test_pictures import cut_off, has_ink, language, theme
from tests.helpers.library_values import GIB, HARDWARE, STARTER, details, info

pytestmark = [
    pytest.mark.gui,
    pytest.mark.qt_log_ignore("This plugin does not support"),  # the offscreen platform
    pytest.mark.skipif(not os.environ.get("INGLENOOK_PICTURES"), reason="made to be looked at"),
]
__all__ = ["language", "theme"]

SHA = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
SUGGESTED = {
    "temperature": 0.6,
    "top_p": 0.95,
    "top_k": 20,
    "repetition_penalty": 1.1,
    "system": "You are a kind and patient assistant who answers in few words and says when it does not know.",
    "stop": ["<|im_start|>", "<|im_end|>"],
}
CHOSEN = {"context": 16_384, "kv_type": "q8_0", "temperature": 0.7, "system": "Be brief."}


def show(desk: Desk, model: str, **verified: object) -> None:
    state = {"state": "unknown"} | verified
    desk.bridge.answers["verification"] = lambda name: Verified(model=name, **state)
    desk.models.select(model)
    desk.models.refresh_details()
    desk.window.show_page(1)
    desk.bridge.run()


def scroll(desk: Desk) -> None:
    settle()
    bar = desk.window.models._details.verticalScrollBar()
    bar.setValue(bar.maximum())


def settle() -> None:
    for _ in range(6):
        QApplication.processEvents()


def unfold(desk: Desk) -> None:
    found = desk.window.findChild(QAbstractButton, "model-defaults")
    assert found is not None
    found.setChecked(True)
    settle()
    desk.window.models._details.verticalScrollBar().setValue(240)


def folded(desk: Desk) -> None:
    show(desk, "alpha")


def reading(desk: Desk) -> None:
    show(desk, "beta-7B-Q4_K_M", state="running", fraction=0.434)
    scroll(desk)


def whole(desk: Desk) -> None:
    show(desk, "beta-7B-Q4_K_M", state="ok", sha256=(SHA,))
    scroll(desk)


def damaged(desk: Desk) -> None:
    show(desk, "beta-7B-Q4_K_M", state="damaged", sha256=(SHA, SHA), damaged=("/hub/part-2.gguf",))
    scroll(desk)


def nobody_says(desk: Desk) -> None:
    show(desk, "gamma", sha256=(SHA,))
    scroll(desk)


def nothing_chosen(desk: Desk) -> None:
    show(desk, "alpha")
    unfold(desk)


def chosen(desk: Desk) -> None:
    desk.bridge.answers["defaults"] = lambda model: Defaults(model=model, chosen=CHOSEN)
    show(desk, "alpha")
    unfold(desk)


def suggested(desk: Desk) -> None:
    show(desk, "llama-of-ollama")
    unfold(desk)


def deleting(desk: Desk) -> None:
    whole(desk)
    desk.window.models._details._keeping.ask_to_delete()


SCENES: dict[str, Callable[[Desk], None]] = {
    "keeping-folded": folded,
    "keeping-reading": reading,
    "keeping-whole": whole,
    "keeping-damaged": damaged,
    "keeping-unknown": nobody_says,
    "keeping-defaults": nothing_chosen,
    "keeping-defaults-chosen": chosen,
    "keeping-defaults-suggested": suggested,
    "keeping-deleting": deleting,
}


@pytest.mark.parametrize("size", [(1200, 780), (760, 520)], ids=["usual", "least"])
@pytest.mark.parametrize("scene", SCENES)
def test_a_scene(
    scene: str, size: tuple[int, int], language: str, theme: str, tmp_path: Path
) -> None:
    if size[0] < 1000 and (language, theme) != ("en", "light"):
        pytest.skip("once is enough for the least size")
    desk = Desk(tmp_path)
    desk.bridge.answers |= {
        "library": ModelList(
            [
                info("alpha"),
                info("beta-7B-Q4_K_M", origin="Hugging Face", path="/hub/beta-7B-Q4_K_M.gguf"),
                info("gamma", origin="added"),
                info("llama-of-ollama", origin="Ollama"),
            ]
        ),
        "details": details,
        "hardware": HARDWARE,
        "starter": STARTER,
        "downloads": DownloadList([]),
        "disk": DiskUse(dict.fromkeys("abcde", GIB), {}, int(12.4 * GIB), 88 * GIB),
        "defaults": lambda model: Defaults(
            model=model, suggested=SUGGESTED if "ollama" in model else {}
        ),
    }
    desk.window.resize(*size)
    desk.window.show()
    try:
        desk.models.refresh()
        desk.bridge.run()
        SCENES[scene](desk)
        settle()
        shown: QWidget = desk.window
        if scene == "keeping-deleting":
            box = desk.window.findChild(QMessageBox, "delete-file-question")
            assert box is not None
            shown = box
        picture = shown.grab().toImage()
        name = f"{scene}-{language}-{theme}{'' if size[0] > 1000 else '-least'}.png"
        assert picture.save(str(Path(os.environ["INGLENOOK_PICTURES"]) / name))
        assert has_ink(picture)
        assert cut_off(desk.window) == []
    finally:
        desk.close()
        # now, not with the next event loop: a theme is put on every window that is left
        desk.window.deleteLater()
        QApplication.sendPostedEvents(desk.window, QEvent.Type.DeferredDelete.value)
