"""Gates: whether a run is good enough. A run without measurements never passes."""

from collections.abc import Collection, Sequence
from typing import Literal

from harness.errors import ExitCode, NotMeasured, UsageError
from harness.reports.compare import CaseChange, Comparison, compare
from harness.reports.summary import Summary
from harness.runs.store.baseline import Baseline
from harness.runs.store.beside_trials import stop_of
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import RunManifest
from harness.scoring.evaluators import SUCCESS, ItemEvaluator, RunEvaluator, floor_of
from harness.scoring.scorecard import NAME as COMPOSITE
from harness.scoring.scorecard import Scorecard
from harness.scoring.scorer import build_scorer
from harness.suite.suites import Suite
from harness.text import alternatives
from harness.traces.trial import MEASURED
from harness.values import Frozen

Holding = Literal["holds", "fails", "not_measured"]

_SLACK = 1e-9  # tolerance for rounding: a mean of 0.9 must reach a floor of 0.9


class GateCheck(Frozen):
    """One floor."""

    metric: str
    floor: float
    value: float | None
    holding: Holding
    reason: str


class GateResult(Frozen):
    """`not_measured` takes precedence over `fails`: an unmeasured trial is neither good nor bad."""

    checks: tuple[GateCheck, ...]
    holding: Holding

    @property
    def exit_code(self) -> ExitCode:
        match self.holding:
            case "holds":
                return ExitCode.DONE
            case "fails":
                return ExitCode.VERDICT
            case "not_measured":
                return ExitCode.COULD_NOT


def gate(summary: Summary, floors: Sequence[str], allow_unmeasured: int = 0) -> GateResult:
    """Checks a run against floors such as `task_success=0.9`; a value that reaches its floor is enough.

    `task_success` is the success rate; other names are metrics' means or the suite's run metrics. The result is not
    measured where no trial was measured, where more are unmeasured than allowed (for `task_success`, including those
    with unknown success), or where the figure is None. An allowed measured trial whose checks are undecided counts as
    failed.

    Raises UsageError for a floor that is malformed or names no figure of the run.
    """
    checks = tuple(_check(summary, *_parsed(summary, floor), allow_unmeasured) for floor in floors)
    found = {check.holding for check in checks}
    holding: Holding = "not_measured" if "not_measured" in found else "fails" if "fails" in found else "holds"
    return GateResult(checks=checks, holding=holding)


def check_floors(suite: Suite, floors: Sequence[str]) -> None:
    """Raises UsageError, before anything runs, for a floor that is malformed or names no figure of the suite.

    The suite's own evaluators name their figures only when they run: where it has some, any name may be one.
    """
    if not floors:
        return
    scorer = build_scorer(suite)
    own = any(isinstance(one, ItemEvaluator | RunEvaluator) for one in (*scorer.metrics, *scorer.run_metrics))
    known = {SUCCESS, *(one.name for one in (*scorer.metrics, *scorer.run_metrics))}
    known |= {COMPOSITE} if suite.composite else set()
    for floor in floors:
        metric, _ = floor_of(floor)
        if metric not in known and not own:
            raise _unknown_figure(floor, f"suite {suite.name!r}", metric, sorted(known))


def _unknown_figure(floor: str, where: str, metric: str, known: Sequence[str]) -> UsageError:
    return UsageError(f"{floor!r}: {where} has no figure {metric!r}", remedy=alternatives(metric, known))


def _parsed(summary: Summary, floor: str) -> tuple[str, float]:
    metric, value = floor_of(floor)
    known = _known(summary)
    if metric not in known:
        raise _unknown_figure(floor, "the run", metric, known)
    return metric, value


def _known(summary: Summary) -> list[str]:
    declared = [
        key.partition(":")[2] for key in summary.manifest.scorer_versions if key.startswith(("metric:", "run_metric:"))
    ]
    measured = [figure.metric for figure in summary.figures] + [score.metric for score in summary.run_scores]
    return sorted({SUCCESS, *declared, *measured})


def _check(summary: Summary, metric: str, floor: float, allow_unmeasured: int) -> GateCheck:
    value = _value(summary, metric)
    unmeasured = summary.counts.unmeasured
    if metric == SUCCESS:
        unmeasured = summary.counts.planned - summary.counts.left_out - summary.success.n
    holding: Holding
    if not summary.counts.measured:
        holding, reason = "not_measured", "no trial was measured"
    elif unmeasured > allow_unmeasured:
        holding, reason = "not_measured", f"{unmeasured} of {summary.counts.planned} trials were not measured"
    elif value is None:
        holding, reason = "not_measured", "no trial gives a value"
    elif value + _SLACK >= floor:
        holding, reason = "holds", f"{value:.4g} reaches {floor:g}"
    else:
        holding, reason = "fails", f"{value:.4g} is below {floor:g}"
    return GateCheck(metric=metric, floor=floor, value=value, holding=holding, reason=reason)


def _success_at_least(summary: Summary) -> float | None:
    """The success rate in which each measured trial with undecided checks counts as failed: hiding a failure must not
    pay.
    """
    rate = summary.success
    if rate.rate is None or not summary.counts.undecided:
        return rate.rate
    return rate.successes / (rate.n + summary.counts.undecided)


