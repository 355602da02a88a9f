"""A document that does not match its shape is refused in words, and not in those of the library that validates it."""

from pathlib import Path
from typing import Literal

import pytest
from pydantic import BaseModel, ConfigDict

from harness.errors import UsageError
from harness.suite.documents import read_document


class Inner(BaseModel):
    x: int = 0


class Shape(BaseModel):
    model_config = ConfigDict(strict=False)

    text: str = ""
    number: float = 0
    whole: int = 0
    switch: bool = False
    several: tuple[str, ...] = ()
    named: dict[str, int] = {}
    inner: Inner = Inner()
    word: Literal["replay", "live"] = "live"


@pytest.mark.parametrize(
    ("written", "said"),
    [
        ("text: 5", "field 'text': expected a text, found 5"),
        ("text: {a: 1}", "field 'text': expected a text, found a mapping"),
        ("number: x", "field 'number': expected a number, found \"x\""),
        ("whole: [1]", "field 'whole': expected a whole number, found a list"),
        ("whole: 1.5", "field 'whole': expected a whole number, found 1.5"),
        ("switch: perhaps", "field 'switch': expected true or false, found \"perhaps\""),
        ("several: 5", "field 'several': expected a list, found 5"),
        ("named: null", "field 'named': expected a mapping, found nothing"),
        ("inner: true", "field 'inner': expected a mapping, found true"),
        ("word: nosuch", "field 'word': expected 'replay' or 'live', found \"nosuch\""),
    ],
)
def test_it_says_what_was_expected_and_what_was_found(tmp_path: Path, written: str, said: str) -> None:
    path = tmp_path / "document.yaml"
    path.write_text(f"# a document\n{written}\n")
    with pytest.raises(UsageError) as refused:
        read_document(path, Shape)
    assert f"{path}:2: {said}" == str(refused.value)
