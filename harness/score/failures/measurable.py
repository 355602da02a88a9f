"""Which modes are not measured in a trial, and why: silence about these is not a finding of health.

The trial gives nothing to measure by, or what points at the mode is of a kind that is not reported as a finding.
"""

from collections.abc import Sequence

from harness.case import UNTOLD_TASK
from harness.score.diagnosis import Diagnosis, Failure
from harness.score.evidence import Evidence, calls_of
from harness.score.failures.modes.lookups import is_answer
from harness.score.failures.needed_content import not_searched_for
from harness.score.failures.ranking.fitted import fitted


def not_measured(
    evidence: Evidence, facts: Sequence[Diagnosis] = (), hints: Sequence[Diagnosis] = ()
) -> dict[Failure, str]:
    """Mode -> reason. A mode that is not in it was searched for. `facts` and `hints`: what was found in the trial."""
    uncaptured = not_searched_for(evidence.trial.trajectory.uncaptured)
    return {**_only_hinted_at(facts, hints), **_nothing_to_measure_by(evidence), **uncaptured}


def _only_hinted_at(facts: Sequence[Diagnosis], hints: Sequence[Diagnosis]) -> dict[Failure, str]:
    """The modes that hints alone point at, with the counts that keep the first of them from being a finding."""
    known = {one.failure for one in facts}
    found: dict[Failure, str] = {}
    for one in hints:
        reason = None if one.failure in known else fitted().reason_for_hint(one.kind)
        if reason is not None:
            found.setdefault(one.failure, f"hints alone point at it: {reason}")
    return found


def _nothing_to_measure_by(evidence: Evidence) -> dict[Failure, str]:
    found: dict[Failure, str] = {}
    calls = calls_of(evidence)
    if not calls and not evidence.tools:
        found["loop_trap"] = "no calls are recorded"
        found["tool_hallucination"] = "no calls are recorded: only data that the agent says it made up are searched for"
    if evidence.case.task == UNTOLD_TASK:
        found["goal_drift"] = "no goal text is told"
    elif calls and not any(map(is_answer, calls)):
        found["goal_drift"] = "no answer is handed in by a call: only work on foreign cases is searched for"
    if not calls:
        found["premature_commitment"] = (
            "no calls are recorded: only assumptions that the agent states itself are searched for"
        )
        found["cascading_error"] = "no calls are recorded: what words alone say of it is a hint"
    if evidence.case.reference is None:
        found["wrong_outcome"] = "the case has no reference"
    elif evidence.success is None:
        found["wrong_outcome"] = "whether the trial succeeded is not known"
    return found
