"""Expressions that never end on what an agent left: nobody can tell, which is said, and nothing hangs."""

import time

import pytest

from harness.case import AnswerRule, ToolSpec, VolatilePart
from harness.drift.rules import PathRules
from harness.drift.values import unlike
from harness.errors import OutOfTime
from harness.score import score_trial
from harness.trace import EndState, FileChange

NESTED = r"^(a+)+$"
HOSTILE = "a" * 60 + "!"


@pytest.fixture(autouse=True)
def _soon():
    began = time.monotonic()
    yield
    assert time.monotonic() - began < 30


CHECKS = [
    ({"verifier": "final_answer", "with": {"regex": NESTED}}, HOSTILE, f"regex: {NESTED!r}"),
    (
        {"verifier": "json_schema", "with": {"schema": {"items": {"pattern": NESTED}}}},
        [HOSTILE],
        f"with.schema.items.pattern: {NESTED!r}",
    ),
]


@pytest.mark.parametrize(("check", "answer", "said"), CHECKS)
def test_a_check_whose_expression_takes_too_long_cannot_tell(evidence, suite, check, answer, said) -> None:
    card = score_trial(evidence(answer=answer), suite([{"checks": [{"name": "one", **check}]}]))

    assert None is card.success
    (verdict,) = card.verdicts
    assert None is verdict.passed
    assert verdict.reason.startswith(f"could not be told: {said}")
    assert "write the expression without repeats inside of repeats" in verdict.reason


def test_a_path_that_searches_by_an_expression_cannot_tell(evidence, suite) -> None:
    path = f"$.items[?search(@.name, '{NESTED}')]"
    probe = {"name": "shelf", "api": {"server": "shop", "path": "/items"}}
    check = {"name": "one", "verifier": "api", "with": {"probe": "shelf", "body": [{"path": path}]}}
    one = evidence(states={"shelf": {"status": 200, "body": {"items": [{"name": HOSTILE}]}}})
    card = score_trial(one, suite([{"checks": [check], "probes": [probe]}]))

    assert [(None, f"could not be told: with.body.path: {path!r}")] == [
        (one.passed, one.reason.split(" was not answered")[0]) for one in card.verdicts
    ]


def test_a_pattern_of_paths_that_takes_too_long_cannot_tell(evidence, suite) -> None:
    deep = "/work/" + "a/" * 1000
    change = FileChange(path=deep + "x", change="added", kind="file")
    one = evidence(end_state=EndState(changes=(change,)))
    check = {"name": "one", "verifier": "files", "with": {"added": ["**/**/**/**/b"]}}
    (verdict,) = score_trial(one, suite([{"checks": [check]}])).verdicts

    assert None is verdict.passed
    assert "the pattern '/work/**/**/**/**/b'" in verdict.reason


def _tool(**more) -> ToolSpec:
    schema = {"type": "object", "properties": {"query": {"type": "string", **more.pop("query", {})}}}
    told = {"name": "find", "effect": "read", "server": "s", "http": {"path": "/find"}, "parameters": schema}
    return ToolSpec.model_validate(told | more)


@pytest.mark.parametrize(
    ("find", "metric", "said"),
    [
        (_tool(query={"pattern": NESTED}), "parameter_validity", "tool 'find': parameters.properties.query.pattern"),
        (
            _tool(ignore_arguments=(VolatilePart(at="/query", pattern=NESTED),)),
            "redundancy",
            "tool 'find': ignore_arguments: the pattern at /query",
        ),
    ],
)
def test_a_figure_that_asks_such_a_tool_is_not_known(evidence, suite, find, metric, said) -> None:
    made = evidence([("find", {"query": HOSTILE})] * 2).model_copy(update={"tools": (find,)})
    card = score_trial(made, suite())

    (score,) = (one for one in card.scores if one.metric == metric)
    assert None is score.value
    assert said in score.explanation
    assert () == card.tool_use


def test_an_answer_that_a_rule_cannot_compare_ends_in_words() -> None:
    rules = PathRules([AnswerRule(at="/name", compare="regex", pattern=NESTED)])
    with pytest.raises(OutOfTime, match="drift: the rule at '/name': pattern: "):
        unlike({"name": "aa"}, {"name": HOSTILE}, rules)
