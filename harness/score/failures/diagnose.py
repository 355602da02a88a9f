"""All detectors over one trial."""

from collections.abc import Iterator, Sequence

from harness.errors import OutOfTime
from harness.plugins import described
from harness.score.evidence import Evidence
from harness.score.failures.causes import by_cause
from harness.score.failures.detectors import OTHER_VERSION, built_in_detectors
from harness.score.failures.diagnosis import Diagnosis
from harness.score.failures.fitted import Fitted, fitted
from harness.score.failures.reading import has_failed
from harness.score.protocols import Detector


def diagnose(evidence: Evidence, own: Sequence[Detector] = ()) -> tuple[Diagnosis, ...]:
    """Every finding of the built-in detectors and of `own`, by origin step.

    Pure and deterministic; the built-in ones take time linear in the trajectory. Successful trials are looked at too: a
    loop that was left again was a loop. `failed_without_a_known_mode` (`other`) stands alone, where the trial is known
    to have failed and no detector found anything. What raises in one of `own` is a finding of `other` at confidence 0.
    """
    return findings(evidence, own=own)[0]


def findings(
    evidence: Evidence, numbers: Fitted | None = None, *, own: Sequence[Detector] = ()
) -> tuple[tuple[Diagnosis, ...], tuple[Diagnosis, ...]]:
    """(findings, hints). `numbers`: what was counted on labelled runs; None: what the package brings.

    A hint is of a kind that is inferred and that two labelled sources did not confirm (see `Fitted.is_finding`): it is
    not a fact, and is shown only on request.
    """
    numbers = fitted() if numbers is None else numbers
    found = [one for detector in built_in_detectors() for one in detector.find(evidence)]
    found += [one for detector in own for one in _found_by(detector, evidence)]
    ordered = sorted(by_cause(found), key=_order)
    facts = tuple(one for one in ordered if numbers.is_finding(one.kind))
    hints = tuple(one for one in ordered if not numbers.is_finding(one.kind))
    return (facts or ((_other(evidence),) if has_failed(evidence) else ()), hints)


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
            evidence=f"the detector itself failed: {described(error)}",
            confidence=0.0,
            version=detector.version,
        )


def _order(one: Diagnosis) -> tuple[int, str, str, str]:
    return (-1 if one.origin_step is None else one.origin_step, one.failure, one.kind, one.evidence)


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
        version=OTHER_VERSION,
    )
