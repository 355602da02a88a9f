"""Gates: whether a run is good enough. A run without measurements never passes."""

from collections.abc import Sequence
from typing import Literal

from harness.errors import ExitCode, UsageError
from harness.reports.summary import Summary
from harness.reports.units import told_apart
from harness.scoring.scorecard import RULES_HELD, SUCCESS, floor_of
from harness.scoring.scorer import build_scorer
from harness.suite.suites import Suite
from harness.text import alternatives
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

    `task_success` is the success rate; other names are metrics' means. The result is not
    measured where no trial was measured, where more are unmeasured than allowed (for `task_success`, including those
    with unknown success), or where the figure is None. An allowed trial whose checks are undecided, or that
    the agent may have kept from being measured, counts as failed.

    Raises UsageError for a floor that is malformed or names no figure of the run.
    """
    checks = tuple(_check(summary, *_parsed(summary, floor), allow_unmeasured) for floor in floors)
    found = {check.holding for check in checks}
    holding: Holding = "not_measured" if "not_measured" in found else "fails" if "fails" in found else "holds"
    return GateResult(checks=checks, holding=holding)


def check_floors(suite: Suite, floors: Sequence[str]) -> None:
    """Raises UsageError, before anything runs, for a floor that is malformed or names no figure of the suite."""
    if not floors:
        return
    scorer = build_scorer(suite)
    known = {SUCCESS, *(one.name for one in scorer.metrics)}
    known |= {RULES_HELD} if scorer.rules.rules else set()
    for floor in floors:
        metric, _ = floor_of(floor)
        if metric not in known:
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
    declared = [key.removeprefix("metric:") for key in summary.manifest.scorer_versions if key.startswith("metric:")]
    return sorted({SUCCESS, *declared, *(figure.metric for figure in summary.figures)})


def _check(summary: Summary, metric: str, floor: float, allow_unmeasured: int) -> GateCheck:
    value = _value(summary, metric)
    unmeasured = summary.counts.unmeasured
    if metric == SUCCESS:
        unmeasured = summary.counts.planned - summary.success.n
    holding: Holding
    if not summary.counts.measured:
        holding, reason = "not_measured", "no trial was measured"
    elif unmeasured > allow_unmeasured:
        holding, reason = "not_measured", f"{unmeasured} of {summary.counts.planned} trials were not measured"
    elif value is None:
        holding, reason = "not_measured", "no trial gives a value"
    elif value + _SLACK >= floor:
        holding, reason = "holds", "{} reaches {}".format(*told_apart(metric, value, floor))
    else:
        holding, reason = "fails", "{} is below {}".format(*told_apart(metric, value, floor))
    return GateCheck(metric=metric, floor=floor, value=value, holding=holding, reason=reason)


def _success_at_least(summary: Summary) -> float | None:
    """The success rate in which each trial with undecided checks counts as failed, and each that was not measured and
    may be so by the agent's doing: hiding a failure must not pay.
    """
    rate, hidden = summary.success, summary.counts.undecided + summary.counts.held_against
    return rate.rate if rate.rate is None else rate.successes / (rate.n + hidden)


def _value(summary: Summary, metric: str) -> float | None:
    if metric == SUCCESS:
        return _success_at_least(summary)
    figure = summary.figure(metric)
    return None if figure is None else figure.mean
