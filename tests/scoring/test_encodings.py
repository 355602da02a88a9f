"""Arguments that are right in substance: what counts as the same effect, and what as a wrong encoding."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.reports.figures import by_model
from harness.scoring.evidence import Evidence
from harness.scoring.json_values import same_effect
from harness.scoring.registry import METRICS
from harness.scoring.scorecard import Scorecard
from harness.scoring.tool_use import tool_use
from harness.suite.tools import ToolSpec
from harness.traces.trajectory import Step

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
    ("arguments", "kind"),
    [
        ({"note": {"text": "late"}}, "json_for_text"),
        ({"note": 3}, "value_for_text"),
        ({"count": "3"}, "value_as_text"),
        ({"sure": "true"}, "value_as_text"),
        ({"count": [3]}, "list_of_one"),
        ({"guests": '[{"name": "Ada"}]'}, "json_as_text"),
        ({"address": '{"city": "Oslo"}'}, "json_as_text"),
        ({"guests": {"name": "Ada"}}, "one_without_list"),
        ({"count": "three"}, None),
        ({"count": 3.0, "note": "3"}, None),
    ],
)
def test_a_wrong_encoding_is_told_by_the_declared_type(
    evidence: Build, arguments: dict[str, Any], kind: str | None
) -> None:
    [use] = tool_use(_made(evidence, arguments))
    assert ({kind: 1} if kind else {}) == use.encodings


@pytest.mark.parametrize(
    ("wanted", "made", "encodings"),
    [
        ({"note": "late"}, {"note": '"late"'}, {"json_as_text": 1}),
        ({"note": "late"}, {"note": "early"}, {}),
        ({"note": "late"}, {"note": "late"}, {}),
    ],
)
def test_a_wrong_encoding_that_the_schema_allows_is_told_by_the_reference(
    evidence: Build, wanted: dict[str, Any], made: dict[str, Any], encodings: dict[str, int]
) -> None:
    [use] = tool_use(_made(evidence, made, wanted))
    assert encodings == use.encodings


def test_encodings_are_summed_by_model(evidence: Build) -> None:
    def card(model: str, attempt: int, arguments: dict[str, Any]) -> Scorecard:
        made = _made(evidence, arguments)
        steps: tuple[Step, ...] = made.trial.trajectory.steps
        trajectory = made.trial.trajectory.model_copy(
            update={"steps": tuple(step.model_copy(update={"model": model}) for step in steps)}
        )
        trial = made.trial.model_copy(update={"trajectory": trajectory})
        use = tool_use(made.model_copy(update={"trial": trial}))
        return Scorecard(
            case_id="c", attempt=attempt, category="c", difficulty="easy", outcome="finished", success=None,
            tool_use=use, digest="",
        )  # fmt: skip

    rows = by_model([card("old", 1, {"count": 3}), card("new", 1, {"count": "3"}), card("new", 2, {"count": [3]})])
    assert {"old": {}, "new": {"list_of_one": 1, "value_as_text": 1}} == {row.name: row.encodings for row in rows}


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
