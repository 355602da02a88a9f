"""`--no-worse-than METRIC=MARGIN`: whether a run is better than another, as good, worse, or undecided.

The margin is the loss that the user accepts. The verdict comes with the noise floor: the difference between repeated
runs of the same version; a margin below it exceeds the precision of the measurement.
"""

import math
import re
from collections.abc import Iterable, Sequence
from typing import Literal

from harness.documents import alternatives
from harness.errors import ExitCode, UsageError
from harness.report.change import MetricChange
from harness.report.compare import Comparison
from harness.results import RunFolder, RunManifest, runs_in
from harness.score import Scorecard
from harness.stats import Interval, cases_for_margin
from harness.trace import MEASURED
from harness.values import Frozen

Standing = Literal["better", "parity", "worse", "cannot_tell"]

_SPEC = re.compile(r"\s*([A-Za-z_][\w.-]*)\s*=\s*(\S+)\s*")
_REPETITIONS = 20
_ALWAYS = frozenset({"task_success", "composite"})
"""Figures that no scorer's version names."""


class NoiseFloor(Frozen):
    """The range of a metric's mean over repetitions of one version: attempts, and other runs with the same digests."""

    repetitions: int
    range: float | None
    """None: fewer than two repetitions."""
    version: str


class MarginCheck(Frozen):
    """One metric against its margin. Differences are signed so that more is better."""

    metric: str
    margin: float
    difference: float | None
    low: float | None
    """Of the 95 % interval of the difference, cases being what is counted."""
    high: float | None
    standing: Standing
    reason: str
    noise: tuple[NoiseFloor, ...] = ()

    @property
    def exit_code(self) -> ExitCode:
        match self.standing:
            case "better" | "parity":
                return ExitCode.DONE
            case "worse":
                return ExitCode.VERDICT
            case "cannot_tell":
                return ExitCode.COULD_NOT


def no_worse_than(comparison: Comparison, specs: Sequence[str], runs: Sequence[RunFolder] = ()) -> list[MarginCheck]:
    """Checks a comparison against margins. Raises UsageError for a margin that is malformed or names no metric of the
    comparison.

    `better`: the whole interval is above 0. `parity`: it is above minus the margin. `worse`: it is below minus the
    margin. `cannot_tell`: it contains the boundary; more cases would decide. A success that became unknown counts as
    lost. `runs` are searched for repetitions.
    """
    parsed = [_parsed(comparison, spec) for spec in specs]
    cards = [(run.manifest, run.scorecards()) for run in runs]
    return [_check(comparison, found, margin, cards) for found, margin in parsed]


def refuse_unusable(specs: Iterable[str], manifests: Sequence[RunManifest]) -> None:
    """Validates margins before runs are read and compared.

    Raises UsageError for a malformed margin, or one whose metric neither run was scored with.
    """
    scored = {name for manifest in manifests for name in manifest.scorer_versions}
    known = {name.removeprefix("metric:") for name in scored if name.startswith("metric:")} | _ALWAYS
    for spec in specs:
        metric, _ = _named(spec)
        if metric not in known:
            raise _unknown(spec, metric, known)


def repetitions_of(comparison: Comparison, before: RunFolder, after: RunFolder) -> list[RunFolder]:
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


def _check(comparison: Comparison, found: MetricChange, margin: float, cards: Iterable[_Cards]) -> MarginCheck:
    sign = -1.0 if found.lower_is_better else 1.0
    difference = None if found.difference is None else sign * found.difference
    ends: tuple[float, ...] = ()
    if found.interval is not None:
        ends = tuple(sorted((sign * found.interval.low, sign * found.interval.high)))
    noise = _noise(comparison, found.metric, list(cards))
    standing, reason = _standing(difference, ends, margin, found)
    floor = max((one.range for one in noise if one.range is not None), default=None)
    if floor is not None and floor > margin:
        reason += f"; the margin is below the noise floor of {floor:.3g}"
    return MarginCheck(
        metric=found.metric,
        margin=margin,
        difference=difference,
        low=ends[0] if ends else None,
        high=ends[-1] if ends else None,
        standing=standing,
        reason=reason,
        noise=noise,
    )


def _standing(
    difference: float | None, ends: tuple[float, ...], margin: float, found: MetricChange
) -> tuple[Standing, str]:
    if difference is None or not ends:
        return "cannot_tell", "no trial is measured in both runs"
    low, high = ends[0], ends[-1]
    seen = f"{difference:+.3g}, 95 %: {low:+.3g} to {high:+.3g}, over {found.cases} cases"
    if low > 0:
        return "better", seen
    if low >= -margin:
        return "parity", f"{seen}: not worse by more than {margin:g}"
    if high < -margin:
        return "worse", seen
    needed = cases_for_margin(found.cases, Interval(low=low, high=high), margin, found.width)
    more = "" if needed is None else f"; about {needed} cases would"
    return "cannot_tell", f"{seen}: lies across -{margin:g}{more}"


def _noise(comparison: Comparison, metric: str, cards: Sequence[_Cards]) -> tuple[NoiseFloor, ...]:
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


def _parsed(comparison: Comparison, spec: str) -> tuple[MetricChange, float]:
    success = comparison.held or comparison.success
    known = {one.metric: one for one in (success, *comparison.metrics)}
    metric, margin = _named(spec)
    if metric not in known:
        raise _unknown(spec, metric, known)
    return known[metric], margin


def _unknown(spec: str, metric: str, known: Iterable[str]) -> UsageError:
    return UsageError(f"{spec!r}: the runs have no metric {metric!r}", remedy=alternatives(metric, known))


def _named(spec: str) -> tuple[str, float]:
    """Metric and margin, as they are written."""
    found = _SPEC.fullmatch(spec)
    if found is None:
        raise UsageError(f"invalid margin {spec!r}: expected METRIC=MARGIN", remedy="for example task_success=0.05")
    metric, text = found.groups()
    try:
        margin = float(text)
    except ValueError:
        margin = math.nan
    if not math.isfinite(margin) or margin < 0:
        raise UsageError(
            f"invalid margin {spec!r}: expected a number from 0, found {text!r}", remedy="for example task_success=0.05"
        )
    return metric, margin
