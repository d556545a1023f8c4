"""The look applied: modes, fonts, icons, visible focus on every kind of control."""

import re
from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QColor, QFontInfo, QFontMetrics, QGuiApplication, QIcon, QImage, QPalette
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QFrame,
    QLineEdit,
    QListWidget,
    QPlainTextEdit,
    QPushButton,
    QRadioButton,
    QSlider,
    QSpinBox,
    QTabBar,
    QTableWidget,
    QTableWidgetItem,
    QVBoxLayout,
    QWidget,
)
from pytestqt.qtbot import QtBot

from app.theme import (
    DARK,
    LIGHT,
    Theme,
    Tokens,
    code_font,
    resource,
    shown_tokens,
    style_sheet,
    tabular,
    text_font,
)
from app.widgets.common.buttons import chip_button, icon_button, plain_button, primary_button
from app.widgets.common.focus import FocusWithin
from app.widgets.common.icons import icon, pixmap, recoloured
from app.widgets.common.labels import figure_label

pytestmark = [
    pytest.mark.gui,
    pytest.mark.qt_log_ignore("This plugin does not support"),  # the offscreen platform
]


@pytest.fixture
def theme(qapp: QApplication) -> Iterator[Theme]:
    """A theme in force for one test."""
    before = qapp.palette(), qapp.font(), qapp.styleSheet()
    theme = Theme()
    theme.set_mode("light")
    theme.apply(qapp)
    yield theme
    theme.deleteLater()
    qapp.setStyleSheet(before[2])
    qapp.setFont(before[1])
    qapp.setPalette(before[0])


def count(image: QImage, colour: str) -> int:
    """Pixels of exactly this colour."""
    image = image.convertToFormat(QImage.Format.Format_RGB32)
    wanted = QColor(colour).rgb()
    return sum(
        image.pixel(x, y) == wanted for y in range(image.height()) for x in range(image.width())
    )


def test_modes_change_tokens_palette_and_sheet_once(
    theme: Theme, qapp: QApplication, qtbot: QtBot
) -> None:
    with qtbot.waitSignal(theme.changed):
        theme.set_mode("dark")
    assert theme.tokens == DARK == shown_tokens()
    assert qapp.styleSheet() == style_sheet(DARK)
    assert qapp.palette().color(QPalette.ColorRole.Window).name().upper() == DARK.ground
    with qtbot.assertNotEmitted(theme.changed):
        theme.set_mode("dark")


def test_the_system_is_followed_only_when_asked(theme: Theme, qtbot: QtBot) -> None:
    hints = QGuiApplication.styleHints()
    with qtbot.assertNotEmitted(theme.changed):
        hints.colorSchemeChanged.emit(Qt.ColorScheme.Dark)
    assert theme.tokens == LIGHT
    theme.set_mode("system")
    assert theme.tokens == DARK
    hints.colorSchemeChanged.emit(Qt.ColorScheme.Light)
    assert theme.tokens == LIGHT


def test_the_sheet_leaves_no_token_open_and_qt_understands_it(theme: Theme) -> None:
    sheet = style_sheet(LIGHT)
    assert "$" not in re.sub(r"/\*.*?\*/", "", sheet, flags=re.DOTALL)
    for path in re.findall(r"url\(themes:([^)]+)\)", sheet):
        assert resource("themes", path).is_file()
    # A sheet that Qt cannot parse is only a warning there, which fails a test here.
    QWidget().setStyleSheet(sheet)


@pytest.mark.parametrize(("variant", "tokens"), [("light", LIGHT), ("dark", DARK)])
def test_images_of_the_sheet_are_the_icons_in_the_tokens(variant: str, tokens: Tokens) -> None:
    expected = {
        "check": recoloured("check", tokens.on_ember),
        "tick": recoloured("check", tokens.ember),
        "caret-down": recoloured("caret-down", tokens.soft),
        "caret-up": recoloured("caret-up", tokens.soft),
        "caret-right": recoloured("caret-right", tokens.soft),
    }
    for name, svg in expected.items():
        assert resource("themes", variant, f"{name}.svg").read_text("utf-8") == svg
    assert tokens.on_ember in resource("themes", variant, "dot.svg").read_text("utf-8")


def test_bundled_fonts_are_used(theme: Theme) -> None:
    assert QFontInfo(text_font()).family() == "Inter"
    assert QFontInfo(code_font()).family() == "JetBrains Mono"
    assert QFontInfo(QPushButton("x").font()).family() == "Inter"
    assert all(p.stat().st_size < 1_000_000 for p in resource("fonts").iterdir())


def test_tabular_figures_have_one_width_even_under_the_sheet(theme: Theme, qtbot: QtBot) -> None:
    plain = QFontMetrics(text_font())
    assert plain.horizontalAdvance("1111") < plain.horizontalAdvance("8888")
    assert len({QFontMetrics(tabular(text_font())).horizontalAdvance(d * 4) for d in "0189"}) == 1
    widths = set()
    for digit in "18":
        figure = figure_label(digit * 4)
        qtbot.addWidget(figure)
        figure.show()
        assert QFontInfo(figure.font()).pixelSize() == 12
        widths.add(figure.sizeHint().width())
    assert len(widths) == 1


