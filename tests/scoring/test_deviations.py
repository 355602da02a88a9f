"""Where a trial's calls leave the right ones, and in which other ways they could be paired."""

from collections.abc import Callable, Iterable

import pytest

from harness.scoring.alignment import (
    Deviation,
    alternative_deviations,
    deviations_from_reference,
    deviations_from_trial,
)
from harness.scoring.evidence import Evidence, step_of_call
from harness.suite.cases import ReferenceCall
from harness.suite.interventions import FedCall, Invocation
from harness.suite.tools import ToolSpec
from harness.traces.trajectory import Step


def _tool(name: str, effect: str) -> ToolSpec:
    values = {"name": name, "effect": effect, "server": "s", "http": {"path": "/"}}
    return ToolSpec.model_validate({**values, "parameters": {"type": "object"}})


TOOLS = [_tool("r", "read"), _tool("A", "write"), _tool("B", "write")]
"""Calls are written as the tool and its argument: `r1` reads, `A1` and `B1` write."""


def calls(words: str) -> list[Invocation]:
    return [Invocation(tool=word[0], arguments={"n": word[1:]}) for word in words.split()]


def fed(words: str) -> list[FedCall]:
    return [FedCall(tool=one.tool, arguments=one.arguments, step=at) for at, one in enumerate(calls(words))]


def reference(words: str) -> tuple[ReferenceCall, ...]:
    """`A1<0` has to come after the first call."""
    found = []
    for number, word in enumerate(words.split()):
        call, _, after = word.partition("<")
        [one] = calls(call)
        found.append(
            ReferenceCall(id=str(number), tool=one.tool, arguments=one.arguments, after=(after,) if after else ())
        )
    return tuple(found)


def shown(found: Iterable[Deviation]) -> list[str]:
    """`kind@place right/made`; `-` stands for none."""

    def word(one: Invocation | None) -> str:
        return "-" if one is None else f"{one.tool}{one.arguments['n']}"

    return [f"{one.kind}@{one.at} {word(one.expected)}/{word(one.found)}" for one in found]


@pytest.mark.parametrize(
    ("made", "right", "by_trial", "by_reference"),
    [
        ("A1 B1", "A1 B1<0", [], []),
        ("r1 B1", "r1 A1<0 B1<0", ["missing_call@1 A1/-"], None),
        ("A1 B2 A3", "A1 B2<0 A2<1 A3<2", ["missing_call@2 A2/-"], None),
        ("", "A1 B1<0", ["missing_call@0 A1/-", "missing_call@0 B1/-"], None),
        ("r1 A1 A1", "r1 A1<0", ["needless_write@2 -/A1"], None),
        ("A1 r1 A1", "r1 A1<0", ["needless_write@0 -/A1"], None),
        ("r1 r2 A1", "r1 A1<0", ["needless_read@1 -/r2"], None),
        ("r1 r1", "r1", ["needless_read@1 -/r1"], None),
        ("r2 A1", "r1 A1", ["wrong_arguments@0 r1/r2"], None),
        ("r1 A9 B1", "r1 A1<0 B1<1", ["wrong_arguments@1 A1/A9"], None),
        ("A1 A1", "A1 B1", ["wrong_tool@1 B1/A1"], None),
        # against a trial the earliest call that moved is told, against a reference what came too early
        ("A1 r1", "r1 A1<0", ["missing_call@0 r1/-", "wrong_order@1 -/r1"], ["wrong_order@0 -/A1"]),
        ("B1 A1", "A1 B1<0", ["wrong_order@0 -/B1", "missing_call@2 B1/-"], ["wrong_order@0 -/B1"]),
        ("B1 A1", "A1 B1", ["wrong_order@0 -/B1", "missing_call@2 B1/-"], []),
        ("B1", "r1 A1<0", ["wrong_tool@0 r1/B1", "missing_call@1 A1/-"], ["wrong_tool@0 A1/B1", "missing_call@0 r1/-"]),
    ],
)
def test_a_trial_is_held_against_a_passing_one_in_order_and_a_reference_in_its_partial_order(
    made: str, right: str, by_trial: list[str], by_reference: list[str] | None
) -> None:
    wanted = reference(right)
    passing = [FedCall(tool=one.tool, arguments=one.arguments, step=at) for at, one in enumerate(wanted)]
    assert by_trial == shown(deviations_from_trial(fed(made), passing, TOOLS))
    expected = by_trial if by_reference is None else by_reference
    assert expected == shown(deviations_from_reference(fed(made), wanted, TOOLS))


def test_a_call_in_the_wrong_order_says_where_it_belongs_and_a_changed_one_which_arguments_differ() -> None:
    [moved] = deviations_from_reference(fed("B1 A1"), reference("A1 B1<0"), TOOLS)
    assert 2 == moved.belongs_at
    [changed] = deviations_from_reference(fed("A9"), reference("A1"), TOOLS)
    assert ("n",) == changed.arguments
    assert () == deviations_from_reference(fed("A1"), None, TOOLS)
    assert ["needless_write@0 -/A1"] == shown(deviations_from_reference(fed("A1"), (), TOOLS))


@pytest.mark.parametrize(
    ("made", "right", "others"),
    [
        ("A2 A1", "A1", ["wrong_arguments@0 A1/A2", "missing_call@0 A1/-"]),
        ("A1 A1", "A1 B1", ["needless_write@1 -/A1", "missing_call@1 B1/-"]),
        ("r1 A9 B1", "r1 A1 B1", ["needless_write@1 -/A9", "missing_call@1 A1/-"]),
        ("B1", "r1 A1", ["needless_write@0 -/B1", "wrong_tool@0 A1/B1", "missing_call@0 A1/-"]),
        ("A1 A1", "A1", []),  # nothing is left that could belong there
        ("r2 A1", "r1 A1", []),  # a read changes nothing
        ("B1 A1", "A1 B1", []),  # it is right, and in the wrong place
    ],
)
def test_a_write_that_differs_may_be_needless_or_stand_for_the_next_right_one(
    made: str, right: str, others: list[str]
) -> None:
    passing = fed(right)
    base = deviations_from_trial(fed(made), passing, TOOLS)
    assert others == shown(alternative_deviations(fed(made), base, calls(right), TOOLS))


def test_without_calls_a_deviation_at_the_end_stands_at_the_answer(evidence: Callable[..., Evidence]) -> None:
    trial = evidence().trial
    assert 0 == step_of_call((), trial, 0)
    assert trial.trajectory is not None
    for source, step in (("agent", 1), ("user", 0)):
        steps = (Step(index=0, source="user", message="hello"), Step(index=1, source=source, message="bye"))
        told = trial.model_copy(update={"trajectory": trial.trajectory.model_copy(update={"steps": steps})})
        assert step == step_of_call((), told, 0)
