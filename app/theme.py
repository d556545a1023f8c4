"""The look as data: colour tokens, type sizes, palette, style sheet, fonts.

The only place that knows a colour. Zone: app, below the widgets; reads `resources`.
The rules of the style sheet stand in `resources/themes/inglenook.qss`.
"""

from dataclasses import asdict, dataclass
from importlib import resources
from pathlib import Path
from string import Template
from typing import Final, Literal

from PySide6.QtCore import QDir, QObject, Qt, Signal, Slot
from PySide6.QtGui import QColor, QFont, QFontDatabase, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication, QStyleFactory

Mode = Literal["system", "light", "dark"]


@dataclass(frozen=True, slots=True)
class Tokens:
    """Colours of one theme, each "#RRGGBB". Every text pair in use is checked for contrast."""

    ground: str
    """The page."""
    panel: str
    """Rail, lists, chips."""
    raised: str
    """Inputs, cards, menus, the composer."""
    ink: str
    soft: str
    """Second text, placeholders, icons at rest, comments in code."""
    line: str
    ember: str
    """The one thing to do or the one thing that is on; links; focus rings; keywords in code."""
    on_ember: str
    hover: str
    bubble: str
    code: str
    good: str
    """Also strings in code."""
    warn: str
    """Also numbers in code."""
    error: str
    pressed: str
    faint: str
    """Text of disabled controls (≥ 3:1)."""
    ember_hover: str
    ember_pressed: str


LIGHT: Final = Tokens(
    ground="#FBF9F6",
    panel="#F3EFE9",
    raised="#FFFFFF",
    ink="#221D18",
    soft="#6E655B",
    line="#E6DFD5",
    ember="#B5420B",
    on_ember="#FFFFFF",
    hover="#ECE6DE",
    bubble="#F3ECE2",
    code="#F6F2EC",
    good="#39722F",
    warn="#8A5A00",
    error="#B0203A",
    pressed="#E0D8CC",
    faint="#8A8075",
    ember_hover="#9E3909",
    ember_pressed="#873007",
)
DARK: Final = Tokens(
    ground="#181512",
    panel="#1F1B18",
    raised="#26211D",
    ink="#EEE7DE",
    soft="#A0958A",
    line="#37302A",
    ember="#F28C45",
    on_ember="#1B120A",
    hover="#2D2722",
    bubble="#2B2520",
    code="#201C18",
    good="#8BC48A",
    warn="#E0B252",
    error="#FF8F8F",
    pressed="#3A322B",
    faint="#7B7167",
    ember_hover="#F7A266",
    ember_pressed="#DE7A35",
)

UNIT: Final = 8
"""One spacing unit in logical pixels; every distance is a multiple or a half of it."""
TYPE: Final = {"small": 12, "body": 14, "title": 16, "display": 22}
"""The four text sizes in logical pixels."""
TEXT_WIDTH: Final = 760
"""Widest text column in logical pixels."""

_CJK = (
    "PingFang SC",
    "Microsoft YaHei UI",
    "Noto Sans CJK SC",
    "Noto Sans SC",
    "Source Han Sans SC",
    "WenQuanYi Micro Hei",
)


def resource(*parts: str) -> Path:
    """The path of a file or folder below `resources`."""
    return Path(str(resources.files("resources"))).joinpath(*parts)


def load_fonts() -> list[str]:
    """Register the bundled fonts with Qt; returns the files that Qt refused (normally none)."""
    files = sorted(p for p in resource("fonts").iterdir() if p.suffix in {".otf", ".ttf"})
    return [p.name for p in files if QFontDatabase.addApplicationFont(str(p)) < 0]


def text_font(size: str = "body", *, weight: QFont.Weight = QFont.Weight.Normal) -> QFont:
    """Inter in one of the `TYPE` sizes, Chinese from the system's own font."""
    font = QFont()
    font.setFamilies(["Inter", *_CJK, "Noto Sans"])
    font.setPixelSize(TYPE[size])
    font.setWeight(weight)
    return font


