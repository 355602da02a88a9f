"""`--no-worse-than METRIC=MARGIN`: whether a run is better than another, as good, worse, or undecided.

The margin is the loss that the user accepts; for an amount also as a percentage of its value before (`cost_usd=10%`).
The verdict comes with the noise floor: the difference between repeated runs of the same version; a margin below it
exceeds the precision of the measurement.
"""

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Literal

from harness.errors import ExitCode, UsageError
from harness.reports.change import LATENCY, MetricChange
from harness.reports.units import figure, signed_figure, signed_percent
from harness.runs.store.baseline import runs_in
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import RunManifest
from harness.scoring.scorecard import Scorecard
from harness.scoring.statistics.intervals import Interval, cases_for_margin
from harness.text import alternatives
from harness.traces.outcomes import MEASURED
from harness.values import Frozen

if TYPE_CHECKING:
    from harness.reports.compare import Comparison


Standing = Literal["better", "parity", "worse", "cannot_tell"]

_SPEC = re.compile(r"\s*(\w[\w.-]*(?:/\w[\w.-]*)?)\s*=\s*(\S+)\s*")
_REPETITIONS = 20
_FEWEST = 6
"""The minimum number of cases that a percentage is decided with."""
_ALWAYS = frozenset({"task_success", LATENCY})
"""Figures without a scorer version."""


class NoiseFloor(Frozen):
    """The range of a metric's mean over repetitions of one version: attempts, and other runs with the same digests."""

    repetitions: int
    range: float | None
    """None: fewer than two repetitions."""
    version: str


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
    noise: tuple[NoiseFloor, ...] = ()
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


def no_worse_than(
    comparison: "Comparison",
    specs: Sequence[str],
    runs: Sequence[RunFolder] = (),
    more: Sequence[MetricChange] = (),
) -> list[MarginCheck]:
    """Checks a comparison against margins. Raises UsageError for a margin that is malformed or names no metric of the
    comparison.

    `better`: the whole interval is above 0. `parity`: it is above minus the margin. `worse`: it is below minus the
    margin. `cannot_tell`: it contains the boundary; more cases would decide. A success that became unknown counts as
    lost. `runs` are searched for repetitions. `more` are figures beside those of the comparison.
    """
    parsed = [_parsed(comparison, spec, more) for spec in specs]
    cards = [(run.manifest, run.cards()) for run in runs]
    return [_check(comparison, *one, cards) for one in parsed]


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


def margins_of(gates: Mapping[str, float | str], typed: Sequence[str]) -> tuple[str, ...]:
    """The margins of the command line, with those of the suite as defaults."""
    named = {spec.partition("=")[0].strip() for spec in typed}
    return (*typed, *(f"{metric}={margin}" for metric, margin in gates.items() if metric not in named))


def repetitions_of(comparison: "Comparison", before: RunFolder, after: RunFolder) -> list[RunFolder]:
    """The two runs, and the latest others beside them that repeat one of the two versions."""
    versions = {_version(comparison.before), _version(comparison.after)}
    names = {comparison.before.run, comparison.after.run}
    others = [
        run
        for folder in {before.path.parent, after.path.parent}
        for run in runs_in(folder)
        if _version(run.manifest) in versions and run.manifest.run not in names
    ]
    latest = sorted(others, key=lambda run: (run.manifest.created, run.manifest.run), reverse=True)
    return [before, after, *latest[:_REPETITIONS]]


_Cards = tuple[RunManifest, Sequence[Scorecard]]


def _check(
    comparison: "Comparison", found: MetricChange, margin: float, percent: bool, cards: Iterable[_Cards]
) -> MarginCheck:
    relative = percent and found.is_amount
    sign = -1.0 if found.lower_is_better else 1.0
    measured = found.relative_difference if relative else found.difference
    difference = None if measured is None else sign * measured + 0.0  # avoids -0.0
    interval = found.relative if relative else found.interval
    ends: tuple[float, ...] = ()
    if interval is not None:
        ends = tuple(sorted((sign * interval.low + 0.0, sign * interval.high + 0.0)))
    noise = _noise(comparison, found.metric, list(cards))
    standing, reason = _standing(difference, ends, margin, found, relative)
    floor = max((one.range for one in noise if one.range is not None), default=None)
    if floor is not None and floor > margin * ((found.before or 0.0) if relative else 1.0):
        reason += f"; the margin is below the noise floor of {figure(found.metric, floor)}"
    return MarginCheck(
        metric=found.metric,
        margin=margin,
        difference=difference,
        low=ends[0] if ends else None,
        high=ends[-1] if ends else None,
        standing=standing,
        reason=reason,
        noise=noise,
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


def _noise(comparison: "Comparison", metric: str, cards: Sequence[_Cards]) -> tuple[NoiseFloor, ...]:
    names = {_version(one): one.agent for one in (comparison.before, comparison.after)}
    return tuple(
        _floor(name, metric, [own for manifest, own in cards if _version(manifest) == version])
        for version, name in names.items()
    )


def _floor(name: str, metric: str, runs: Sequence[Sequence[Scorecard]]) -> NoiseFloor:
    repetitions: list[dict[str, float]] = []
    for cards in runs:
        by_attempt: dict[int, dict[str, float]] = {}
        for card in cards:
            value = _value(card, metric)
            if value is not None:
                by_attempt.setdefault(card.attempt, {})[card.case_id] = value
        repetitions += by_attempt.values()
    common = set.intersection(*(set(one) for one in repetitions)) if repetitions else set()
    means = [math.fsum(one[case] for case in sorted(common)) / len(common) for one in repetitions] if common else []
    spread = round(max(means) - min(means), 12) if len(means) > 1 else None
    return NoiseFloor(repetitions=len(means), range=spread, version=name)


def _value(card: Scorecard, metric: str) -> float | None:
    if card.outcome not in MEASURED:
        return None
    if metric == "task_success":
        return None if card.success is None else float(card.success)
    return card.value(metric)


def _version(manifest: RunManifest) -> str:
    fields = ("suite_digest", "agent_digest", "tools_digest", "snapshot_digest", "tool_mode", "model_mode")
    return " ".join(str(getattr(manifest, field)) for field in fields)


def _parsed(comparison: "Comparison", spec: str, more: Sequence[MetricChange]) -> tuple[MetricChange, float, bool]:
    success = comparison.held or comparison.success
    latency = comparison.latency or MetricChange(metric=LATENCY, pairs=0, before=None, after=None)
    known = {one.metric: one for one in (success, latency, *comparison.metrics, *more)}
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
