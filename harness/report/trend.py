"""Metrics and failure modes of a suite, release by release, and where one of them jumped.

A release is compared with all earlier ones shown, pooled. Where at least half of its cases were there before, the test
is the exact sign test over those cases (now against their mean before); else, as with production traces, which never
come twice, Fisher's exact test over the cases (for failure modes only). Tests are one-sided, towards the worse, and
corrected by Holm for all figures of the release.

Looking at every release is a repeated look. The k-th release after the first is therefore tested at 5 % / (k (k + 1)):
these levels sum to 5 % over any number of releases, so that a suite which never gets worse is ever flagged with at most
that probability, however the releases depend on each other (alpha-spending by the union bound; see Foster and Stine
2008, Alpha-investing, J. R. Stat. Soc. B 70). k counts all stored releases, those not shown among them. Each release is
one look: testing it again after every further run of it is not covered.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Literal, get_args

from harness.errors import UsageError
from harness.frozen import Frozen
from harness.report.failuremodes import has_failure
from harness.results import RunFolder
from harness.score import Scorecard
from harness.score.diagnosis import Failure
from harness.score.intervals import fisher_greater, holm, sign_test_greater
from harness.trace import MEASURED

LEVEL = 0.05
_SAME = 1e-9
_SUCCESS = "task_success"

Test = Literal["sign test over the same cases", "Fisher's exact test over cases"]


class TrendPoint(Frozen):
    """One figure in one release."""

    release: str
    n: int
    """Trials in which it is known."""
    value: float | None
    unknown: int = 0
    """Further trials of the release in which it is not known; those that were not measured are among them."""
    p: float | None = None
    """One-sided, corrected; None: nothing to compare with."""
    test: Test | None = None
    spike: bool = False
    level: float | None = None
    """At which `p` is flagged: the release's part of 5 %."""
    cases: int = 0
    """That the test could use."""
    flags_from: int | None = None
    """How many of them would have to be worse, none being better, for a flag; None: no number would be enough."""


class TrendLine(Frozen):
    """One figure over the releases."""

    name: str
    kind: Literal["metric", "failure"]
    lower_is_better: bool
    points: tuple[TrendPoint, ...]


class Release(Frozen):
    """The runs of one release, put together."""

    name: str
    first: str
    """When its first run was made."""
    runs: tuple[str, ...]
    agents: tuple[str, ...]
    trials: int


class Trend(Frozen):
    """`releases` in the order of their first runs; every line has a point for each."""

    suite: str
    releases: tuple[Release, ...]
    lines: tuple[TrendLine, ...]

    @property
    def spikes(self) -> list[tuple[TrendLine, TrendPoint]]:
        """What jumped, release by release."""
        found = [(line, point) for line in self.lines for point in line.points if point.spike]
        order = [release.name for release in self.releases]
        return sorted(found, key=lambda pair: order.index(pair[1].release))


_Values = dict[str, list[float]]
"""Case -> the figure in each of its measured trials."""


def suite_of(runs: Iterable[RunFolder], suite: str | None) -> str:
    """The suite itself, or the only one that has runs; raises UsageError where it has none or there are several."""
    known = sorted({run.manifest.suite for run in runs})
    if suite is None and len(known) == 1:
        return known[0]
    if suite not in known:
        problem = "there are runs of several suites" if suite is None else f"there is no run of the suite {suite!r}"
        raise UsageError(problem, remedy=f"suites with runs: {', '.join(known) or 'none'}")
    return suite


def trend(suite: str, runs: Iterable[RunFolder], *, agent: str | None = None, last: int = 12) -> Trend:
    """Over the runs of `suite`, of one agent version where it is named; a run without a release is one by itself."""
    wanted = [run for run in runs if run.manifest.suite == suite and agent in (None, run.manifest.agent)]
    ordered = sorted(wanted, key=lambda run: (run.manifest.created, run.manifest.run))
    parts: dict[str, list[RunFolder]] = {}
    for run in ordered:
        parts.setdefault(run.manifest.release or run.manifest.run, []).append(run)
    if not parts:
        raise UsageError(f"there is no run of {suite!r}" + ("" if agent is None else f" by the agent {agent!r}"))
    kept = dict(list(parts.items())[-last:])
    cards = {name: [card for run in own for card in run.scorecards()] for name, own in kept.items()}
    releases = tuple(_release(name, own, cards[name]) for name, own in kept.items())
    return Trend(suite=suite, releases=releases, lines=_flagged(_lines(cards), cards, len(parts) - len(kept)))


def _release(name: str, runs: Sequence[RunFolder], cards: Sequence[Scorecard]) -> Release:
    return Release(
        name=name,
        first=runs[0].manifest.created,
        runs=tuple(run.manifest.run for run in runs),
        agents=tuple(dict.fromkeys(run.manifest.agent for run in runs)),
        trials=sum(card.outcome in MEASURED for card in cards),
    )


_Figure = tuple[str, Literal["metric", "failure"], bool, Callable[[Scorecard], float | None]]


