"""What is reported as a finding, by the stored counts of labelled runs: no kind that is below its floors."""

from collections.abc import Callable

import pytest

from harness.scoring.evidence import Evidence
from harness.scoring.failures.diagnose import findings, not_measured
from harness.scoring.failures.ranking import FEWEST, Fitted, Seen, fitted
from harness.scoring.scorecard import Kind
from harness.scoring.statistics.intervals import wilson

STORED = [(kind, source, seen) for kind, some in fitted().findings.items() for source, seen in some.items()]


def _told(right: int, cases: int) -> float:
    interval = wilson(right / cases, cases)
    return 0.0 if interval is None else interval.low


@pytest.mark.parametrize(("kind", "source", "seen"), STORED, ids=[f"{kind}-{source}" for kind, source, _ in STORED])
def test_no_kind_that_is_reported_is_below_its_floors_in_the_stored_counts(kind: Kind, source: str, seen: Seen) -> None:
    always = seen.labelled / seen.runs
    can_tell = seen.cases >= FEWEST and _told(seen.cases, seen.cases) > always and seen.longest < seen.cases
    is_above = _told(seen.right, max(seen.cases, 1)) > always and seen.right > seen.longest
    assert is_above or not can_tell or not fitted().is_finding(kind), (
        f"{kind} is reported, and on {source} it is right in {seen.right} of {seen.cases} runs; "
        f"always yes: {seen.labelled} of {seen.runs}, length: {seen.longest} of {seen.cases}"
    )


def test_the_stored_counts_hold_kinds_of_both_sorts_that_a_source_can_tell_of() -> None:
    """Else the test above could not fail."""
    known = {kind for kind, _, seen in STORED if seen.cases >= FEWEST}
    assert {True, False} == {fitted().is_finding(kind) for kind in known}


@pytest.mark.parametrize(
    ("right", "cases", "labelled", "longest", "reported"),
    [
        (26, 27, 28, 18, True),
        (21, 27, 28, 18, False),  # not surely more than the 28 of 46 that "always yes" has
        (26, 27, 28, 26, False),  # length does as well
        (5, 5, 32, 3, True),  # five of five are too few to tell from 32 of 46
        (3, 4, 44, 0, True),
    ],
)
def test_a_kind_by_definition_has_to_beat_always_yes_and_length_where_a_source_can_tell(
    right: int, cases: int, labelled: int, longest: int, reported: bool
) -> None:
    seen = Seen(right=right, cases=cases, labelled=labelled, runs=46, longest=longest)
    assert reported is Fitted(findings={"plan_not_carried_out": {"s": seen}}).is_finding("plan_not_carried_out")


def test_an_inferred_kind_has_to_beat_length_too() -> None:
    good = Seen(right=9, cases=10, labelled=50, runs=100, longest=8)
    numbers = Fitted(findings={"goal_left_out": {"a": good, "b": good}})
    assert numbers.is_finding("goal_left_out")
    long = good.model_copy(update={"longest": 9})
    numbers = Fitted(findings={"goal_left_out": {"a": good, "b": long}})
    assert (
        numbers.reason_for_hint("goal_left_out")
        == "goal left out is inferred, and 1 of 2 labelled sources (a) confirm it"
    )


def test_a_mode_that_hints_alone_point_at_is_not_measured_and_the_counts_say_why(
    told: Callable[..., Evidence],
) -> None:
    asked = [("call", "web_search", {"query": query}, "nothing about that was found") for query in QUERIES]
    evidence = told(*asked, ("call", "final_answer", {"answer": "x"}, "x"), task=TASK, failed=True)
    facts, hints = findings(evidence)
    assert "goal_drift" in {one.failure for one in hints}
    reason = not_measured(evidence, facts, hints)["goal_drift"]
    assert reason.startswith("hints alone point at it: goal left out is inferred, and 0 of 2")
    assert "goal_drift" not in not_measured(evidence)


TASK = "In which year was the bridge over the northern river opened?"
QUERIES = ("year bridge opened", "northern river bridge", "recipe for bread", "sourdough recipe oven time")
