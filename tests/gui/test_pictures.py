"""Every page in every state, in both themes and languages, as pictures; and nothing in them is cut off.

`INGLENOOK_PICTURES=folder pytest tests/gui/test_pictures.py` keeps them, to be looked at.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QMimeData
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QAbstractButton, QApplication, QLabel, QListWidget, QWidget

from app.theme import Theme
from app.translation import Translation
from app.widgets.chat.message import AssistantMessage
from app.widgets.chat.user_message import UserMessage
from app.widgets.common.labels import ElidedLabel
from engine.api.events import Finished, Loading, Reading
from engine.api.kept import KeptOnDisk
from engine.api.models import ModelList, StarterInfo
from engine.api.replies import Pace
from engine.errors import ModelNotFound, ServiceUnavailable
from tests.gui.test_chat_page import Desk
from tests.helpers.library_values import HARDWARE, STARTER, details, info

pytestmark = [
    pytest.mark.gui,
    pytest.mark.qt_log_ignore("This plugin does not support"),  # the offscreen platform
]

ANSWER = """Use a **counter**; it is a `dict` that counts:

```python
from collections import Counter

def words(text: str) -> Counter[str]:
    return Counter(text.lower().split())
```

| word | count |
|------|------:|
| the  | 12    |
| hearth | 3   |