def _lines(cards: Mapping[str, Sequence[Scorecard]]) -> list[tuple[_Figure, dict[str, _Values]]]:
    every = [card for own in cards.values() for card in own]
    lower = {score.metric: score.lower_is_better for card in every for score in card.scores}
    figures: list[_Figure] = [(_SUCCESS, "metric", False, _success)]
    figures += [(name, "metric", less, _metric(name)) for name, less in lower.items() if name != _SUCCESS]
    seen = {one.failure for card in every for one in card.diagnoses}
    figures += [(mode, "failure", True, _mode(mode)) for mode in get_args(Failure) if mode in seen]
    found = [(figure, {name: _values(own, figure[3]) for name, own in cards.items()}) for figure in figures]
    return [(figure, by_release) for figure, by_release in found if any(by_release.values())]


def _success(card: Scorecard) -> float | None:
    """A trial whose checks cannot tell counts as failed: a release must not look better by hiding."""
    return 0.0 if card.undecided else None if card.success is None else float(card.success)


def _metric(name: str) -> Callable[[Scorecard], float | None]:
    return lambda card: card.value(name)


def _mode(failure: str) -> Callable[[Scorecard], float | None]:
    return lambda card: float(has_failure(card, failure))


def _values(cards: Iterable[Scorecard], figure: Callable[[Scorecard], float | None]) -> _Values:
    found: _Values = {}
    for card in cards:
        value = figure(card) if card.outcome in MEASURED else None
        if value is not None:
            found.setdefault(card.case_id, []).append(value)
    return found


def _flagged(
    lines: Sequence[tuple[_Figure, dict[str, _Values]]], cards: Mapping[str, Sequence[Scorecard]], unseen: int
) -> tuple[TrendLine, ...]:
    """`unseen`: stored releases before these."""
    points: list[list[TrendPoint]] = [[] for _ in lines]
    before: list[_Values] = [{} for _ in lines]
    for number, release in enumerate(cards, unseen):
        tested = [_tested(line, earlier, release) for line, earlier in zip(lines, before, strict=True)]
        corrected = holm([p for p, _ in tested])
        figures = sum(p is not None for p, _ in tested)
        for place, ((_, by_release), (_, test), p) in enumerate(zip(lines, tested, corrected, strict=True)):
            point = _point(release, len(cards[release]), by_release[release])
            if p is not None and test is not None:
                sizes = _sizes(test, by_release[release], before[place])
                level = level_of(max(1, number))
                power = {"level": level, "cases": sizes[0], "flags_from": _flags_from(test, sizes, level / figures)}
                point = point.model_copy(update={"p": p, "test": test, "spike": p <= level, **power})
            points[place].append(point)
            for case, values in by_release[release].items():
                before[place].setdefault(case, []).extend(values)
    return tuple(
        TrendLine(name=figure[0], kind=figure[1], lower_is_better=figure[2], points=tuple(own))
        for (figure, _), own in zip(lines, points, strict=True)
    )


def level_of(number: int) -> float:
    """Of the `number`-th release after the first; all of them together are `LEVEL`."""
    return LEVEL / (number * (number + 1))


def _sizes(test: Test, now: _Values, before: _Values) -> tuple[int, int, int]:
    """Cases that the test uses; of Fisher's also the cases before, and those of them with the failure."""
    if test == "sign test over the same cases":
        return sum(case in before for case in now), 0, 0
    return len(now), len(before), sum(_mean(own) > 0 for own in before.values())


def _flags_from(test: Test, sizes: tuple[int, int, int], level: float) -> int | None:
    """The fewest worse cases with a p-value that even the first step of Holm's correction flags."""
    cases, earlier, earlier_with = sizes
    for worse in range(1, cases + 1):
        if test == "sign test over the same cases":
            p = sign_test_greater(worse, 0)
        else:
            p = fisher_greater(worse, cases - worse, earlier_with, earlier - earlier_with)
        if p is not None and p <= level:
            return worse
    return None


def _point(release: str, trials: int, values: _Values) -> TrendPoint:
    every = [value for own in values.values() for value in own]
    mean = round(math.fsum(every) / len(every), 12) if every else None
    return TrendPoint(release=release, n=len(every), value=mean, unknown=trials - len(every))


def _tested(
    line: tuple[_Figure, dict[str, _Values]], before: _Values, release: str
) -> tuple[float | None, Test | None]:
    (_, kind, less, _), by_release = line
    now = by_release[release]
    shared = [case for case in now if case in before]
    if not now or not before:
        return None, None
    if 2 * len(shared) >= len(now):
        steps = [(_mean(now[case]) - _mean(before[case])) * (1 if less else -1) for case in shared]
        return sign_test_greater(sum(step > _SAME for step in steps), sum(step < -_SAME for step in steps)), (
            "sign test over the same cases"
        )
    if kind != "failure":
        return None, None
    with_now, with_before = (sum(_mean(own) > 0 for own in one.values()) for one in (now, before))
    p = fisher_greater(with_now, len(now) - with_now, with_before, len(before) - with_before)
    return p, "Fisher's exact test over cases"


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
