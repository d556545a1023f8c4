"""Icons of one family (Phosphor) in any colour, sharp on every screen.

Zone: app.widgets.common; the files lie in `resources/icons`, the drawn pixmaps in Qt's own cache.
"""

from functools import cached_property

from PySide6.QtCore import QByteArray, QRectF, QSize, Qt
from PySide6.QtGui import QGuiApplication, QIcon, QPainter, QPixmap, QPixmapCache
from PySide6.QtSvg import QSvgRenderer

from app.theme import resource

SIZES = (16, 18, 20, 32)
"""Logical sizes that are drawn exactly; others are scaled from the next larger one."""


def icon(name: str, color: str, *, disabled: str = "") -> QIcon:
    """An icon by its file name without suffix, drawn in `color` ("#RRGGBB").

    `disabled` is the colour on disabled controls; without it Qt makes one up.

    Raises:
        ValueError: if there is no such icon.
    """
    result = QIcon()
    _add(result, name, color, QIcon.Mode.Normal)
    if disabled:
        _add(result, name, disabled, QIcon.Mode.Disabled)
    return result


def pixmap(name: str, color: str, size: int, ratio: float = 1.0) -> QPixmap:
    """The icon as a pixmap, `size` in logical pixels, `ratio` the screen's device pixel ratio.

    Raises:
        ValueError: if there is no such icon.
    """
    return _pixmap(_Drawing(name, color), size, ratio)


def recoloured(name: str, color: str) -> str:
    """The icon's SVG source with its colour written in.

    Raises:
        ValueError: if there is no such icon.
    """
    path = resource("icons", f"{name}.svg")
    if not path.is_file():
        raise ValueError(f"no icon named {name!r}")
    return path.read_text("utf-8").replace("currentColor", color)


class _Drawing:
    """One icon in one colour; its file is read once, and only if a size is not in the cache."""

    def __init__(self, name: str, color: str) -> None:
        self.key = f"icon/{name}/{color}"
        self._source = name, color

    @cached_property
    def renderer(self) -> QSvgRenderer:
        return QSvgRenderer(QByteArray(recoloured(*self._source).encode()))


def _add(result: QIcon, name: str, color: str, mode: QIcon.Mode) -> None:
    drawing = _Drawing(name, color)
    for ratio in {1.0, *(screen.devicePixelRatio() for screen in QGuiApplication.screens())}:
        for size in SIZES:
            result.addPixmap(_pixmap(drawing, size, ratio), mode)


def _pixmap(drawing: _Drawing, size: int, ratio: float) -> QPixmap:
    key = f"{drawing.key}/{size}@{ratio}"
    result = QPixmap()
    if QPixmapCache.find(key, result):
        return result
    renderer = drawing.renderer
    result = QPixmap(QSize(size, size) * ratio)
    result.fill(Qt.GlobalColor.transparent)
    painter = QPainter(result)
    renderer.render(painter, QRectF(result.rect()))
    painter.end()
    result.setDevicePixelRatio(ratio)
    QPixmapCache.insert(key, result)
    return result
