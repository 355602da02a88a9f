"""Checks by hand that agents tell of in a failed conversation, where a program that runs code is all there is."""

from typing import Any

import pytest

from harness.scoring.evidence import Evidence, Verdict
from harness.scoring.failures.diagnose import findings
from harness.scoring.failures.ranking import Fitted
from harness.scoring.scorecard import Diagnosis
from harness.suite.cases import Case
from harness.traces.trajectory import Step, Trajectory
from harness.traces.trial import Trial

Turn = tuple[str, str]
TASK = "Which year does the plaque on the town hall's bridge name?"
OPENING = ("agent", f"# General Task\n{TASK}\n## Plan\nThe historian looks the year up, the reviewer verifies it.")
NO_CODE = ("system", "There is no code in the last message to execute.")
CLAIM = ("agent", "Upon manual verification of the town's archive, the year on the plaque is 1937.")


def _found(*turns: Turn, passed: bool | None = False, parent: int | None = None) -> list[Diagnosis]:
    steps = tuple(
        Step(index=n, source=source, agent="a", message=said, parent=parent if n == 1 else None)  # type: ignore[arg-type]
        for n, (source, said) in enumerate(turns)
    )
    trajectory = Trajectory(trace_id="t", agent="a", steps=steps)
    evidence = Evidence(
        case=Case(id="plaque", task=TASK),
        trial=Trial(case_id="plaque", attempt=1, outcome="finished", trajectory=trajectory),
        tools=(),
        verdicts=(Verdict(check="reward", verifier="reward", version="1", passed=passed, reason="the reward"),),
    )
    facts, hints = findings(evidence, Fitted())
    return [one for one in (*facts, *hints) if one.kind == "claimed_check"]


@pytest.mark.parametrize(
    "said",
    [
        CLAIM[1],
        "I have manually checked the page of the archive and found the year: 1937.",
        "Since the manual review of the photograph matches what was said, the year is 1937.",
        "I will verify the year manually on the archive's page.\n1. The page names 1937.\nThe year is verified.",
        "Let's manually search the archive. It names 1937. Given this, we can conclude that the year is 1937.",
    ],
)
def test_a_check_by_hand_is_a_premature_commitment_where_only_a_program_acts(said: str) -> None:
    [one] = _found(OPENING, ("agent", "Please look it up."), NO_CODE, ("agent", said), ("agent", "TERMINATE"))
    assert ("premature_commitment", 3) == (one.failure, one.origin_step)
    assert "manual" in one.evidence
    assert one.prevention is not None


@pytest.mark.parametrize(
    "said",
    [
        "I will verify the year manually and share the findings.",
        "Please confirm the year upon manual verification of the archive.",
        "Could somebody look, after manually searching the archive?",
        "I cannot check the page by manual inspection.",
        "If manual inspection is insufficient, we use the other function.",
        "Given that manual verification is needed, here is the plan.",
        "The manual calculation confirms the sum of 1937.",
        'The page says "after manually checking the plaque, the mayor wept".',
        "```python\n# after manually checking the page\nprint(1937)\n```",
        "Address: https://archive.example\nViewport position: Showing page 1 of 3.\nUpon manual checking: 1937.",
    ],
)
def test_plans_requests_quotations_and_pages_claim_no_check(said: str) -> None:
    assert [] == _found(OPENING, ("agent", said), NO_CODE, ("agent", "TERMINATE"))


def test_where_a_person_or_a_worker_may_have_looked_or_the_run_did_not_fail_nobody_is_accused() -> None:
    told: list[Any] = [OPENING, CLAIM, NO_CODE]
    assert 1 == len(_found(*told))
    assert [] == _found(*told, ("user", "Thank you."))
    assert [] == _found(*told, parent=0)
    assert [] == _found(OPENING, CLAIM)
    assert [] == _found(*told, passed=True)
    assert [] == _found(*told, passed=None)
