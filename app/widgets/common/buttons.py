"""Buttons in the look: flat icon buttons and push buttons that recolour their icons themselves.

Zone: app.widgets.common; colours come from the tokens on screen, so a change of theme just works.
"""

from typing import Literal

from PySide6.QtCore import QEvent, QSize, Qt
from PySide6.QtGui import QIcon
from PySide6.QtWidgets import QPushButton, QToolButton, QWidget

from app.theme import shown_tokens
from app.widgets.common.icons import icon

Tone = Literal["ink", "soft", "ember", "on_ember", "good", "warn", "error", "ground"]
"""The token that an icon is drawn in."""

HIT_AREA = 32
"""Least width and height of anything to click, in logical pixels."""


class IconButton(QToolButton):
    """A flat button that is only an icon; "on" buttons are drawn in ember."""

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._name = name
        self._tone: Tone = "soft"
        # Tab reaches it, a click does not: the focus ring appears for the keyboard only.
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setMinimumSize(HIT_AREA, HIT_AREA)
        self._redraw()

    def set_icon(self, name: str) -> None:
        """Show another icon, for a button whose function changes (Send, Stop)."""
        self._name = name
        self._redraw()

    def set_tone(self, tone: Tone) -> None:
        """Draw the icon in another token."""
        self._tone = tone
        self._redraw()

    def set_on(self, on: bool) -> None:
        """Mark the one thing that is on (the page shown, the panel open)."""
        self.setProperty("on", on)
        self.style().unpolish(self)
        self.style().polish(self)
        self._redraw()

    def changeEvent(self, event: QEvent) -> None:
        """Qt's hook: the palette changes with the theme."""
        if event.type() == QEvent.Type.PaletteChange:
            self._redraw()
        super().changeEvent(event)

    def _redraw(self) -> None:
        tone = "ember" if self.property("on") else self._tone
        self.setIcon(_icon(self._name, tone))


class PushButton(QPushButton):
    """A button with words, in one of the style sheet's kinds, perhaps with an icon before them."""

    def __init__(self, text: str, kind: str, icon_name: str, parent: QWidget | None) -> None:
        super().__init__(text, parent)
        self._icon_name = icon_name
        self._tone: Tone = "on_ember" if kind == "primary" else "ink"
        self.setProperty("kind", kind)
        # Wider than the icon: the style leaves too little room between it and the words.
        self.setIconSize(QSize(24, 16))
        self._redraw()

    def set_icon(self, name: str) -> None:
        """Show another icon; empty: none."""
        self._icon_name = name
        self._redraw()

    def set_tone(self, tone: Tone) -> None:
        """Draw the icon in another token."""
        self._tone = tone
        self._redraw()

    def changeEvent(self, event: QEvent) -> None:
        """Qt's hook: the palette changes with the theme."""
        if event.type() == QEvent.Type.PaletteChange:
            self._redraw()
        super().changeEvent(event)

    def _redraw(self) -> None:
        self.setIcon(_icon(self._icon_name, self._tone) if self._icon_name else QIcon())


def _icon(name: str, tone: str) -> QIcon:
    tokens = shown_tokens()
    return icon(name, getattr(tokens, tone), disabled=tokens.faint)


def icon_button(
    name: str, tip: str, *, object_name: str, size: int = 20, parent: QWidget | None = None
) -> IconButton:
    """A flat icon button; `tip` is its tooltip and accessible name, `size` the icon's in pixels.

    A shortcut in the tooltip stands in brackets at its end and is left out of the accessible name.
    """
    button = IconButton(name, parent)
    button.setObjectName(object_name)
    button.setIconSize(QSize(size, size))
    describe(button, tip)
    return button


def describe(button: IconButton, tip: str) -> None:
    """Give an icon button another tooltip and the accessible name that goes with it."""
    button.setToolTip(tip)
    button.setAccessibleName(tip.partition(" (")[0])


def primary_button(
    text: str, *, object_name: str, icon_name: str = "", parent: QWidget | None = None
) -> PushButton:
    """The one thing to do on a page: filled with ember."""
    return _push_button(text, "primary", object_name, icon_name, parent)


def plain_button(
    text: str, *, object_name: str, icon_name: str = "", parent: QWidget | None = None
) -> PushButton:
    """Any other thing to do: a line around it."""
    return _push_button(text, "plain", object_name, icon_name, parent)


def chip_button(
    text: str, *, object_name: str, icon_name: str = "", parent: QWidget | None = None
) -> PushButton:
    """A small round-ended button that shows a choice, such as the model."""
    button = _push_button(text, "chip", object_name, icon_name, parent)
    button.set_tone("ember")
    return button


def _push_button(
    text: str, kind: str, object_name: str, icon_name: str, parent: QWidget | None
) -> PushButton:
    button = PushButton(text, kind, icon_name, parent)
    button.setObjectName(object_name)
    button.setAccessibleName(text)
    return button
