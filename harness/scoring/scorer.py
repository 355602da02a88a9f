"""One trial's scorecard from its evidence: pure, so that a stored trial can be scored again by a later version."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Final, TypeVar, get_args

from harness.errors import HarnessError, OutOfTime, UsageError
from harness.plugins import described
from harness.scoring.evidence import BY_AGENT, MADE_UNMEASURABLE, Evidence, ReferenceState, Verdict, content_words
from harness.scoring.findings.facts import BUILT_IN, diagnose
from harness.scoring.registry import NamedVerifier, detectors_of, metrics_of, verifiers_of
from harness.scoring.rules.events import row_of
from harness.scoring.rules.learned import NO_RULES, RuleResult, Ruleset, ruleset_of
from harness.scoring.scorecard import (
    CHECK_FAILED,
    FACTS_VERSION,
    METRIC_FAILED,
    Detector,
    Metric,
    Score,
    Scorecard,
    Verifier,
    rules_held,
)
from harness.scoring.tool_use import models, prompt, tool_use
from harness.suite.cases import CheckSpec
from harness.suite.suites import Suite
from harness.traces.outcomes import MEASURED
from harness.traces.trajectory import Content, Trajectory

# What a verifier or a metric reads of a trajectory: what the spans do not carry is unknown, neither right nor wrong.
#
# Instrumentations capture no content unless they are told to: a trace then names models, tools and tokens, and no text.
# A check of the answer cannot be decided then, while the tools that were called are known.

_ALL: Final[frozenset[Content]] = frozenset(get_args(Content))


def content_read(scorer: object) -> frozenset[Content]:
    """The content that a verifier or metric reads: what its attribute `reads` says, and everything without one."""
    declared = getattr(scorer, "reads", None)
    return declared & _ALL if isinstance(declared, frozenset) else _ALL


def unknown_because(scorer: object, evidence: Evidence) -> str | None:
    """Why a verifier or metric cannot tell; None if everything that it reads was captured."""
    uncaptured = evidence.trial.trajectory.uncaptured
    if not uncaptured:
        return None
    read = content_read(scorer)
    missing = [one for one in uncaptured if one in read]
    return f"the spans do not carry {content_words(missing)}" if missing else None


_T = TypeVar("_T")


@dataclass(frozen=True, kw_only=True)
class Scorer:
    """A suite's verifiers and metrics, found and checked."""

    suite: Suite
    verifiers: Mapping[str, tuple[NamedVerifier, ...]]
    """Case id -> its checks, the suite's first."""
    metrics: tuple[Metric, ...]
    detectors: tuple[Detector, ...] = ()
    """The suite's own, beside the facts."""
    only_failed: bool = False
    """Whether facts are left out for trials that succeeded."""
    rules: Ruleset = NO_RULES
    """The suite's learned rules."""
    reference_states: Mapping[str, ReferenceState] = field(default_factory=dict)
    """Case id -> the state that its reference leaves, of the cases with a check that compares with it."""

    def without_metrics(self) -> "Scorer":
        """The same checks, and detectors for trials that have failed, of which only the failures are reported."""
        return replace(self, metrics=(), only_failed=True)

    @property
    def versions(self) -> dict[str, str]:
        """`verifier:`, `metric:` and `detector:<name>` -> version; unlike ones do not compare."""
        checks = {f"verifier:{one.check.verifier}": one.version for each in self.verifiers.values() for one in each}
        figures = {f"metric:{metric.name}": metric.version for metric in self.metrics}
        detectors = {f"detector:{one.name}": one.version for one in self.detectors}
        detectors[f"detector:{BUILT_IN}"] = FACTS_VERSION
        return dict(sorted({**checks, **figures, **detectors}.items()))

    def score(self, evidence: Evidence) -> Scorecard:
        """The scorecard of one trial; a trial that was not measured has no success and only unknown scores."""
        checks = self.verifiers.get(evidence.case.id)
        if checks is None:
            raise UsageError(f"case {evidence.case.id!r} is none of the suite {self.suite.name!r}")
        trial, reference = evidence.trial, self.reference_states.get(evidence.case.id)
        if reference is not None:
            evidence = evidence.model_copy(update={"reference_state": reference})
        if trial.outcome in MEASURED:
            verdict = _unreadable if trial.unreadable else _verdict
            verdicts = (*(verdict(one, evidence) for one in checks), *_too_many_misses(evidence))
            complete = evidence.counted.model_copy(update={"verdicts": verdicts})
            scores = _scores_of(self.metrics, complete)
            rules = self._ruled(complete)
            scores = (*scores, *rules_held(rules))
        else:
            rules, reason = self._ruled(evidence.counted), f"not measured: {trial.outcome}"
            verdicts = tuple(_unmeasured(one, reason) for one in checks)
            complete = evidence.counted
            scores = tuple(_unknown(metric, reason) for metric in self.metrics)
        card = self._card(complete, trial.trajectory, verdicts, scores, rules)
        evidence.forget()
        return card

    def _ruled(self, evidence: Evidence) -> tuple[RuleResult, ...]:
        """Of a trial with a replay miss, what the agent did until then: a call that nobody recorded is a change."""
        trial, case = evidence.trial, evidence.case
        if not self.rules.rules or trial.outcome not in (*MEASURED, "inconclusive"):
            return ()
        ended = trial.outcome in MEASURED or all("probe" in miss for miss in trial.misses)
        row = row_of(evidence)
        row = row if ended else row.until_miss
        named_alone = not {"arguments", "results"}.isdisjoint(trial.trajectory.uncaptured)
        return self.rules.results(row, case.id, case.category, ended=ended, named_alone=named_alone)

    def _card(
        self,
        evidence: Evidence,
        trajectory: Trajectory,
        verdicts: tuple[Verdict, ...],
        scores: tuple[Score, ...],
        rules: tuple[RuleResult, ...],
    ) -> Scorecard:
        trial = evidence.trial
        measured = trial.outcome in MEASURED
        diagnosed = measured and not (self.only_failed and evidence.success)
        return Scorecard(
            case_id=evidence.case.id,
            attempt=trial.attempt,
            category=evidence.case.category,
            tags=evidence.case.tags,
            outcome=trial.outcome,
            cause=trial.cause,
            reason=trial.reason,
            success=evidence.success if measured else None,
            verdicts=verdicts,
            scores=scores,
            diagnoses=_as_far_as_known(partial(diagnose, own=self.detectors), evidence) if diagnosed else (),
            rules=rules,
            tool_use=_as_far_as_known(tool_use, evidence),
            models=models(evidence),
            prompt=prompt(evidence),
            digest=trajectory.digest,
        )


