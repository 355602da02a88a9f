"""What only the agent reports passes no check and fails those that it breaks; equal work gives equal deviations."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.errors import UsageError
from harness.scoring.alignment import deviations_from_trial
from harness.scoring.evidence import Evidence
from harness.scoring.scorer import build_scorer
from harness.suite.cases import CheckSpec
from harness.suite.interventions import FedCall
from tests.scoring.conftest import TOOLS

Build = Callable[..., Evidence]
Found = list[tuple[str, int, str | None]]


def with_claims(made: Evidence, *claimed: int) -> Evidence:
    """The same, the calls of these steps being only reported by the agent, and all others observed."""
    steps = list(made.trial.trajectory.steps)
    for place, step in enumerate(steps):
        evidence = "self_reported" if place in claimed else "observed"
        calls = tuple(call.model_copy(update={"evidence": evidence}) for call in step.calls)
        steps[place] = step.model_copy(update={"calls": calls})
    trajectory = made.trial.trajectory.model_copy(update={"steps": tuple(steps)})
    return made.model_copy(update={"trial": made.trial.model_copy(update={"trajectory": trajectory})})


CHECKS = {
    "required": {"verifier": "required_tools", "with": {"tools": ["add"]}},
    "forbidden": {"verifier": "forbidden_tools", "with": {"tools": ["close"]}},
    "undecided": {"verifier": "required_tools", "with": {}},
}


@pytest.mark.parametrize(
    ("calls", "claimed", "expected"),
    [
        (["add"], (), (True, True, None)),
        (["add"], (0,), (False, True, None)),  # a claim passes nothing
        (["find", "close"], (1,), (False, False, None)),  # and fails what it breaks
        (["add", "find"], (1,), (True, True, None)),
        (["add", "close"], (1,), (True, False, None)),
    ],
)
def test_a_claimed_call_passes_no_check_and_fails_what_forbids_it(
    suite: Callable[..., Any], evidence: Build, calls: list[str], claimed: tuple[int, ...], expected: tuple[Any, ...]
) -> None:
    checks = tuple(CheckSpec.model_validate({"name": name, **rule}) for name, rule in CHECKS.items())
    made = with_claims(evidence([(name, {"item": "egg"}) for name in calls]), *claimed)
    card = build_scorer(suite(checks=checks)).score(made)
    assert expected == tuple(one.passed for one in card.verdicts)
    assert (claimed == (0,)) == ("the agent reports" in card.verdicts[0].reason)


def test_evidence_tells_what_was_observed_from_what_counts(evidence: Build) -> None:
    plain = evidence([("add", {"item": "egg"})])
    assert not plain.self_reports
    assert plain is plain.observed is plain.counted is plain.credited
    mixed = with_claims(evidence([("add", {"item": "egg"}), ("find", {}), ("own_tool", {})]), 1, 2)
    assert mixed.self_reports
    assert ["add"] == [call.name for call in mixed.observed.trial.trajectory.calls]
    assert ["add", "own_tool"] == [call.name for call in mixed.counted.trial.trajectory.calls]
    assert mixed.credited.trial == mixed.observed.trial
    claimed = with_claims(evidence([("own_tool", {})]), 0)
    assert ["own_tool"] == [call.name for call in claimed.credited.trial.trajectory.calls]


@pytest.mark.parametrize(
    ("answer", "answered"), [("done", True), (" \n", False), ("", False), (None, False), (0, True), ({}, True)]
)
def test_a_blank_text_is_no_answer_and_any_other_value_is(evidence: Build, answer: Any, *, answered: bool) -> None:
    assert answered == evidence(answer=answer).answered


def test_a_scorer_without_metrics_gives_the_same_success_and_no_figures(
    suite: Callable[..., Any], evidence: Build
) -> None:
    checks = (CheckSpec.model_validate({"name": "c", **CHECKS["required"]}),)
    scorer = build_scorer(suite(checks=checks))
    loop = [("find", {"query": "x"})] * 3
    whole, quick = scorer.score(evidence(loop)), scorer.without_metrics().score(evidence(loop))
    assert (False, whole.verdicts) == (quick.success, quick.verdicts)
    assert ((), whole.diagnoses) == (quick.scores, quick.diagnoses)
    assert {"loop_trap", "other"} >= {one.failure for one in whole.diagnoses} > set()
    versions = scorer.versions
    assert versions == dict(sorted(versions.items()))
    assert {"verifier:required_tools", "metric:completion", "detector:facts"} <= versions.keys()
    with pytest.raises(UsageError, match="'other'"):
        scorer.score(evidence(case={"id": "other"}))


def fed(*calls: tuple[str, Any]) -> list[FedCall]:
    return [FedCall(tool=name, arguments=arguments, step=place) for place, (name, arguments) in enumerate(calls)]


FIND, LOOK, ADD, CLOSE = ("find", {"query": "a"}), ("look", {"query": "a"}), ("add", {"item": "egg"}), ("close", {})


@pytest.mark.parametrize(
    ("made", "passing", "expected"),
    [
        ([FIND, ADD], [FIND, ADD], []),
        ([FIND, ("find", {"query": "b"}), ADD], [FIND, ADD], [("needless_read", 1, None)]),
        ([FIND, ADD, ADD], [FIND, ADD], [("needless_write", 2, None)]),
        ([FIND], [FIND, ADD], [("missing_call", 1, None)]),
        ([ADD], [FIND, ADD], [("missing_call", 0, None)]),
        ([FIND, CLOSE], [FIND, ADD], [("wrong_tool", 1, None)]),
        ([LOOK, ADD], [FIND, ADD], [("wrong_tool", 0, None)]),
        ([FIND, ("add", {"item": "ham"})], [FIND, ADD], [("wrong_arguments", 1, "item")]),
        ([("find", {"query": "a", "limit": 5}), ADD], [FIND, ADD], []),  # the default
        ([("find", None), ADD], [FIND, ADD], [("wrong_arguments", 0, "query")]),
        ([ADD, FIND, CLOSE], [FIND, CLOSE, ADD], [("wrong_order", 0, None), ("missing_call", 3, None)]),
        ([], [FIND, ADD], [("missing_call", 0, None), ("missing_call", 0, None)]),
        ([FIND, ADD], [], [("needless_read", 0, None), ("needless_write", 1, None)]),
    ],
)
def test_calls_that_differ_from_a_passing_trial_are_named_by_what_is_wrong(
    made: list[Any], passing: list[Any], expected: Found
) -> None:
    found = deviations_from_trial(fed(*made), fed(*passing), TOOLS)
    assert expected == [(one.kind, one.at, ", ".join(one.arguments) or None) for one in found]


def test_a_deviation_is_described_with_the_calls_that_it_is_about() -> None:
    made, passing = fed(("find", {"query": "b"}), CLOSE), fed(FIND, ADD)
    wrong, other = (one.words for one in deviations_from_trial(made, passing, TOOLS))
    assert wrong.startswith("wrong arguments (query): find(")
    assert other.startswith("wrong tool: close(")
    assert " instead of add(" in other
    [missing] = deviations_from_trial(fed(FIND), passing, TOOLS)
    assert missing.words.startswith("missing call: add(")
    [needless] = deviations_from_trial(passing, fed(FIND), TOOLS)
    assert needless.words.startswith("needless write: add(")
