"""Verdicts of a judge on the rubric `failure_modes` as findings, in addition to those of the detectors.

A verdict `fail` of the criterion that has a failure mode's name is a finding: its origin is the first step that the
judge cites, dependent steps are the later ones, its evidence the rationale. Its confidence is the judge's held-out
agreement with people (`harness judge calibrate`); a judge that was not compared with people on that criterion is marked
uncalibrated, has the lowest confidence, and does not change a rule's finding.

A rule and a calibrated judge that name the same mode at the same step are one finding, with the confidence 1 - (1 -
rule) (1 - judge), as for two independent sources of error.
"""

from collections.abc import Mapping, Sequence
from typing import Final, get_args

from harness.judge.judgement import Judgement
from harness.score import Diagnosis, Failure
from harness.trace import Trajectory

FAILURE_MODES: Final = "failure_modes"
UNCALIBRATED: Final = 0.2
"""The confidence of a finding without a calibration."""
_MODES: Final[Mapping[str, Failure]] = {mode: mode for mode in get_args(Failure)}
_STEP: Final = "step:"


def judged_findings(
    judgements: Sequence[Judgement], trajectory: Trajectory, agreement: Mapping[str, float]
) -> tuple[Diagnosis, ...]:
    """One finding for each criterion that failed, by origin step.

    `judgements` are those of one trial. `agreement` maps a criterion to the judge's held-out agreement with people, 0
    to 1; a missing criterion is uncalibrated.
    """
    places = {step.span_id: step.index for step in trajectory.steps if step.span_id is not None}
    known = {step.index for step in trajectory.steps}
    found = []
    for one in judgements:
        mode = _MODES.get(one.criterion)
        if one.answer != "fail" or mode is None:
            continue
        cited = {places.get(span, _index(span)) for span in one.spans}
        steps = sorted(index for index in cited if index in known)
        calibrated = one.criterion in agreement
        mark = "" if calibrated else ", uncalibrated"
        found.append(
            Diagnosis(
                failure=mode,
                kind="judged",
                origin_step=steps[0] if steps else None,
                dependent_steps=tuple(steps[1:]),
                evidence=f"{one.rationale} (judge {one.judge.model}{mark})",
                confidence=agreement.get(one.criterion, UNCALIBRATED),
                version=f"{one.rubric}@{one.rubric_version}",
            )
        )
    return tuple(sorted(found, key=_order))


def unjudged_modes(judgements: Sequence[Judgement]) -> dict[str, str]:
    """Criterion -> why it gives neither a finding nor an acquittal: no verdict, or no mode of that name."""
    found = {one.criterion: one.failure for one in judgements if one.failure is not None}
    strange = (one.criterion for one in judgements if one.answer == "fail" and one.criterion not in _MODES)
    return found | {name: f"{name!r} is the name of no failure mode" for name in strange}


def merged_findings(
    rules: Sequence[Diagnosis], judged: Sequence[Diagnosis], agreement: Mapping[str, float]
) -> tuple[Diagnosis, ...]:
    """The findings of both, by origin step; findings of the same mode at the same step are merged."""
    left = list(judged)
    found: list[Diagnosis] = []
    for rule in rules:
        judged_alike = next((one for one in left if _agree(rule, one) and one.failure in agreement), None)
        if judged_alike is None:
            found.append(rule)
        else:
            left.remove(judged_alike)
            confidence = 1 - (1 - rule.confidence) * (1 - judged_alike.confidence)
            evidence = f"{rule.evidence}; {judged_alike.evidence}"
            found.append(rule.model_copy(update={"confidence": confidence, "evidence": evidence}))
    return tuple(sorted([*found, *left], key=_order))


def _agree(rule: Diagnosis, judged: Diagnosis) -> bool:
    return rule.failure == judged.failure and rule.origin_step == judged.origin_step


def _index(span: str) -> int | None:
    number = span.removeprefix(_STEP)
    return int(number) if span.startswith(_STEP) and number.isdecimal() else None


def _order(one: Diagnosis) -> tuple[int, str, str, str]:
    return (-1 if one.origin_step is None else one.origin_step, one.failure, one.kind, one.evidence)
