"""Plans and calls whose number the agent chooses: they are measured in little time, as short ones are."""

import time
from collections.abc import Callable

import pytest

from harness.scoring.evidence import Evidence
from harness.scoring.registry import METRICS

Build = Callable[..., Evidence]


def _with_plan(evidence: Evidence, plan: tuple[str, ...]) -> Evidence:
    steps = evidence.trial.trajectory.steps
    planned = (steps[0].model_copy(update={"plan": plan}), *steps[1:])
    trajectory = evidence.trial.trajectory.model_copy(update={"steps": planned})
    return evidence.model_copy(update={"trial": evidence.trial.model_copy(update={"trajectory": trajectory})})


@pytest.mark.slow
def test_a_plan_of_a_thousand_items_beside_thousands_of_calls_takes_little_time(evidence: Build) -> None:
    """An agent had held the harness for hours: each item was compared with each call, and each chain with each."""
    calls = [("find", {"query": "egg"})] * 5_000
    planned = _with_plan(evidence(calls), tuple(f"find the egg {number}" for number in range(1_000)))
    began = time.process_time()
    value, explanation = METRICS["plan_adherence"]().measure(planned)

    assert (1.0, "1000 of 1000 items of the plan were carried out in its order") == (value, explanation)
    assert time.process_time() - began < 20


def test_equal_items_and_equal_calls_each_count(evidence: Build) -> None:
    calls = [("find", {"query": "egg"}), ("add", {"item": "egg"}), ("find", {"query": "egg"})]
    measure = METRICS["plan_adherence"]().measure

    assert 1.0 == measure(_with_plan(evidence(calls), ("find the egg", "add the egg", "find the egg")))[0]
    assert 3 / 4 == measure(_with_plan(evidence(calls), (*("find the egg",) * 3, "add the egg")))[0]
    assert 2 / 3 == measure(_with_plan(evidence(calls[:2]), ("find the egg",) * 3))[0]