def test_every_icon_file_draws_in_the_colour_asked_for(qapp: QApplication) -> None:
    files = sorted(resource("icons").glob("*.svg"))
    assert len(files) >= 30
    for path in files:
        image = pixmap(path.stem, "#ff0000", 32).toImage()
        solid = [
            image.pixelColor(x, y)
            for x in range(32)
            for y in range(32)
            if image.pixelColor(x, y).alpha() == 255
        ]
        assert solid, path.name
        assert {colour.name() for colour in solid} == {"#ff0000"}, path.name


def test_icons_are_sharp_on_a_dense_screen(qapp: QApplication) -> None:
    dense = pixmap("cube", "#000000", 20, 2.0)
    assert dense.size() == QSize(40, 40)
    assert dense.deviceIndependentSize().toSize() == QSize(20, 20)
    enlarged = pixmap("cube", "#000000", 20).toImage().scaled(40, 40)
    assert dense.toImage() != enlarged
    assert icon("cube", "#000000").pixmap(QSize(20, 20)).size() == QSize(20, 20)


def test_an_unknown_icon_is_a_mistake(qapp: QApplication) -> None:
    with pytest.raises(ValueError, match="no-such-icon"):
        icon("no-such-icon", "#000000")


def test_a_disabled_control_has_a_faint_icon(theme: Theme, qtbot: QtBot) -> None:
    made = icon_button("stop", "Stop", object_name="stop")
    qtbot.addWidget(made)
    image = made.icon().pixmap(QSize(20, 20), 1.0, QIcon.Mode.Disabled).toImage()
    assert image.pixelColor(10, 10).name().upper() == LIGHT.faint


def test_a_list_filled_before_it_is_shown_has_its_rows_in_place(theme: Theme, qtbot: QtBot) -> None:
    page = QWidget()
    qtbot.addWidget(page)
    rows = QListWidget()
    rows.addItems(["one", "two"])
    QVBoxLayout(page).addWidget(rows)
    page.show()
    first, second = (rows.visualItemRect(rows.item(row)) for row in (0, 1))
    assert first.height() >= 32
    assert second.top() == first.bottom() + 1


def _list() -> QWidget:
    widget = QListWidget()
    widget.addItems(["one", "two"])
    widget.setCurrentRow(0)
    return widget


def _table() -> QWidget:
    widget = QTableWidget(1, 1)
    widget.setItem(0, 0, QTableWidgetItem("one"))
    widget.setCurrentCell(0, 0)
    return widget


def _tabs() -> QWidget:
    widget = QTabBar()
    widget.addTab("one")
    return widget


def _slider() -> QWidget:
    return QSlider(Qt.Orientation.Horizontal)


def _checked() -> QWidget:
    widget = QCheckBox("on")
    widget.setChecked(True)
    return widget


CONTROLS: dict[str, Callable[[], QWidget]] = {
    "icon": lambda: icon_button("cube", "Models", object_name="models"),
    "send": lambda: icon_button("arrow-up", "Send", object_name="send"),
    "primary": lambda: primary_button("Download", object_name="b"),
    "plain": lambda: plain_button("Cancel", object_name="b"),
    "chip": lambda: chip_button("SmolLM2", object_name="b", icon_name="cube"),
    "bare": lambda: QPushButton("OK"),
    "line": QLineEdit,
    "text": QPlainTextEdit,
    "combo": QComboBox,
    "spin": QSpinBox,
    "double": QDoubleSpinBox,
    "check": lambda: QCheckBox("off"),
    "checked": _checked,
    "radio": lambda: QRadioButton("one"),
    "slider": _slider,
    "tabs": _tabs,
    "list": _list,
    "table": _table,
}


@pytest.mark.parametrize("mode", ["light", "dark"])
@pytest.mark.parametrize("name", CONTROLS)
def test_focus_is_visible_and_moves_nothing(
    name: str, mode: str, theme: Theme, qtbot: QtBot
) -> None:
    theme.set_mode("dark" if mode == "dark" else "light")
    page = QWidget()
    page.setObjectName("ground")
    qtbot.addWidget(page)
    column = QVBoxLayout(page)
    control = CONTROLS[name]()
    other = QPushButton("elsewhere")
    column.addWidget(control)
    column.addWidget(other)
    page.show()
    page.activateWindow()
    qtbot.waitUntil(page.isActiveWindow)
    other.setFocus(Qt.FocusReason.TabFocusReason)
    geometry = control.geometry(), control.sizeHint()
    at_rest = control.grab().toImage()
    control.setFocus(Qt.FocusReason.TabFocusReason)
    assert control.hasFocus()
    focused = control.grab().toImage()
    filled = name in {"send", "primary", "checked"}
    ring = theme.tokens.ink if filled else theme.tokens.ember
    assert count(focused, ring) >= count(at_rest, ring) + 40
    assert (control.geometry(), control.sizeHint()) == geometry


def test_a_frame_wears_the_ring_of_the_field_in_it(theme: Theme, qtbot: QtBot) -> None:
    frame = QFrame()
    frame.setObjectName("composer")
    qtbot.addWidget(frame)
    field = QPlainTextEdit()
    column = QVBoxLayout(frame)
    column.addWidget(field)
    FocusWithin(frame, field)
    frame.show()
    frame.activateWindow()
    qtbot.waitUntil(frame.isActiveWindow)
    field.clearFocus()
    at_rest = count(frame.grab().toImage(), LIGHT.ember)
    inside = field.geometry()
    field.setFocus()
    qtbot.waitUntil(field.hasFocus)
    assert count(frame.grab().toImage(), LIGHT.ember) > at_rest + 200
    assert field.geometry() == inside