def code_font(size: int = 13) -> QFont:
    """JetBrains Mono, `size` in logical pixels."""
    font = QFont()
    font.setFamilies(["JetBrains Mono", *_CJK, "monospace"])
    font.setStyleHint(QFont.StyleHint.Monospace)
    font.setPixelSize(size)
    return font


def tabular(font: QFont) -> QFont:
    """The same font with figures of one width, for numbers that change in place."""
    font = QFont(font)
    font.setFeature(QFont.Tag("tnum"), 1)
    return font


def style_sheet(tokens: Tokens) -> str:
    """The application's style sheet in these colours."""
    rules = Template(resource("themes", "inglenook.qss").read_text("utf-8"))
    sizes = {f"size_{name}": f"{pixels}px" for name, pixels in TYPE.items()}
    variant = "light" if tokens == LIGHT else "dark"
    hover_half = f"#80{tokens.hover[1:]}"
    return rules.substitute(asdict(tokens), **sizes, variant=variant, hover_half=hover_half)


def palette(tokens: Tokens) -> QPalette:
    """The Qt palette in these colours, for everything that a style sheet does not reach."""
    role = QPalette.ColorRole
    colours = {
        role.Window: tokens.ground,
        role.WindowText: tokens.ink,
        role.Base: tokens.raised,
        role.AlternateBase: tokens.panel,
        role.Text: tokens.ink,
        role.Button: tokens.raised,
        role.ButtonText: tokens.ink,
        role.BrightText: tokens.error,
        role.PlaceholderText: tokens.soft,
        role.Highlight: tokens.ember,
        role.HighlightedText: tokens.on_ember,
        role.Accent: tokens.ember,
        role.Link: tokens.ember,
        role.LinkVisited: tokens.ember,
        role.ToolTipBase: tokens.ink,
        role.ToolTipText: tokens.ground,
        role.Light: tokens.raised,
        role.Midlight: tokens.hover,
        role.Mid: tokens.line,
        role.Dark: tokens.soft,
        role.Shadow: tokens.line,
    }
    result = QPalette()
    for key, colour in colours.items():
        result.setColor(key, QColor(colour))
    for key in (role.WindowText, role.Text, role.ButtonText):
        result.setColor(QPalette.ColorGroup.Disabled, key, QColor(tokens.faint))
    return result


def shown_tokens() -> Tokens:
    """The tokens on screen now, read back from the application's palette."""
    return DARK if QGuiApplication.palette().window().color().lightness() < 128 else LIGHT


class Theme(QObject):
    """Which tokens are on screen: the user's choice, or the system's.

    Signals:
        changed(): the tokens have changed and, if applied, palette and style sheet with them.
    """

    changed = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._mode: Mode = "system"
        self._app: QApplication | None = None
        hints = QGuiApplication.styleHints()
        self._system_dark = hints.colorScheme() is Qt.ColorScheme.Dark
        hints.colorSchemeChanged.connect(self._follow_system)
        self.tokens = self._wanted()

    @property
    def mode(self) -> Mode:
        """What the user chose."""
        return self._mode

    def set_mode(self, mode: Mode) -> None:
        """Choose light, dark or whatever the system shows."""
        self._mode = mode
        self._update()

    def apply(self, app: QApplication) -> None:
        """Dress the application: style, fonts, palette, style sheet; later changes follow."""
        self._app = app
        QDir.setSearchPaths("themes", [str(resource("themes"))])
        load_fonts()
        app.setStyle(QStyleFactory.create("Fusion"))
        app.setFont(text_font())
        self._dress(app)

    def _dress(self, app: QApplication) -> None:
        app.setPalette(palette(self.tokens))
        app.setStyleSheet(style_sheet(self.tokens))

    def _wanted(self) -> Tokens:
        dark = self._system_dark if self._mode == "system" else self._mode == "dark"
        return DARK if dark else LIGHT

    @Slot(Qt.ColorScheme)
    def _follow_system(self, scheme: Qt.ColorScheme) -> None:
        self._system_dark = scheme is Qt.ColorScheme.Dark
        self._update()

    def _update(self) -> None:
        wanted = self._wanted()
        if wanted == self.tokens:
            return
        self.tokens = wanted
        if self._app is not None:
            self._dress(self._app)
        self.changed.emit()
