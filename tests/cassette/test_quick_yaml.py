"""The quick reader of cassettes gives what vcrpy's own reader gives, or leaves the text to it."""

from pathlib import Path

import pytest
from vcr.serializers import yamlserializer

from harness.cassette.quick_yaml import NotPlainYaml, quick_values

CASSETTES = sorted((Path(__file__).parents[2] / "cassettes").rglob("*.yaml"), key=lambda path: path.stat().st_size)
SCALARS = """\
a: [1, -2, 0x1f, 0o17, 1_000, 1.5, 1e3, .inf, 2026-01-31, yes, No, null, ~, "1", 'yes', "", text]
b: !!binary |
  R0lGODlhAQABAIAAAAUEBA==
c: {x: {y: []}, 1: one, null: none}
d: "a folded
  text \\u00e9 \\
  end"
e: |
  lines
  of text
f:
"""


@pytest.mark.parametrize("text", [SCALARS, "[]", "plain", "a: 1\na: 2\n", *(one.read_text() for one in CASSETTES[:12])])
def test_plain_yaml_is_read_as_vcrpy_reads_it(text: str) -> None:
    assert repr(yamlserializer.deserialize(text)) == repr(quick_values(text))


@pytest.mark.parametrize(
    "text",
    [
        "a: &x 1\nb: *x",
        "<<: {a: 1}",
        "a: !!python/tuple [1]",
        "a: !!str 1",
        "? [a]\n: 1",
        "a: 1\n---\nb: 2",
        "a: [",
        "[" * 60 + "]" * 60,
        "",
    ],
)
def test_what_is_not_plain_is_left_to_vcrpy(text: str) -> None:
    with pytest.raises(NotPlainYaml):
        quick_values(text)
