"""Arguments that are not equal, and surely have the same effect."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.scoring.evidence import Evidence
from harness.scoring.json_values import same_effect
from harness.scoring.registry import METRICS
from harness.suite.tools import ToolSpec

Build = Callable[..., Evidence]
BOOK: dict[str, Any] = {
    "type": "object",
    "properties": {
        "note": {"type": "string"},
        "count": {"type": "integer"},
        "sure": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
        "guests": {"type": "array", "items": {"type": "object", "properties": {"name": {}, "age": {}}}},
        "address": {"type": "object"},
    },
}
TOOL = ToolSpec.model_validate(
    {"name": "book", "effect": "write", "server": "s", "http": {"path": "/book"}, "parameters": BOOK}
)


def _made(evidence: Build, arguments: dict[str, Any], reference: dict[str, Any] | None = None) -> Evidence:
    case = {"reference": [{"id": "1", "tool": "book", "arguments": reference}]} if reference is not None else {}
    return evidence([("book", arguments)], case).model_copy(update={"tools": (TOOL,)})


@pytest.mark.parametrize(
    ("wanted", "made", "same"),
    [
        ({"ids": ["A1", "B2"]}, {"ids": ["B2", "A1"]}, True),
        ({"ids": ["A1", "A1"]}, {"ids": ["A1", "B2"]}, False),
        ({"point": [1, 2]}, {"point": [2, 1]}, False),  # the order of numbers and of words may matter
        ({"commands": ["git add", "git commit"]}, {"commands": ["git commit", "git add"]}, False),
        (
            {"item_ids": ["1", "2"], "new_item_ids": ["7", "8"]},
            {"item_ids": ["2", "1"], "new_item_ids": ["8", "7"]},
            True,
        ),
        (
            {"item_ids": ["1", "2"], "new_item_ids": ["7", "8"]},
            {"item_ids": ["2", "1"], "new_item_ids": ["7", "8"]},
            False,
        ),
        ({"guests": [{"name": "Ada"}]}, {"guests": [{"name": "Ada", "seat": 3}]}, True),  # the tool does not know it
        ({"guests": [{"name": "Ada"}]}, {"guests": [{"name": "Ada", "age": 3}]}, False),  # the tool does
        ({"guests": [{"name": "Ada", "seat": 3}]}, {"guests": [{"name": "Ada"}]}, False),
        ({"note": None}, {}, True),
        ({"note": ""}, {}, False),
        ({"count": 3}, {"count": "3"}, False),
    ],
)
def test_what_surely_comes_to_the_same(wanted: dict[str, Any], made: dict[str, Any], same: bool) -> None:
    assert same == same_effect(wanted, made, BOOK)


def test_effect_match_takes_what_surely_comes_to_the_same(evidence: Build) -> None:
    def value(made: dict[str, Any]) -> float | None:
        return METRICS["effect_match"]().measure(_made(evidence, made, {"guests": [{"name": "Ada"}]}))[0]

    assert 1.0 == value({"guests": [{"name": "Ada", "seat": 3}]})
    assert 0.0 == value({"guests": [{"name": "Bob", "seat": 3}]})


def test_effect_match_cannot_tell_where_the_benchmark_does_not_judge_by_the_state(evidence: Build) -> None:
    def value(*basis: str) -> float | None:
        made = _made(evidence, {"count": 3}, {"count": 3})
        case = made.case.model_copy(update={"expected": {"reward_basis": list(basis)}})
        return METRICS["effect_match"]().measure(made.model_copy(update={"case": case}))[0]

    assert value("ENV_ASSERTION") is None
    assert 1.0 == value("DB", "COMMUNICATE")
    assert 1.0 == value()
