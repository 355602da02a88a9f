"""Colours that can be read, by day and by night: the ratio of the Web Content Accessibility Guidelines, level AA."""

import re
from importlib.resources import files

import pytest

from harness.reports.palette import palette

_STYLE = (files("harness.reports.pages") / "assets" / "style.css").read_text(encoding="utf-8")
_COLOURS = {
    name: (light, dark) for name, light, dark in re.findall(r"--([\w-]+): light-dark\(#(\w{6}), #(\w{6})\);", palette())
}
_GROUNDS = ("page", "sheet", "sunk")
_TEXTS = (
    "text",
    "dim",
    "link",
    "good",
    "bad",
    "open",
    "a",
    "b",
    "call",
    "thought",
    "json-key",
    "json-text",
    "json-value",
)
_PAIRS = [(text, ground) for text in _TEXTS for ground in _GROUNDS] + [
    ("good", "good-ground"),
    ("bad", "bad-ground"),
    ("open", "open-ground"),
    ("text", "bad-ground"),
    ("dim", "bad-ground"),
    ("link", "bad-ground"),
]


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def _contrast(one: str, other: str) -> float:
    low, high = sorted((_luminance(one), _luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_the_ratio_is_that_of_the_guidelines() -> None:
    assert (21.0, 4.48) == (_contrast("000000", "ffffff"), round(_contrast("777777", "ffffff"), 2))


@pytest.mark.parametrize("light", [0, 1], ids=["light", "dark"])
def test_every_text_can_be_read_on_every_ground(light: int) -> None:
    found = {pair: round(_contrast(_COLOURS[pair[0]][light], _COLOURS[pair[1]][light]), 2) for pair in _PAIRS}
    assert {} == {pair: ratio for pair, ratio in found.items() if ratio < 4.5}


@pytest.mark.parametrize("light", [0, 1], ids=["light", "dark"])
def test_marks_of_plots_stand_out_from_their_ground(light: int) -> None:
    found = {name: _contrast(_COLOURS[name][light], _COLOURS["sheet"][light]) for name in ("a", "b", "past", "edge")}
    assert {} == {name: ratio for name, ratio in found.items() if ratio < (2 if name == "past" else 3)}


def test_no_colour_is_written_outside_the_list() -> None:
    assert [] == re.findall(r"#[0-9a-fA-F]{3,8}\b(?=[^{]*\})", _STYLE)
    named = set(re.findall(r"var\(--([\w-]+)\)", _STYLE))
    assert set() == named - {"mono", *_COLOURS}
