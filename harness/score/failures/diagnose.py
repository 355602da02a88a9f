"""All detectors over one trial."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from harness.errors import OutOfTime
from harness.plugins import described
from harness.score.comparison.alignment import Deviation, DeviationKind
from harness.score.comparison.reference_match import deviations_from_reference
from harness.score.diagnosis import Diagnosis, Kind
from harness.score.evidence import Evidence
from harness.score.failed_code import DETECTOR_FAILED
from harness.score.failures.detectors import OTHER_VERSION, built_in_detectors
from harness.score.failures.needed_content import can_be_told
from harness.score.failures.ranking.causes import by_cause
from harness.score.failures.ranking.fitted import Fitted, fitted
from harness.score.failures.signals.reading import has_failed
from harness.score.made_calls import fed_calls, step_of_call
from harness.score.protocols import Detector


def diagnose(evidence: Evidence, own: Sequence[Detector] = ()) -> tuple[Diagnosis, ...]:
    """Every finding of the built-in detectors and of `own`, by origin step.

    Pure and deterministic; the built-in ones take time linear in the trajectory. Successful trials are examined too: a
    loop that was left again was a loop. `other` stands alone, where the trial is known to have failed and
    no detector found anything: its kind is the first place where the calls differ from the reference, or else
    `failed_without_a_known_mode`. What raises in one of `own` is a finding of `other` at confidence 0.
    """
    return findings(evidence, own=own)[0]


def findings(
    evidence: Evidence, numbers: Fitted | None = None, *, own: Sequence[Detector] = ()
) -> tuple[tuple[Diagnosis, ...], tuple[Diagnosis, ...]]:
    """(findings, hints). `numbers`: what was counted on labelled runs; None: what the package brings.

    A hint is of a kind that is inferred and that two labelled sources did not confirm (see `Fitted.is_finding`): it is
    not a fact, and is shown only on request. A kind that reads what the spans do not carry is neither.
    """
    numbers = fitted() if numbers is None else numbers
    found = [one for detector in built_in_detectors() for one in detector.find(evidence)]
    found += [one for detector in own for one in _found_by(detector, evidence)]
    uncaptured = evidence.trial.trajectory.uncaptured
    if uncaptured:
        found = [one for one in found if can_be_told(one.kind, uncaptured)]
    ordered = sorted(by_cause(found), key=_order)
    facts = tuple(one for one in ordered if numbers.is_finding(one.kind))
    hints = tuple(one for one in ordered if not numbers.is_finding(one.kind))
    unnamed = has_failed(evidence) and not uncaptured  # a mode that is not searched for may be the reason
    return (facts or ((_other(evidence),) if unnamed else ()), hints)


def _found_by(detector: Detector, evidence: Evidence) -> Iterator[Diagnosis]:
    try:
        for one in detector.find(evidence):
            yield one if one.version == detector.version else one.model_copy(update={"version": detector.version})
    except OutOfTime:
        raise
    except Exception as error:  # noqa: BLE001 - a plug-in's own code: its fault must cost no other finding of the trial
        yield Diagnosis(
            failure="other",
            kind=f"{detector.name}:detector_failed",
            origin_step=None,
            evidence=f"{DETECTOR_FAILED}{described(error)}",
            confidence=0.0,
            version=detector.version,
        )


def _order(one: Diagnosis) -> tuple[int, str, str, str]:
    return (-1 if one.origin_step is None else one.origin_step, one.failure, one.kind, one.evidence)


def _other(evidence: Evidence) -> Diagnosis:
    """The failure that no detector names: by the first place where the calls differ from the reference, if any does."""
    reasons = [f"{verdict.check}: {verdict.reason}" for verdict in evidence.verdicts if verdict.passed is False]
    if evidence.trial.reason is not None:
        reasons.append(evidence.trial.reason)
    reason = "; ".join(reasons) or evidence.trial.outcome
    place = _unlike_reference(evidence)
    return Diagnosis(
        failure="other",
        kind="failed_without_a_known_mode" if place is None else _KINDS[place[0].kind],
        origin_step=None if place is None else place[1],
        evidence=reason if place is None else f"{place[0].words}; {reason}",
        confidence=1.0 if place is None else _BY_REFERENCE,
        version=OTHER_VERSION,
    )


_BY_REFERENCE = 0.5
"""Of a kind that the reference tells: another way than its may be right too."""
_KINDS: Mapping[DeviationKind, Kind] = MappingProxyType(
    {
        "wrong_tool": "wrong_tool",
        "wrong_arguments": "wrong_argument",
        "missing_call": "missing_call",
        "needless_write": "needless_write",
        "wrong_order": "wrong_order",
        "wrong_answer": "wrong_answer",
    }
)


def _unlike_reference(evidence: Evidence) -> tuple[Deviation, int] | None:
    """The first deviation that is not a needless read, and its step; a wrong answer where the calls are right.

    None without a reference, and for a trial that did not finish: what its calls lack tells nothing.
    """
    if evidence.case.reference is None or evidence.trial.outcome != "finished" or evidence.success is not False:
        return None
    calls = fed_calls(evidence.trial)
    found = deviations_from_reference(calls, evidence.case.reference, evidence.tools)
    first = next((one for one in found if one.kind != "needless_read"), None)
    if first is None:
        first = Deviation(kind="wrong_answer", at=len(calls))
    return first, step_of_call(calls, evidence.trial, first.at)