1. Read the file.
2. Count. See [the docs](https://docs.python.org/3/library/collections.html).
"""
GONE = ServiceUnavailable("The service does not answer.", hint="It is started again.")


def ask(desk: Desk, text: str) -> None:
    desk.page.composer.set_text(text)
    desk.page.composer.submitted.emit(text)


def answered(desk: Desk) -> None:
    ask(desk, "How do I count the words of a text?")
    desk.streams.starts()
    desk.streams.says(ANSWER, reasoning="The user wants word counts.\nA Counter does it.")
    number = len(desk.streams.requests)
    pace = Pace(
        prompt_n=32,
        cache_n=64,
        prompt_ms=90,
        predicted_n=120,
        predicted_ms=1500,
        predicted_per_second=80.0,
    )
    desk.streams.event.emit(number, Finished(0, "stop", pace))
    desk.streams.finished.emit(number, None)


def streaming(desk: Desk) -> None:
    answered(desk)
    ask(desk, "And without Counter?")
    desk.streams.says("Then with a plain dictionary:\n\n```python\ncounts = {}\nfor word in")
    answer = desk.page.transcript.message(desk.store.messages()[-1].id)
    assert isinstance(answer, AssistantMessage)
    answer.flush()


def loading_model(desk: Desk) -> None:
    ask(desk, "Hello")
    desk.streams.event.emit(1, Loading(0.42))


def re_reading(desk: Desk) -> None:
    ask(desk, "Hello")
    desk.streams.says("Once upon")
    desk.streams.event.emit(1, Reading(1200, 3400, again=True))


def interrupted(desk: Desk) -> None:
    ask(desk, "Tell me a story")
    desk.streams.says("Once upon a time")
    desk.streams.ends(GONE)


def model_gone(desk: Desk) -> None:
    ask(desk, "Hello")
    desk.streams.ends(ModelNotFound("There is no model alpha."))


def attached(desk: Desk) -> None:
    for text in ("log line\n" * 4000, "x" * 20_000):
        data = QMimeData()
        data.setText(text)
        desk.page.composer.editor.insertFromMimeData(data)
    ask(desk, "What went wrong here?")
    desk.streams.says("The disk was full.")
    desk.streams.ends()
    desk.page.composer.editor.insertFromMimeData(data)
    desk.page.composer.set_text("And in this one?")


def editing(desk: Desk) -> None:
    attached(desk)
    message = desk.page.transcript.message(desk.store.messages()[0].id)
    assert isinstance(message, UserMessage)
    message.start_editing()


def parameters(desk: Desk) -> None:
    answered(desk)
    desk.page.toggle_parameters()


def undo(desk: Desk) -> None:
    answered(desk)
    desk.page.sidebar.delete_requested.emit(desk.store.conversations()[0].id)


def no_model(desk: Desk) -> None:
    desk.bridge.answers["library"] = ModelList([])
    refresh(desk)


def refresh(desk: Desk) -> None:
    desk.models.refresh()
    desk.bridge.run()


def models(desk: Desk) -> None:
    desk.window.show_page(1)


def models_problem(desk: Desk) -> None:
    models(desk)
    desk.models.select("gamma")
    desk.bridge.run()


def models_offline(desk: Desk) -> None:
    models(desk)
    desk.bridge.answers["library"] = GONE
    desk.bridge.answers["details"] = GONE
    refresh(desk)


def models_never(desk: Desk) -> None:
    desk.bridge.answers["library"] = GONE
    models(desk)
    refresh(desk)


def welcome(desk: Desk) -> None:
    models(desk)
    no_model(desk)


def fetching(desk: Desk) -> None:
    desk.bridge.answers["starter"] = StarterInfo(
        state="fetching", fraction=0.42, name="SmolLM2-135M-Instruct", license="Apache-2.0"
    )
    welcome(desk)


def settings_section(number: int) -> Callable[[Desk], None]:
    def show(desk: Desk) -> None:
        desk.window.show_page(2)
        names = desk.window.settings.findChild(QListWidget, "settings-sections")
        assert names is not None
        names.setCurrentRow(number)
        desk.bridge.run()

    return show


def models_loading(desk: Desk) -> None:
    models(desk)
    desk.models.refresh()


BEFORE_THE_FIRST_REPLY = {models_never, models_loading}
SCENES: dict[str, Callable[[Desk], None]] = {
    "chat-empty": lambda _: None,
    "chat-no-model": no_model,
    "chat-answered": answered,
    "chat-streaming": streaming,
    "chat-loading": loading_model,
    "chat-re-reading": re_reading,
    "chat-interrupted": interrupted,
    "chat-model-gone": model_gone,
    "chat-attached": attached,
    "chat-editing": editing,
    "chat-parameters": parameters,
    "chat-undo": undo,
    "models": models,
    "models-problem": models_problem,
    "models-offline": models_offline,
    "models-never-reached": models_never,
    "models-loading": models_loading,
    "models-welcome": welcome,
    "models-fetching": fetching,
    **{f"settings-{number}": settings_section(number) for number in range(8)},
}


@pytest.fixture(scope="module", params=["en", "zh_CN"])
def language(request, qapp) -> Iterator[str]:
    translation = Translation()
    translation.set_language(request.param)
    yield request.param
    translation.set_language("en")


@pytest.fixture(scope="module", params=["light", "dark"])
def theme(request, qapp) -> Iterator[str]:
    theme = Theme()
    theme.set_mode(request.param)
    theme.apply(qapp)
    yield request.param
    theme.set_mode("light")


@pytest.mark.parametrize("scene", SCENES)
def test_a_scene(scene: str, language: str, theme: str, tmp_path: Path) -> None:
    desk = Desk(tmp_path)
    library = [
        info("alpha", state="ready", resident_bytes=330 << 20, n_ctx=2048),
        info("beta-with-a-rather-long-name-7B-instruct-Q4_K_M"),
        info("gamma", problem="It is cut off. Fetch it again."),
    ]
    answers = {"library": ModelList(library), "details": details}
    desk.bridge.answers |= answers | {"hardware": HARDWARE, "starter": STARTER, "version": "0.1"}
    desk.bridge.answers["kept"] = KeptOnDisk(
        1_300_000_000, 41, "/home/ada/.cache/inglenook/conversations"
    )
    desk.window.resize(1200, 780)
    desk.window.show()
    desk.page.composer.editor.setFocus()
    try:
        if SCENES[scene] not in BEFORE_THE_FIRST_REPLY:
            refresh(desk)
        SCENES[scene](desk)
        for _ in range(3):
            QApplication.processEvents()
        picture = desk.window.grab().toImage()
        folder = Path(os.environ.get("INGLENOOK_PICTURES") or tmp_path)
        assert picture.save(str(folder / f"{scene}-{language}-{theme}.png"))
        assert has_ink(picture)
        assert cut_off(desk.window) == []
    finally:
        desk.close()
        # now, not with the next event loop: a theme is put on every window that is left
        desk.window.deleteLater()
        QApplication.sendPostedEvents(desk.window, QEvent.Type.DeferredDelete.value)


def has_ink(picture: QImage) -> bool:
    """Something is drawn in more than two colours."""
    small = picture.scaled(60, 40)
    return len({small.pixel(x, y) for x in range(60) for y in range(40)}) > 2


def cut_off(window: QWidget) -> list[str]:
    """The words that have less room than they need."""
    return [
        f"{type(widget).__name__} {widget.objectName()}: {widget.text()}"
        for widget in window.findChildren(QWidget)
        if isinstance(widget, QLabel | QAbstractButton)
        and widget.isVisible()
        and widget.text()
        and not isinstance(widget, ElidedLabel)
        and not (isinstance(widget, QLabel) and widget.wordWrap())
        and widget.width() < widget.minimumSizeHint().width()
    ]
