"""All detectors over one trial."""

from typing import Final

from harness.score.failures.cascading_error import VERSION as CASCADING_ERROR_VERSION
from harness.score.failures.cascading_error import carried_values
from harness.score.failures.causes import by_cause
from harness.score.failures.claims import VERSION as CLAIMS_VERSION
from harness.score.failures.claims import claimed_calls, fabricated_results
from harness.score.failures.conversation import VERSION as CONVERSATION_VERSION
from harness.score.failures.conversation import conversation_candidates
from harness.score.failures.diagnosis import Diagnosis
from harness.score.failures.fitted import INFERRED, Fitted, fitted
from harness.score.failures.foreign import foreign_values
from harness.score.failures.goal_drift import VERSION as GOAL_DRIFT_VERSION
from harness.score.failures.goal_drift import foreign_tasks, other_plans
from harness.score.failures.lookups import VERSION as LOOKUPS_VERSION
from harness.score.failures.lookups import abandoned_plans, unmade_lookups
from harness.score.failures.loop_trap import VERSION as LOOP_TRAP_VERSION
from harness.score.failures.loop_trap import loop_traps
from harness.score.failures.premature_commitment import VERSION as PREMATURE_COMMITMENT_VERSION
from harness.score.failures.premature_commitment import (
    early_stops,
    guesses,
    missing_reads,
    unseen_targets,
    unwarranted_writes,
)
from harness.score.failures.premises import VERSION as PREMISES_VERSION
from harness.score.failures.premises import carried_premises
from harness.score.failures.reading import Reading, read
from harness.score.failures.stuck import VERSION as STUCK_VERSION
from harness.score.failures.stuck import stuck_calls
from harness.score.failures.tool_hallucination import VERSION as TOOL_HALLUCINATION_VERSION
from harness.score.failures.tool_hallucination import invented_parameters, invented_tools
from harness.score.failures.unsupported import VERSION as UNSUPPORTED_VERSION
from harness.score.failures.unsupported import unsupported_answers
from harness.score.failures.wrong_outcome import VERSION as WRONG_OUTCOME_VERSION
from harness.score.failures.wrong_outcome import wrong_outcomes
from harness.score.values import Evidence

_OTHER_VERSION: Final = "1"
DETECTORS: Final = {
    "cascading_error": CASCADING_ERROR_VERSION,
    "claims": CLAIMS_VERSION,
    "conversation": CONVERSATION_VERSION,
    "goal_drift": GOAL_DRIFT_VERSION,
    "lookups": LOOKUPS_VERSION,
    "loop_trap": LOOP_TRAP_VERSION,
    "premises": PREMISES_VERSION,
    "premature_commitment": PREMATURE_COMMITMENT_VERSION,
    "stuck": STUCK_VERSION,
    "tool_hallucination": TOOL_HALLUCINATION_VERSION,
    "unsupported": UNSUPPORTED_VERSION,
    "wrong_outcome": WRONG_OUTCOME_VERSION,
    "other": _OTHER_VERSION,
}
"""Module of detectors -> its version; unlike ones do not compare."""


def diagnose(evidence: Evidence) -> tuple[Diagnosis, ...]:
    """Every finding, by origin step; pure and deterministic, in time linear in the trajectory.

    Successful trials are looked at too: a loop that was left again was a loop. `failed_without_a_known_mode` (`other`)
    stands alone, where the trial is known to have failed and no detector found anything.
    """
    return findings(evidence)[0]


def findings(evidence: Evidence, numbers: Fitted | None = None) -> tuple[tuple[Diagnosis, ...], tuple[Diagnosis, ...]]:
    """(findings, hints). `numbers`: what was counted on labelled runs; None: what the package brings.

    A hint is of a kind that is read off words and shapes, and that did not name the mode more often than simple rules
    do on runs of unseen sources: it is no fact, and is told only to who asks for it.
    """
    numbers = fitted() if numbers is None else numbers
    reading = read(evidence)
    failed = _has_failed(evidence)
    foreign = foreign_values(reading)
    unmade = unmade_lookups(reading, numbers)
    looping = loops(evidence)
    looped = {step for one in looping for step in (one.origin_step, *one.dependent_steps) if step is not None}
    found: tuple[Diagnosis, ...] = (
        *looping,
        *stuck_calls(reading, looped),
        *invented_tools(reading),
        *invented_parameters(reading),
        *claimed_calls(reading),
        *fabricated_results(reading),
        *unsupported_answers(reading, unmade),
        *abandoned_plans(unmade),
        *foreign_tasks(reading, foreign),
        *other_plans(reading),
        *guesses(foreign),
        *unseen_targets(reading),
        *(() if evidence.success else by_reference(reading)),
        *carried_values(reading, foreign),
        *(conversation_candidates(reading) if failed else ()),
        *(carried_premises(reading) if failed else ()),
    )
    ordered = sorted(by_cause(found), key=_order)
    facts = tuple(one for one in ordered if one.kind not in INFERRED or one.kind in numbers.told)
    hints = tuple(one for one in ordered if one.kind in INFERRED and one.kind not in numbers.told)
    return (facts or ((_other(evidence),) if failed else ()), hints)


def by_reference(reading: Reading) -> tuple[Diagnosis, ...]:
    """What differs from the reference, each write named once; for trials that are not known to have succeeded."""
    early = early_stops(reading)
    unwarranted = unwarranted_writes(reading)
    named = {one.origin_step for one in unwarranted}
    wrong = [
        one
        for one in wrong_outcomes(reading)
        if not (one.kind == "needless_write" and one.origin_step in named)
        and not (one.kind == "missing_write" and early)
    ]
    return (*missing_reads(reading), *early, *unwarranted, *wrong)


def loops(evidence: Evidence) -> tuple[Diagnosis, ...]:
    """The loop traps alone, which need no verdict; found at most once for the same evidence."""
    return evidence.once(_loops)


def _loops(evidence: Evidence) -> tuple[Diagnosis, ...]:
    return loop_traps(read(evidence))


def _order(one: Diagnosis) -> tuple[int, str, str, str]:
    return (-1 if one.origin_step is None else one.origin_step, one.failure, one.kind, one.evidence)


def _has_failed(evidence: Evidence) -> bool:
    return evidence.success is False or evidence.trial.outcome in ("agent_failed", "limit_reached")


def _other(evidence: Evidence) -> Diagnosis:
    reasons = [f"{verdict.check}: {verdict.reason}" for verdict in evidence.verdicts if verdict.passed is False]
    if evidence.trial.reason is not None:
        reasons.append(evidence.trial.reason)
    return Diagnosis(
        failure="other",
        kind="failed_without_a_known_mode",
        origin_step=None,
        evidence="; ".join(reasons) or evidence.trial.outcome,
        confidence=1.0,
        version=_OTHER_VERSION,
    )
