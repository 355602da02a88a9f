"""Figures from nowhere that a failed conversation without calls goes on with."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.scoring.evidence import Evidence, Verdict
from harness.scoring.failures.diagnose import findings
from harness.scoring.scorecard import Diagnosis
from harness.suite.cases import Case
from harness.traces.trajectory import Step, Trajectory
from harness.traces.trial import Trial

Turn = tuple[str, str]
TASK = "Which of the two houses sold for more, 2072 Akaikai Loop or 2017 Komo Mai Drive?"
OPENING = ("agent", f"# General Task\n{TASK}\n## Plan\nThe analyst gathers the sales data.")
TOLD = ("agent", "Here are the sales data: 2072 Akaikai Loop sold for $850,000, 2017 Komo Mai Drive for $950,000.")
USED = ("agent", "Comparing 850000 with 950000: Komo Mai Drive sold for more.")


def _found(*turns: Turn, passed: bool | None = False, parent: int | None = None) -> list[Diagnosis]:
    steps = tuple(
        Step(index=n, source=source, agent="a", message=said, parent=parent if n == 1 else None)
        for n, (source, said) in enumerate(turns)
    )
    verdict = Verdict(check="reward", verifier="reward", version="1", passed=passed, reason="the reward")
    evidence = Evidence(
        case=Case(id="houses", task=TASK),
        trial=Trial(
            case_id="houses", attempt=1, outcome="finished", trajectory=Trajectory(trace_id="t", agent="a", steps=steps)
        ),
        tools=(),
        verdicts=(verdict,),
    )
    facts, hints = findings(evidence)
    kinds = ("unsourced_figures_carried", "recalled_figures")
    return [one for one in (*facts, *hints) if one.kind in kinds]


def test_figures_from_nowhere_that_later_messages_use_are_a_cascade_from_the_message_that_told_them() -> None:
    found = {one.kind: one for one in _found(OPENING, TOLD, USED, ("agent", "So it is 950000."))}
    cascade = found["unsourced_figures_carried"]
    assert ("cascading_error", 1, (2, 3)) == (cascade.failure, cascade.origin_step, cascade.dependent_steps)
    assert "850000, 950000" in cascade.evidence
    assert cascade.prevention
    assert ("premature_commitment", 1) == (found["recalled_figures"].failure, found["recalled_figures"].origin_step)


@pytest.mark.parametrize(
    "turns",
    [
        (OPENING, ("system", "exitcode: 0\nprices: 850000, 950000"), TOLD, USED),  # a program printed them
        (OPENING, ("user", "They sold for 850,000 and 950,000."), TOLD, USED),  # the user gave them
        (("agent", f"{TASK} The prices are $850,000 and $950,000."), TOLD, USED),  # the opening message gave them
        (OPENING, TOLD, ("agent", "Thank you.")),  # nothing rests on them
        (OPENING, ("agent", "One is 12 * 50 = 850,000, the other = $950,000."), USED, USED),  # computed
        (
            OPENING,
            ("agent", "See https://a.example/850000/950000 for 2 houses."),
            ("agent", "https://a.example/850000"),
        ),
    ],
)
def test_figures_that_were_given_or_computed_or_that_nothing_rests_on_are_none(turns: tuple[Turn, ...]) -> None:
    assert [] == [one for one in _found(*turns) if one.origin_step == 1]


@pytest.mark.parametrize(
    "said",
    [
        "The films are from 1974 and 1985.",
        "The shops are at 1550 N Kingsbury St, Chicago, IL 60642 and 2746 N Clybourn Ave, Chicago, IL 60614.",
    ],
)
def test_years_and_addresses_are_recalled_and_nothing_is_computed_from_them(said: str) -> None:
    found = _found(OPENING, ("agent", said), ("agent", f"As was told: {said}"))
    assert [("recalled_figures", 1)] == [(one.kind, one.origin_step) for one in found]


def test_quantities_beside_a_year_are_carried_without_it() -> None:
    said = "In 1985 the houses cost 120,000 and $14."
    found = {one.kind: one for one in _found(OPENING, ("agent", said), ("agent", said))}
    assert {"recalled_figures", "unsourced_figures_carried"} == found.keys()
    assert "tells 120000, 14," in found["unsourced_figures_carried"].evidence


def test_the_figures_of_a_page_that_an_agent_sends_have_a_source() -> None:
    page = "Address: https://houses.example\nTitle: Houses\nViewport position: Showing page 1 of 3.\n850000, 950000"
    assert [] == _found(OPENING, ("agent", page), TOLD, USED)
    shown = "I clicked 'Sales'. Here is a screenshot of [Houses](https://houses.example). 850000 and 950000"
    assert [] == _found(OPENING, ("agent", shown), TOLD, USED)
    assert 2 == len(_found(OPENING, ("agent", "Address: to be found."), TOLD, USED))


def test_a_success_an_unknown_end_and_workers_pages_are_not_accused() -> None:
    assert [] == _found(OPENING, TOLD, USED, passed=True)
    assert [] == _found(OPENING, TOLD, USED, passed=None)
    assert [] == _found(OPENING, TOLD, USED, parent=0)


def test_where_calls_are_recorded_their_answers_are_the_measure(found: Callable[..., Any]) -> None:
    look = ("call", "get_order", {"order_id": "W1000001"}, {"total": 5})
    said = ("agent", "It cost 850,000 and 950,000."), ("agent", "So 850000 and 950000.")
    assert "unsourced_figures_carried" not in [kind for kind, _ in found(look, *said, failed=True)]