def _value(summary: Summary, metric: str) -> float | None:
    if metric == SUCCESS:
        return _success_at_least(summary)
    figure = summary.figure(metric)
    if figure is not None:
        return figure.mean
    return next((score.value for score in summary.run_scores if score.metric == metric), None)


# Compares a run with its suite's baseline: what became worse, and whether that is enough to reject a change.


class BaselineGate(Frozen):
    """Whether a run is at least as good as its baseline.

    Where tools and model were replayed, the same agent behaves identically: a trial that succeeded and now fails is
    lost, and one is enough to fail the gate. Where a model answered live, results vary by chance: the gate fails where
    the success rate is worse by the paired test of the comparison. A trial that succeeded and whose success is now
    unknown, because a check is undecided or a call had a replay miss, counts as lost: an agent must not gain by hiding
    a failure.
    """

    holding: Holding
    reason: str
    lost: tuple[CaseChange, ...] = ()
    left_out: tuple[str, ...] = ()
    """Metrics and detectors whose version differs in the baseline: they are not compared."""

    @property
    def exit_code(self) -> ExitCode:
        ends = {"holds": ExitCode.DONE, "fails": ExitCode.VERDICT, "not_measured": ExitCode.COULD_NOT}
        return ends[self.holding]


def compare_with_baseline(baseline: Baseline, folder: RunFolder) -> Comparison:
    """Compares a run with the baseline. Metrics and detectors of different versions are left out; success does not
    depend on them.

    Raises NotMeasured if the suite or one of its verifiers differs, UsageError if no trial is in common.
    """
    manifest = folder.manifest
    remedy = f"to make this run the new baseline: harness baseline set {manifest.run}"
    if baseline.manifest.suite_digest != manifest.suite_digest:
        raise NotMeasured(f"the baseline of {manifest.suite!r} is of another suite digest than the run", remedy=remedy)
    unlike = _unlike(baseline.manifest, manifest)
    verifiers = [name for name in unlike if name.startswith("verifier:")]
    if verifiers:
        raise NotMeasured(f"the baseline was scored by other versions: {', '.join(verifiers)}", remedy=remedy)
    return compare(
        _without(baseline.manifest, unlike),
        [_pruned(card, unlike) for card in baseline.scorecards],
        _without(manifest, unlike),
        [_pruned(card, unlike) for card in folder.scorecards()],
    )


def hold_against(
    baseline: Baseline, folder: RunFolder, comparison: Comparison, allow_unmeasured: int = 0
) -> BaselineGate:
    """The gate. Not measured: trials of the run that the baseline has and that could not be measured now."""
    left_out = tuple(name.partition(":")[2] for name in _unlike(baseline.manifest, folder.manifest))
    known = {(card.case_id, card.attempt): card for card in baseline.scorecards}
    cards, stop = folder.scorecards(), stop_of(folder)
    measured = {(card.case_id, card.attempt) for card in cards if card.outcome in MEASURED}
    asked = {(one.case_id, one.attempt) for one in folder.manifest.planned}
    if stop is not None and stop.decided:  # trials that a sequential test left out are not missing
        asked &= {(card.case_id, card.attempt) for card in cards}
    missing = len((asked & known.keys()) - measured)
    lost = (*(one for one in comparison.changed if one.before), *comparison.hidden)
    success = comparison.held or comparison.success
    holding: Holding
    if missing > allow_unmeasured or not success.pairs:
        holding, reason = "not_measured", f"{missing} of {len(asked & known.keys())} trials could not be measured"
    elif is_replayed(folder.manifest):
        holding = "fails" if lost else "holds"
        reason = f"{len(lost)} of {success.pairs} trials succeeded in the baseline and fail now"
    else:
        holding = "fails" if success.found == "worse" else "holds"
        reason = f"success {success.before:.3g} -> {success.after:.3g}: {success.verdict}"
    if comparison.hidden:
        reason += f"; {len(comparison.hidden)} of the lost cannot be determined"
    return BaselineGate(holding=holding, reason=reason, lost=lost, left_out=left_out)


def is_replayed(manifest: RunManifest) -> bool:
    """Whether the same agent behaves identically in each of its trials, so that one that is worse is enough."""
    return manifest.tool_mode in ("replay", "sealed") and manifest.model_mode in ("none", "replay")


def _unlike(before: RunManifest, after: RunManifest) -> list[str]:
    old, new = before.scorer_versions, after.scorer_versions
    return sorted(name for name in {*old, *new} if old.get(name) != new.get(name))


def _without(manifest: RunManifest, unlike: Collection[str]) -> RunManifest:
    kept = {name: version for name, version in manifest.scorer_versions.items() if name not in unlike}
    return manifest.model_copy(update={"scorer_versions": kept})


def _pruned(card: Scorecard, unlike: Sequence[str]) -> Scorecard:
    """Removes all failure modes if one detector differs, because a detector can report several modes."""
    detectors_alike = not any(name.startswith("detector:") for name in unlike)
    return card.model_copy(
        update={
            "scores": tuple(one for one in card.scores if f"metric:{one.metric}" not in unlike),
            "diagnoses": card.diagnoses if detectors_alike else (),
        }
    )