def build_scorer(suite: Suite) -> Scorer:
    """Finds and checks every verifier and metric of a suite.

    Raises UsageError that names the check and the field, and InvalidDocument for the suite's `rules.yaml`, so that a
    wrong suite is refused before anything runs.
    """
    return Scorer(
        suite=suite,
        verifiers=verifiers_of(suite),
        metrics=metrics_of(suite),
        detectors=detectors_of(suite),
        rules=ruleset_of(suite.folder),
    )


def score_trial(evidence: Evidence, suite: Suite) -> Scorecard:
    """One trial's scorecard; for many trials build the scorer once."""
    return build_scorer(suite).score(evidence)


_LONGEST_REASON: Final = 2_000


def _unreadable(one: NamedVerifier, evidence: Evidence) -> Verdict:
    return _verdict_of(one.check, one.version, False, evidence.trial.reason or "the trial could not be read")


def _verdict(one: NamedVerifier, evidence: Evidence) -> Verdict:
    """A check passes only if it passes both on what the gateway observed and on that with the agent's own reports.

    So no report satisfies a check, and a report of something forbidden still fails it.
    """
    observed = _verdict_from(one, evidence.observed)
    if not evidence.self_reports:
        return observed
    reported = _verdict_from(one, evidence)
    if observed.passed is True or reported.passed is False:
        return reported
    if reported.passed is not True:
        return observed
    reason = f"{observed.reason} (calls and messages that only the agent reports do not count)"
    return observed.model_copy(update={"reason": reason})


