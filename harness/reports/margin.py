"""`--no-worse-than METRIC=MARGIN`: whether a run is better than another, as good, worse, or undecided.

The margin is the loss that the user accepts; for an amount also as a percentage of its value before (`cost_usd=10%`).
"""

import math
import re
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

from harness.errors import ExitCode, UsageError
from harness.reports.change import LATENCY, MetricChange
from harness.reports.units import signed_figure, signed_percent
from harness.runs.store.manifest import RunManifest
from harness.scoring.statistics.intervals import Interval, cases_for_margin
from harness.text import alternatives
from harness.values import Frozen

if TYPE_CHECKING:
    from harness.reports.compare import Comparison


Standing = Literal["better", "parity", "worse", "cannot_tell"]

_SPEC = re.compile(r"\s*(\w[\w.-]*)\s*=\s*(\S+)\s*")
_FEWEST = 6
"""The minimum number of cases that a percentage is decided with."""
_ALWAYS = frozenset({"task_success", LATENCY})
"""Figures without a scorer version."""


class MarginCheck(Frozen):
    """The result for one metric and its margin. Positive differences are improvements."""

    metric: str
    margin: float
    difference: float | None
    low: float | None
    """Of the 95 % interval of the difference, cases being what is counted."""
    high: float | None
    standing: Standing
    reason: str
    percent: bool
    """Whether margin, difference and interval are shares of the value before."""

    @property
    def exit_code(self) -> ExitCode:
        match self.standing:
            case "better" | "parity":
                return ExitCode.DONE
            case "worse":
                return ExitCode.VERDICT
            case "cannot_tell":
                return ExitCode.COULD_NOT


def no_worse_than(comparison: "Comparison", specs: Sequence[str]) -> list[MarginCheck]:
    """Checks a comparison against margins. Raises UsageError for a margin that is malformed or names no metric of the
    comparison.

    `better`: the whole interval is above 0. `parity`: it is above minus the margin. `worse`: it is below minus the
    margin. `cannot_tell`: it contains the boundary; more cases would decide. A success that became unknown counts as
    lost.
    """
    return [_check(*_parsed(comparison, spec)) for spec in specs]


def refuse_unusable(specs: Iterable[str], manifests: Sequence[RunManifest]) -> None:
    """Validates margins before runs are read and compared.

    Raises UsageError for a malformed margin, or one whose metric neither run was scored with.
    """
    scored = {name for manifest in manifests for name in manifest.scorer_versions}
    known = {name.removeprefix("metric:") for name in scored if name.startswith("metric:")} | _ALWAYS
    for spec in specs:
        metric, _, _ = _named(spec)
        if metric not in known:
            raise _unknown(spec, metric, known)


def refuse_malformed(specs: Iterable[str]) -> None:
    """Raises UsageError for a malformed margin before any trial starts."""
    for spec in specs:
        _named(spec)


def _check(found: MetricChange, margin: float, percent: bool) -> MarginCheck:
    relative = percent and found.is_amount
    sign = -1.0 if found.lower_is_better else 1.0
    measured = found.relative_difference if relative else found.difference
    difference = None if measured is None else sign * measured + 0.0  # avoids -0.0
    interval = found.relative if relative else found.interval
    ends: tuple[float, ...] = ()
    if interval is not None:
        ends = tuple(sorted((sign * interval.low + 0.0, sign * interval.high + 0.0)))
    standing, reason = _standing(difference, ends, margin, found, relative)
    return MarginCheck(
        metric=found.metric,
        margin=margin,
        difference=difference,
        low=ends[0] if ends else None,
        high=ends[-1] if ends else None,
        standing=standing,
        reason=reason,
        percent=relative,
    )


def _standing(
    difference: float | None, ends: tuple[float, ...], margin: float, found: MetricChange, relative: bool
) -> tuple[Standing, str]:
    if difference is None or not ends:
        return "cannot_tell", _unmeasured(found)
    low, high = ends[0], ends[-1]
    show = signed_percent if relative else partial(signed_figure, found.metric)
    seen = f"{show(difference)}, 95 %: {show(low)} to {show(high)}, over {found.cases} cases"
    if relative and found.cases < _FEWEST:
        return "cannot_tell", f"{seen}: {_FEWEST} cases are needed"
    if low > 0:
        return "better", seen
    if low >= -margin:
        return "parity", f"{seen}: not worse by more than {margin_words(margin, percent=relative)}"
    if high < -margin:
        return "worse", seen
    needed = None if relative else cases_for_margin(found.cases, Interval(low=low, high=high), margin, found.width)
    more = "" if needed is None else f"; about {needed} cases would be enough"
    return "cannot_tell", f"{seen}: the interval contains -{margin_words(margin, percent=relative)}{more}"


def margin_words(margin: float, *, percent: bool) -> str:
    """The margin in the notation of the command line."""
    return f"{100 * margin:g}%" if percent else f"{margin:g}"


def _unmeasured(found: MetricChange) -> str:
    if found.metric == LATENCY:
        return "latency needs live tools or a live model in both runs"
    if found.pairs and not found.before:
        return "the earlier value is 0, so a percentage is not defined: give an amount"
    return "no trial is measured in both runs"


def _parsed(comparison: "Comparison", spec: str) -> tuple[MetricChange, float, bool]:
    success = comparison.held or comparison.success
    latency = comparison.latency or MetricChange(metric=LATENCY, pairs=0, before=None, after=None)
    known = {one.metric: one for one in (success, latency, *comparison.metrics)}
    metric, margin, percent = _named(spec)
    if metric not in known:
        raise _unknown(spec, metric, known)
    return known[metric], margin, percent


def _unknown(spec: str, metric: str, known: Iterable[str]) -> UsageError:
    return UsageError(f"{spec!r}: the runs have no metric {metric!r}", remedy=alternatives(metric, known))


def _named(spec: str) -> tuple[str, float, bool]:
    """Metric, margin, and whether it is a percentage."""
    remedy = "for example task_success=0.05 or cost_usd=10%"
    found = _SPEC.fullmatch(spec)
    if found is None:
        raise UsageError(f"invalid margin {spec!r}: expected METRIC=MARGIN", remedy=remedy)
    metric, text = found.groups()
    percent = text.endswith("%")
    try:
        margin = float(text.removesuffix("%")) / (100 if percent else 1)
    except ValueError:
        margin = math.nan
    if not math.isfinite(margin) or margin < 0:
        raise UsageError(f"invalid margin {spec!r}: expected a number from 0, found {text!r}", remedy=remedy)
    return metric, margin, percent
