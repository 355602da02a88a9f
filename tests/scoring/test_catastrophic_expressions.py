"""Expressions that never end on what an agent left: the check fails and says why, and nothing hangs."""

import re
import time

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from harness.drift.answers import unlike
from harness.drift.forms import PathRules
from harness.errors import OutOfTime
from harness.scoring.evidence import Evidence
from harness.scoring.scorer import score_trial
from harness.scoring.verifiers.files import Files
from harness.suite.cases import Case
from harness.suite.suites import AnswerRule
from harness.suite.tools import ToolSpec, VolatilePart
from harness.traces.trajectory import Trajectory
from harness.traces.trial import EndState, FileChange, Trial

NESTED = r"^(a|a)+$"
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
def test_a_check_whose_expression_takes_too_long_fails(evidence, suite, check, answer, said) -> None:
    card = score_trial(evidence(answer=answer), suite([{"checks": [{"name": "one", **check}]}]))

    assert False is card.success
    (verdict,) = card.verdicts
    assert False is verdict.passed
    assert verdict.reason.startswith(f"failed, because what the agent left cannot be checked: {said}")


def test_a_path_that_searches_by_an_expression_fails(evidence, suite) -> None:
    path = f"$.items[?search(@.name, '{NESTED}')]"
    probe = {"name": "shelf", "api": {"server": "shop", "path": "/items"}}
    check = {"name": "one", "verifier": "api", "with": {"probe": "shelf", "body": [{"path": path}]}}
    one = evidence(states={"shelf": {"status": 200, "body": {"items": [{"name": HOSTILE}]}}})
    card = score_trial(one, suite([{"checks": [check], "probes": [probe]}]))

    assert [(False, f"failed, because what the agent left cannot be checked: with.body.path: {path!r}")] == [
        (one.passed, one.reason.split(" was not answered")[0]) for one in card.verdicts
    ]


def test_patterns_of_paths_are_told_of_any_path(evidence, suite) -> None:
    deep = tuple(FileChange(path=f"/work/{'a/' * 1000}{name}", change="added", kind="file") for name in range(50))
    one = evidence(end_state=EndState(changes=deep))
    check = {"name": "one", "verifier": "files", "with": {"added": ["**/**/**/**/*a*a*a*b", "**/0"]}}
    (verdict,) = score_trial(one, suite([{"checks": [check]}])).verdicts

    assert (False, True) == (
        verdict.passed,
        verdict.reason.endswith("1' was added, which is not expected (and 48 more)"),
    )


PARTS = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]", "/": "/", "a": "a", "b": "b"}


@settings(max_examples=500)
@given(st.lists(st.sampled_from(sorted(PARTS)), max_size=8), st.text("ab/", max_size=10))
def test_a_pattern_of_paths_means_what_the_expression_for_it_says(parts: list[str], rest: str) -> None:
    pattern = "".join(parts)
    assume(pattern and not pattern.endswith("/"))  # such a pattern means a folder
    tokens = re.findall(r"\*\*/|\*\*|\*|\?|[^*?]+", f"/work/{pattern}")
    expression = "".join(PARTS.get(token, re.escape(token)) for token in tokens)
    change = FileChange(path=f"/work/{rest}", change="added")
    trial = Trial(
        case_id="c",
        attempt=1,
        outcome="finished",
        trajectory=Trajectory(trace_id="t", agent="a", steps=()),
        end_state=EndState(changes=(change,)),
    )
    passed, _, _ = Files(added=(f"/work/{pattern}",)).verify(
        Evidence(case=Case(id="c", task="x"), trial=trial, tools=())
    )
    assert (re.fullmatch(expression, change.path, re.DOTALL) is not None) is passed


def _tool(**more) -> ToolSpec:
    schema = {"type": "object", "properties": {"query": {"type": "string", **more.pop("query", {})}}}
    told = {"name": "find", "effect": "read", "server": "s", "http": {"path": "/find"}, "parameters": schema}
    return ToolSpec.model_validate(told | more)


@pytest.mark.parametrize(
    ("find", "metric", "said"),
    [
        (_tool(query={"pattern": NESTED}), "parameter_validity", "tool 'find': parameters.properties.query.pattern"),
        (
            _tool(ignore=(VolatilePart(at="/query", regex=NESTED),)),
            "redundancy",
            "tool 'find': ignore: the regex at /query",
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
    rules = PathRules([AnswerRule(at="/name", compare="regex", regex=NESTED)])
    with pytest.raises(OutOfTime, match="'/name': regex: "):
        unlike({"name": "aa"}, {"name": HOSTILE}, rules)
