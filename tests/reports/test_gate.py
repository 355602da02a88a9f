"""The gate: a verdict only on what was measured."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.errors import ExitCode, UsageError
from harness.reports.gates import check_floors, gate
from harness.reports.summarising import summarise
from harness.runs.store.manifest import RunManifest
from harness.scoring.scorecard import Scorecard
from harness.suite.agents import AgentVersion
from harness.suite.cases import Case
from harness.suite.suites import Suite

Card = Callable[..., Scorecard]
Manifest = Callable[..., RunManifest]


@pytest.mark.parametrize(
    ("floors", "code"),
    [
        (["task_success=0.9"], ExitCode.DONE),
        (["task_success=0.91"], ExitCode.VERDICT),
        (["own_figure=0.9", "own_figure=0.5"], ExitCode.DONE),
        (["task_success=0.9", "own_figure=0.95"], ExitCode.VERDICT),
        (["nothing=0"], ExitCode.COULD_NOT),
        (["task_success=1", "nothing=0"], ExitCode.COULD_NOT),
        ([], ExitCode.DONE),
    ],
)
def test_a_run_is_held_against_each_floor(card: Card, manifest: Manifest, floors: list[str], code: ExitCode) -> None:
    cards = [card(str(i), i > 0, figures={"own_figure": float(i > 0), "nothing": None}) for i in range(10)]
    summary = summarise(manifest(cards), cards)

    assert gate(summary, floors).exit_code == code


@pytest.mark.parametrize(("allowed", "code"), [(0, ExitCode.COULD_NOT), (1, ExitCode.COULD_NOT), (2, ExitCode.VERDICT)])
def test_trials_that_could_not_be_measured_are_never_a_pass(
    card: Card, manifest: Manifest, allowed: int, code: ExitCode
) -> None:
    cards = [card("a"), card("b", None, outcome="inconclusive"), card("c", None, outcome="harness_failed")]

    assert gate(summarise(manifest(cards), cards), ["task_success=1"], allowed).exit_code == code


def test_a_measured_trial_whose_success_is_not_known_counts_as_unmeasured_for_success_alone(
    card: Card, manifest: Manifest
) -> None:
    cards = [card("a"), card("b", None, figures={"own_figure": 1.0})]
    summary = summarise(manifest(cards), cards)

    assert gate(summary, ["task_success=1"]).holding == "not_measured"
    assert gate(summary, ["own_figure=1"]).holding == "holds"


def test_a_run_without_cases_is_not_measured(manifest: Manifest) -> None:
    result = gate(summarise(manifest(), []), ["task_success=0"], allow_unmeasured=99)

    assert (result.exit_code, result.checks[0].reason) == (ExitCode.COULD_NOT, "no trial was measured")


@pytest.mark.parametrize(
    "floor",
    ["", "task_success", "task_success=", "task_success=high", "task_success=nan", "=1", "unheard_of=1", "a b=1"],
)
def test_a_floor_that_cannot_be_read_is_a_usage_error(card: Card, manifest: Manifest, floor: str) -> None:
    with pytest.raises(UsageError, match=r"invalid floor|no figure"):
        gate(summarise(manifest([card("a")]), [card("a")]), [floor])


@pytest.mark.parametrize(
    ("fields", "floors", "unknown"),
    [
        ({}, ["task_success=1", "steps=2"], False),
        ({}, ["task_success=1", "unheard_of=2"], True),
        ({}, ["steps"], True),
        ({}, [], False),
    ],
)
def test_a_floor_that_names_no_figure_of_the_suite_is_refused_before_it_runs(
    tmp_path: Path, fields: dict[str, Any], floors: list[str], unknown: bool
) -> None:
    agents = {"v1": AgentVersion(command=("true",), files=".")}
    cases = (Case(id="c", task="do it"),)
    suite = Suite(name="s", folder=tmp_path, agents=agents, tools=(), cases=cases, digest="d", **fields)
    if not unknown:
        check_floors(suite, floors)
        return
    with pytest.raises(UsageError, match=r"invalid floor|no figure"):
        check_floors(suite, floors)


def test_hidden_failures_count_against_the_floor_where_they_are_allowed(card: Card, manifest: Manifest) -> None:
    """Four successes and one undecided trial: 80 %, as if it had failed."""
    cards = [*(card(str(n)) for n in range(4)), card("4", None)]
    summary = summarise(manifest(cards), cards)
    assert ["holds", "fails"] == [gate(summary, [f"task_success={floor}"], 1).holding for floor in (0.8, 0.81)]
    assert 0.8 == gate(summary, ["task_success=0.8"], 1).checks[0].value
