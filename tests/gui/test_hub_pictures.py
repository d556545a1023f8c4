"""Finding, fitting and downloading in every state, in both themes and languages, as pictures; nothing in them is cut off.

Only with `INGLENOOK_PICTURES=folder pytest tests/gui/test_hub_pictures.py`: they are made to be looked at.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent
from PySide6.QtWidgets import QApplication, QListWidget, QMessageBox

from engine.api.hub import ConnectionList, DownloadList, HubPage
from engine.api.models import ModelList
from engine.errors import HubError
from tests.gui.test_chat_page import Desk
from tests.gui.test_pictures import cut_off, has_ink, language, theme
from tests.helpers import hub_values as hub
from tests.helpers.library_values import HARDWARE, STARTER, details, info

pytestmark = [
    pytest.mark.gui,
    pytest.mark.qt_log_ignore("This plugin does not support"),  # the offscreen platform
    pytest.mark.skipif(not os.environ.get("INGLENOOK_PICTURES"), reason="made to be looked at"),
]
__all__ = ["language", "theme"]

GONE = HubError("The hub cannot be reached.", hint="Check the connection, then try again.")
DENIED = "heron-lab wants its licence to be accepted first. Open its page, sign in and accept it, then look again."
FULL = "The disk is full: 2.1 GB are missing. Make room, and it goes on by itself."


def finding(desk: Desk) -> None:
    desk.window.show_page(1)
    desk.window.models.show_hub(True)
    desk.bridge.run()


def catalog(desk: Desk) -> None:
    desk.bridge.answers["search"] = hub.catalog()
    finding(desk)


def no_hub(desk: Desk) -> None:
    desk.bridge.answers["search"] = GONE
    finding(desk)


def opened(desk: Desk) -> None:
    finding(desk)
    desk.hub.card.open("heron-lab/Heron-7B-Instruct-GGUF")
    desk.bridge.run()
    desk.hub.card.ask_fit()
    desk.bridge.run()


def asking(desk: Desk) -> None:
    finding(desk)
    desk.hub.card.open("tiny/Wren-135M-GGUF")


def no_card(desk: Desk) -> None:
    desk.bridge.answers["card"] = GONE
    opened(desk)


def gated(desk: Desk) -> None:
    model = hub.model("heron-lab/Heron-7B-Instruct-GGUF", gated=True)
    desk.bridge.answers["card"] = hub.card(model=model, problem=DENIED)
    opened(desk)


def readme(desk: Desk) -> None:
    opened(desk)
    pane = desk.window.models._card._card
    for _ in range(3):
        QApplication.processEvents()
    pane.verticalScrollBar().setValue(pane.verticalScrollBar().maximum())


def downloading(desk: Desk) -> None:
    desk.bridge.answers["downloads"] = DownloadList(
        [
            hub.download("Q4_0"),
            hub.download("Q6_K", "paused", position=1, problem=FULL),
            hub.download("Q8_0", "queued", position=2, done_bytes=0),
        ]
    )
    opened(desk)


def downloads_over(desk: Desk) -> None:
    desk.bridge.answers["downloads"] = DownloadList(
        [
            hub.download("Q2_K", "checking", done_bytes=4 * hub.GIB, left_s=12.0),
            hub.download(
                "Q4_0", "waiting", position=1, problem="The hub is silent. It tries again in 8 s."
            ),
            hub.download("Q6_K", "done", model="alpha"),
            hub.download(
                "Q8_0", "failed", problem="What came is not what the hub promised. Try again."
            ),
        ]
    )
    desk.window.show_page(1)
    desk.bridge.run()


def first_run(desk: Desk) -> None:
    desk.bridge.answers["library"] = ModelList([])
    desk.bridge.answers["search"] = HubPage([hub.model(purpose="chat")])
    about = "Good answers in many languages, and it reads long texts."
    desk.bridge.answers["card"] = hub.card(model=hub.model(about=about))
    desk.window.show_page(1)
    desk.models.refresh()
    desk.bridge.run()


def first_run_offline(desk: Desk) -> None:
    desk.bridge.answers["library"] = ModelList([])
    desk.bridge.answers["search"] = hub.catalog()
    desk.window.show_page(1)
    desk.models.refresh()
    desk.bridge.run()


def first_download(desk: Desk) -> None:
    desk.bridge.answers["downloads"] = DownloadList([hub.download("Q4_0")])
    first_run(desk)


def network(desk: Desk) -> None:
    desk.window.show_page(2)
    names = desk.window.settings.findChild(QListWidget, "settings-sections")
    assert names is not None
    names.setCurrentRow(5)
    desk.bridge.run()


def closing(desk: Desk) -> None:
    opened(desk)
    desk.window.ask_to_keep(0, 2, lambda: None)
    assert desk.window.findChild(QMessageBox, "keep_service") is not None


SCENES: dict[str, Callable[[Desk], None]] = {
    "hub-search": finding,
    "hub-catalog": catalog,
    "hub-unreachable": no_hub,
    "hub-card": opened,
    "hub-card-asking": asking,
    "hub-card-problem": no_card,
    "hub-card-gated": gated,
    "hub-card-readme": readme,
    "hub-downloading": downloading,
    "hub-downloads-over": downloads_over,
    "hub-first-run": first_run,
    "hub-first-run-offline": first_run_offline,
    "hub-first-download": first_download,
    "hub-network": network,
    "hub-closing": closing,
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
        "library": ModelList([info("alpha"), info("beta-7B-Q4_K_M")]),
        "details": details,
        "hardware": HARDWARE | {"memory": {"total": 16 * hub.GIB, "free": 9 * hub.GIB}},
        "starter": STARTER,
        "search": hub.page(),
        "card": hub.card(),
        "fit": hub.fit(exact=True),
        "downloads": DownloadList([]),
        "access": hub.ACCESS,
        "connections": ConnectionList(hub.CONNECTIONS),
    }
    desk.window.resize(*size)
    desk.window.show()
    try:
        desk.models.refresh()
        desk.bridge.run()
        SCENES[scene](desk)
        for _ in range(6):
            QApplication.processEvents()
        shown = desk.window
        if scene == "hub-closing":
            box = desk.window.findChild(QMessageBox, "keep_service")
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
