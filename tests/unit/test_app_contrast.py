"""Every text on every background it is drawn on, computed from the tokens (WCAG 2.2, 1.4.3, 1.4.11)."""

import re

import pytest

from app.theme import DARK, LIGHT, Tokens, style_sheet

SURFACES = ("ground", "panel", "raised", "bubble", "code")
TEXT = [
    *((text, surface) for text in ("ink", "soft", "ember") for surface in SURFACES),
    *((text, surface) for text in ("good", "warn", "error") for surface in SURFACES),
    *(("ink", surface) for surface in ("hover", "pressed")),
    ("soft", "hover"),  # second lines of a selected row, a hovered tab
    ("ember", "hover"),  # icon and words of what is on
    *(("on_ember", surface) for surface in ("ember", "ember_hover", "ember_pressed")),
    ("ground", "ink"),  # tooltips, toasts
    ("ground", "soft"),  # a hovered button in a toast
]
DISABLED = [("faint", surface) for surface in ("ground", "panel", "raised", "hover")]
SHAPES = [
    *(("ember", surface) for surface in ("ground", "panel", "raised", "hover")),  # focus rings
    *(("soft", surface) for surface in ("ground", "panel", "raised", "hover")),  # icons, boxes
    *(("ink", surface) for surface in ("ground", "panel", "raised")),  # rings of filled buttons
]


def luminance(colour: str) -> float:
    channels = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first: str, second: str) -> float:
    low, high = sorted((luminance(first), luminance(second)))
    return (high + 0.05) / (low + 0.05)


def test_the_formula_agrees_with_the_standard() -> None:
    assert contrast("#000000", "#FFFFFF") == pytest.approx(21)
    assert contrast("#777777", "#FFFFFF") == pytest.approx(4.48, abs=0.005)


@pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=["light", "dark"])
@pytest.mark.parametrize(
    ("pairs", "least"), [(TEXT, 4.5), (DISABLED, 3.0), (SHAPES, 3.0)], ids=["text", "off", "shapes"]
)
def test_pairs_are_readable(tokens: Tokens, pairs: list[tuple[str, str]], least: float) -> None:
    found = {
        f"{front} on {back}": round(contrast(getattr(tokens, front), getattr(tokens, back)), 2)
        for front, back in pairs
    }
    assert {pair: value for pair, value in found.items() if value < least} == {}


@pytest.mark.parametrize("tokens", [LIGHT, DARK], ids=["light", "dark"])
def test_rules_of_the_style_sheet_are_readable(tokens: Tokens) -> None:
    sheet = re.sub(r"/\*.*?\*/", "", style_sheet(tokens), flags=re.DOTALL)
    checked, poor = 0, {}
    for selector, body in re.findall(r"([^{}]+)\{([^{}]*)\}", sheet):
        front = re.search(r"(?:^|[;\s])color:\s*(#\w{6})\b", body)
        back = re.search(r"(?:^|[;\s])background:\s*(#\w{6})\b", body)
        if front and back:
            checked += 1
            value = contrast(front[1], back[1])
            if value < (3.0 if ":disabled" in selector else 4.5):
                poor[selector.strip()] = round(value, 2)
    assert checked >= 8
    assert poor == {}