def _verdict_from(one: NamedVerifier, evidence: Evidence) -> Verdict:
    unknown = unknown_because(one.verifier, evidence)
    if unknown is not None:
        return _verdict_of(one.check, one.version, None, unknown)
    try:
        passed, reason, seen = one.verifier.verify(evidence)
    except OutOfTime as error:
        passed, reason, seen = None, str(error), BY_AGENT
    except Exception as error:  # noqa: BLE001 - a plug-in's own code: its fault must cost no other verdict of the run
        passed, reason, seen = None, f"{CHECK_FAILED}{described(error)}", {}
        if _never_raises(one.verifier) and not isinstance(error, HarnessError | OSError):
            seen = BY_AGENT  # nested too deep, too long a number
    if passed is None and seen.get("unmeasured_by") == "agent":
        passed, reason = False, f"{MADE_UNMEASURABLE}: {reason}"
    return _verdict_of(one.check, one.version, passed, reason).model_copy(update={"evidence": seen})


def _too_many_misses(evidence: Evidence) -> tuple[Verdict, ...]:
    """A failure if the case's budget of misses is exceeded: who makes other calls on purpose is not excused."""
    allowed, made = evidence.case.limits.misses, len(evidence.trial.misses)
    if allowed is None or made <= allowed:
        return ()
    reason = f"{made} call(s) met no recording, and the case allows {allowed}"
    return (Verdict(check="limits.misses", verifier="limits.misses", version="1", passed=False, reason=reason),)


def _never_raises(verifier: Verifier) -> bool:
    """A verifier of the harness's own that calls no code of the suite's."""
    built_in = type(verifier).__module__.startswith("harness.scoring.verifiers.")
    return built_in and getattr(verifier, "function", None) is None


def _as_far_as_known(measure: Callable[[Evidence], tuple[_T, ...]], evidence: Evidence) -> tuple[_T, ...]:
    """Returns nothing if a pattern or a schema of the trial's tools takes too long: the figures that evaluate it
    report that.
    """
    try:
        return measure(evidence)
    except OutOfTime:
        return ()


def _unmeasured(one: NamedVerifier, reason: str) -> Verdict:
    return _verdict_of(one.check, one.version, None, reason)


def _verdict_of(check: CheckSpec, version: str, passed: bool | None, reason: str) -> Verdict:
    reason = _cut(reason)
    return Verdict(check=check.name, verifier=check.verifier, version=version, passed=passed, reason=reason)


def _cut(reason: str) -> str:
    left = len(reason) - _LONGEST_REASON
    half = _LONGEST_REASON // 2
    return reason if left <= 0 else f"{reason[:half]}... ({left:,} characters left out) ...{reason[-half:]}"


def _scores_of(metrics: Sequence[Metric], evidence: Evidence) -> tuple[Score, ...]:
    """All are measured before a score is made of any: what one metric has read is near for the next."""
    unknown = [unknown_because(metric, evidence) for metric in metrics]
    measured: list[Any] = []
    for metric, why in zip(metrics, unknown, strict=True):
        try:
            measured.append(metric.measure(evidence) if why is None else (None, why))
        except Exception as error:  # noqa: BLE001 - as above: unknown, with the reason, and the run goes on
            measured.append(error)
    return tuple(map(_trial_score, metrics, measured))


def _trial_score(metric: Metric, measured: Any) -> Score:
    try:
        if isinstance(measured, Exception):
            raise measured
        return _score_of(metric, *measured)
    except Exception as error:  # noqa: BLE001 - as above
        return _failed_score(metric, error)


def _score_of(metric: Metric, value: float | None, explanation: str) -> Score:
    if value is not None and not math.isfinite(value):
        raise ValueError(f"{value} is not a finite number")
    return _score(metric, value, explanation)


def _failed_score(metric: Metric, error: Exception) -> Score:
    return _unknown(metric, f"{METRIC_FAILED}{described(error)}")


def _unknown(metric: Metric, why: str) -> Score:
    return _score(metric, None, why)


def _score(metric: Metric, value: float | None, explanation: str) -> Score:
    lower = getattr(metric, "lower_is_better", False) is True
    return Score(
        metric=metric.name, version=metric.version, value=value, explanation=explanation, lower_is_better=lower
    )
