"""Metrics and failure modes of a suite by release, with a test that flags worse releases.

Runs are pooled only if agent, model, values of variables and conditions are the same. Only complete runs count: no
selections, such as a run of the cases that failed in another one, no shards, no runs that ended early. A selection is
recorded in the run, and known too by a run of the same suite that has all of its cases and more.

A release is compared with all earlier ones shown of the same agent and model, pooled. If at least half of its cases
were there before, the test is the exact sign test over those cases (their mean now against their mean before); else, as
with production traces, which never come twice, Fisher's exact test over the cases (for failure modes only). Tests are
one-sided, towards the worse, and corrected by Holm for all figures of the release.

Looking at every release is a repeated look. The k-th release after the first is therefore tested at 5 % / (k (k + 1)):
these levels sum to 5 % over any number of releases, so that a suite which never gets worse is ever flagged with at most
that probability, however the releases depend on each other (alpha-spending by the union bound; see Foster and Stine
2008, Alpha-investing, J. R. Stat. Soc. B 70). k counts all stored releases, those not shown among them.

A release may be evaluated again after each further run. Its level is spent over these looks in the same way: the j-th
look has the release's level / (j (j + 1)). A look is a finished run of the release or, once it has begun, of an earlier
one shown, in the order in which the runs were begun. All looks are computed from the stored runs, so that a release
that was flagged once stays flagged, and a further run neither hides a jump nor adds a chance of a false one. Not
covered: looking at a run before it has finished, and runs that are deleted because of what they show.

Each case is compared by equally many trials on both sides, the latest ones: the mean of many trials is rarely equal to
that of one, so that a case that fails now and then would count as worse merely for having been run more often.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple, get_args

from harness.errors import ResultsError, UsageError
from harness.reports.judged import pooled_criteria
from harness.runs.store.beside_trials import stop_of
from harness.runs.store.folder import RunFolder, gc_paused
from harness.runs.store.manifest import RunManifest
from harness.scoring.scorecard import Failure, Scorecard
from harness.scoring.statistics.correction import Corrected
from harness.scoring.statistics.intervals import Interval, bootstrap, effective_n, wilson
from harness.scoring.statistics.significance import fisher_greater, holm, level_of_look, sign_test_greater
from harness.traces.outcomes import MEASURED
from harness.values import Frozen

# Whether a release is worse than those before it, tested after each of its runs; `trend.py` uses it.

_SAME = 1e-9
_NAMED = 10
"""Runs that a message names."""

Test = Literal["sign test over the same cases", "Fisher's exact test over cases"]

Values = dict[str, list[float]]
"""Case -> the figure in each of its measured trials."""

Figure = tuple[str, Literal["metric", "failure"], bool]
"""Name, kind, and whether less is better."""

Line = tuple[Figure, list[Values]]
"""A figure, and its values in each run."""

Tested = dict[str, object]
"""What a test adds to a `TrendPoint`."""


@dataclass(frozen=True, kw_only=True)
class RunCards:
    """The scorecards of a run."""

    release: str
    cards: tuple[Scorecard, ...]


_Read = tuple[RunFolder, RunCards]


def tests_of(lines: Sequence[Line], runs: Sequence[RunCards], releases: Sequence[str], number: int) -> list[Tested]:
    """The last of `releases` after each run of it, and of the earlier ones since it began; by line."""
    now: list[Values] = [{} for _ in lines]
    before: list[Values] = [{} for _ in lines]
    kept: list[Tested] = [{} for _ in lines]
    look, begun = 0, False
    for place, run in enumerate(runs):
        if run.release not in releases:
            continue
        is_own = run.release == releases[-1]
        for (_, by_run), own, earlier in zip(lines, now, before, strict=True):
            extend(own if is_own else earlier, by_run[place])
        begun = begun or is_own
        if begun:
            look += 1
            found = _look(lines, now, before, level_of_look(number, look))
            kept = [_kept(old, new, look) for old, new in zip(kept, found, strict=True)]
    return [one | {"looks": look} if one else one for one in kept]


def _kept(old: Tested, new: Tested, look: int) -> Tested:
    """Selects the first flagged test, else the newest test."""
    return old if old.get("spike") or not new else new | {"look": look}


def _look(lines: Sequence[Line], now: Sequence[Values], before: Sequence[Values], level: float) -> list[Tested]:
    """Tests all figures once, with correction; empty if nothing can be compared."""
    pairs = [_equally_many(own, earlier) for own, earlier in zip(now, before, strict=True)]
    tested = [_tested(figure, *pair) for (figure, _), pair in zip(lines, pairs, strict=True)]
    figures = sum(p is not None for p, _ in tested)
    found: list[Tested] = []
    for (_, test), p, (own, earlier) in zip(tested, holm([p for p, _ in tested]), pairs, strict=True):
        if p is None or test is None:
            found.append({})
            continue
        sizes = _sizes(test, own, earlier)
        power = {"level": level, "cases": sizes[0], "flags_from": _flags_from(test, sizes, level / figures)}
        found.append({"p": p, "test": test, "spike": p <= level, **power})
    return found


def _equally_many(now: Values, before: Values) -> tuple[Values, Values]:
    """The latest trials of each case: as many now as before. Of cases that do not come twice, as many of each."""
    if _mostly_shared(now, before):
        most = {case: min(len(own), len(before[case])) for case, own in now.items() if case in before}
    else:
        fewest = min((len(own) for side in (now, before) for own in side.values()), default=0)
        most = dict.fromkeys({*now, *before}, fewest)
    return _latest(now, most), _latest(before, most)


def _latest(values: Values, most: Mapping[str, int]) -> Values:
    return {case: own[-most[case] :] if case in most else own for case, own in values.items()}


def _mostly_shared(now: Values, before: Values) -> bool:
    return 2 * sum(case in before for case in now) >= len(now)


def extend(values: Values, more: Values) -> None:
    for case, own in more.items():
        if case in values:
            values[case].extend(own)
        else:
            values[case] = own[:]


def _sizes(test: Test, now: Values, before: Values) -> tuple[int, int, int]:
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


def _tested(figure: Figure, now: Values, before: Values) -> tuple[float | None, Test | None]:
    _, kind, less = figure
    shared = [case for case in now if case in before]
    if not now or not before:
        return None, None
    if _mostly_shared(now, before):
        steps = [_mean(now[case]) - _mean(before[case]) for case in shared]
        up, down = sum(step > _SAME for step in steps), sum(step < -_SAME for step in steps)
        return sign_test_greater(*((up, down) if less else (down, up))), "sign test over the same cases"
    if kind != "failure":
        return None, None
    with_now, with_before = (sum(_mean(own) > 0 for own in one.values()) for one in (now, before))
    p = fisher_greater(with_now, len(now) - with_now, with_before, len(before) - with_before)
    return p, "Fisher's exact test over cases"


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


_SUCCESS = "task_success"


class TrendPoint(Frozen):
    """One figure in one release."""

    release: str
    n: int
    """Trials in which it is known."""
    value: float | None
    interval: Interval | None = None
    """95 %, cases being what is counted."""
    unknown: int = 0
    """Further trials of the release in which it is not known; those that were not measured are among them."""
    p: float | None = None
    """One-sided, corrected; None: nothing to compare with."""
    test: Test | None = None
    spike: bool = False
    level: float | None = None
    """The level at which `p` is flagged: the look's share of the release's share of 5 %."""
    look: int | None = None
    """The look that `p` belongs to: the first one that was flagged, else the newest in which the figure could be
    tested.
    """
    looks: int = 0
    """The number of evaluations of the release: one after each run."""
    cases: int = 0
    """The number of cases that the test uses."""
    flags_from: int | None = None
    """The number of worse cases, with none better, that would be flagged; None: no number would be enough."""


class TrendLine(Frozen):
    """One figure over the releases."""

    name: str
    kind: Literal["metric", "failure"]
    lower_is_better: bool
    points: tuple[TrendPoint, ...]


class JudgedPoint(Frozen):
    """A judged criterion in one release."""

    n: int
    """Trials in which the judge found it eligible."""
    rate: float
    """The judge's share of passes."""
    corrected: Corrected | None
    """Corrected for the judge's errors; None: no labels tested the judge."""


class JudgedLine(Frozen):
    """A criterion by one judge over the releases; it is not tested for jumps."""

    name: str
    """`<rubric>/<criterion>, <judge>`."""
    points: tuple[JudgedPoint | None, ...]
    """None: the judge did not answer it in the release."""


class Release(Frozen):
    """The complete runs of one release by one agent and model."""

    name: str
    first: str
    """When its first run was made."""
    runs: tuple[str, ...]
    trials: int


class AgentTrend(Frozen):
    """One agent with one model, under one set of conditions: only such runs are pooled."""

    name: str
    """Agent, model, values of variables, and the conditions if others of the suite differ in them."""
    agent: str
    models: tuple[str, ...]
    """The observed models."""
    releases: tuple[Release, ...]
    """By the date of their first runs; every line has a point for each."""
    lines: tuple[TrendLine, ...]
    judged: tuple[JudgedLine, ...] = ()

    @property
    def spikes(self) -> list[tuple[TrendLine, TrendPoint]]:
        """The flagged figures, by release."""
        found = [(line, point) for line in self.lines for point in line.points if point.spike]
        order = [release.name for release in self.releases]
        return sorted(found, key=lambda pair: order.index(pair[1].release))

    def line(self, name: str) -> TrendLine | None:
        return next((line for line in self.lines if line.name == name), None)


class DamagedRun(Frozen):
    """A run that cannot be read, and is in no figure."""

    run: str
    problem: str


class IncompleteRun(Frozen):
    """A run that may not be pooled with complete ones, and is in no figure."""

    run: str
    why: str


class Trend(Frozen):
    """A suite over its releases, an agent and model at a time: what a chart of it draws."""

    suite: str
    agents: tuple[AgentTrend, ...]
    """By the date of their first complete runs."""
    incomplete: tuple[IncompleteRun, ...] = ()
    damaged: tuple[DamagedRun, ...] = ()
    """Runs of the suite that cannot be read, and runs of which not even the suite can be."""

    @property
    def releases(self) -> tuple[str, ...]:
        """Of all agents, by the date of their first runs."""
        dated = [(release.first, release.name) for one in self.agents for release in one.releases]
        return tuple(dict.fromkeys(name for _, name in sorted(dated)))

    @property
    def spikes(self) -> list[tuple[AgentTrend, TrendLine, TrendPoint]]:
        """The flagged figures, by agent and release."""
        return [(one, line, point) for one in self.agents for line, point in one.spikes]

    @property
    def jumped(self) -> bool:
        """Whether a figure of the newest release of an agent is flagged."""
        return any(point.release == one.releases[-1].name for one, _, point in self.spikes)


def suite_of(runs: Iterable[RunFolder], suite: str | None) -> str:
    """The given suite, or the only one with runs. Raises UsageError if it has no runs, or if several suites have."""
    known = sorted({run.manifest.suite for run in runs})
    if suite is None and len(known) == 1:
        return known[0]
    if suite not in known:
        problem = "there are runs of several suites" if suite is None else f"there is no run of the suite {suite!r}"
        raise UsageError(problem, remedy=f"suites with runs: {', '.join(known) or 'none'}")
    return suite


@gc_paused()
def trend(
    suite: str,
    runs: Iterable[RunFolder],
    *,
    agent: str | None = None,
    last: int = 12,
    unreadable: Mapping[str, str] = MappingProxyType({}),
) -> Trend:
    """The trend of the complete runs of `suite`, optionally of one agent; a run without a release counts as a release.

    `unreadable`: run -> why it cannot be read at all. Raises UsageError if there is no complete run that can be read.
    """
    of_suite = sorted(
        (run for run in runs if run.manifest.suite == suite), key=lambda run: (run.manifest.created, run.manifest.run)
    )
    wanted = [run for run in of_suite if agent in (None, run.manifest.agent)]
    damaged = [DamagedRun(run=name, problem=problem) for name, problem in unreadable.items()]
    incomplete: list[IncompleteRun] = []
    parts: dict[_Pool, dict[str, list[RunFolder]]] = {}
    selections = _case_sets(of_suite)
    for run in wanted:
        why = _selected(run.manifest, selections)
        if why:
            incomplete.append(IncompleteRun(run=run.manifest.run, why=why))
        else:
            parts.setdefault(_pool(run.manifest), {}).setdefault(_release_of(run), []).append(run)
    read = {pool: _latest_complete(releases, last, damaged, incomplete) for pool, releases in parts.items()}
    pools = [(named, pool, own) for pool in parts for named, own in _by_models(pool, read[pool]).items()]
    if not pools:
        raise _nothing(suite, agent, damaged, incomplete)
    alike = len({pool.conditions for pool in parts}) == 1
    agents = tuple(
        _agent(named, own, len(parts[pool]) - len(read[pool]), with_conditions=not alike) for named, pool, own in pools
    )
    order = {run.manifest.run: place for place, run in enumerate(wanted)}
    incomplete.sort(key=lambda one: order[one.run])
    return Trend(suite=suite, agents=agents, incomplete=tuple(incomplete), damaged=tuple(damaged))


def _latest_complete(
    releases: dict[str, list[RunFolder]], last: int, damaged: list[DamagedRun], incomplete: list[IncompleteRun]
) -> dict[str, list[_Read]]:
    """The complete runs of the `last` releases that have some, with their cards; those before them are not read, and
    releases without a complete run are removed.
    """
    found: dict[str, list[_Read]] = {}
    for name in [*reversed(releases)]:
        for run in releases[name] if len(found) < last else ():
            try:
                cards = run.cards()
            except ResultsError as error:
                damaged.append(DamagedRun(run=run.manifest.run, problem=error.message))
                continue
            why = _unfinished(run, len(cards))
            if why:
                incomplete.append(IncompleteRun(run=run.manifest.run, why=why))
            else:
                found.setdefault(name, []).append((run, RunCards(release=name, cards=cards)))
        if len(found) < last and name not in found:
            del releases[name]
    return dict(reversed(found.items()))


def _by_models(pool: "_Pool", releases: Mapping[str, Sequence[_Read]]) -> "dict[_Pool, list[_Read]]":
    """The runs by the models that answered, by date."""
    found: dict[_Pool, list[_Read]] = {}
    for own in releases.values():
        for run, read in own:
            models = tuple(sorted({model for card in read.cards for model in card.models}))
            found.setdefault(pool._replace(models=models), []).append((run, read))
    return {named: sorted(own, key=lambda one: one[0].manifest.created) for named, own in found.items()}


class _Pool(NamedTuple):
    """What runs have in common that may be pooled, beside the suite and its cases."""

    agent: str
    models: tuple[str, ...]
    variables: tuple[tuple[str, str], ...]
    conditions: tuple[str, ...]


def _pool(manifest: RunManifest) -> _Pool:
    return _Pool(
        agent=manifest.agent,
        models=(),
        variables=tuple(sorted(manifest.variables.items())),
        conditions=(f"tools {manifest.tool_mode}", f"model {manifest.model_mode}"),
    )


def _case_sets(runs: Iterable[RunFolder]) -> dict[str, list[frozenset[str]]]:
    """Suite digest -> the sets of cases that runs of it planned."""
    found: dict[str, list[frozenset[str]]] = {}
    for run in runs:
        found.setdefault(run.manifest.suite_digest, []).append(frozenset(one.case_id for one in run.manifest.planned))
    return found


def _selected(manifest: RunManifest, sets: Mapping[str, Sequence[frozenset[str]]]) -> str | None:
    """Why the run was never meant to measure the whole suite; None: it was."""
    if manifest.variants:
        return "its trials have interventions"
    if manifest.shard is not None:
        return "it is one shard of a run"
    cases = frozenset(one.case_id for one in manifest.planned)
    fewer = not manifest.case_digests and any(cases < other for other in sets[manifest.suite_digest])
    return "it has a selection of the cases" if manifest.selected or fewer else None


def _unfinished(run: RunFolder, done: int) -> str | None:
    if done >= len(run.manifest.planned):
        return None
    stop = stop_of(run)
    return "it was interrupted" if stop is None else f"it was stopped: {stop.reason}"


def _nothing(
    suite: str, agent: str | None, damaged: Sequence[DamagedRun], incomplete: Sequence[IncompleteRun]
) -> UsageError:
    by = "" if agent is None else f" by the agent {agent!r}"
    told = [f"{one.run}: {one.problem}" for one in damaged] + [f"{one.run}: {one.why}" for one in incomplete]
    which = "complete run" if incomplete else "run"
    return UsageError(
        f"there is no {which} of {suite!r}{by}{' that can be read:' if told else ''}"
        + "".join(f"\n  {one}" for one in told[:_NAMED]),
        remedy=f"harness run {suite}",
    )


def _agent(pool: _Pool, own: Sequence[_Read], unseen: int, *, with_conditions: bool) -> AgentTrend:
    cards = [one for _, one in own]
    by_release: dict[str, list[RunFolder]] = {}
    for run, one in own:
        by_release.setdefault(one.release, []).append(run)
    variables = ", ".join(f"{name}={value}" for name, value in pool.variables if value not in pool.models)
    named = (pool.agent, ", ".join(pool.models), variables, *(pool.conditions if with_conditions else ()))
    return AgentTrend(
        name=", ".join(one for one in named if one),
        agent=pool.agent,
        models=pool.models,
        releases=tuple(_release(name, runs, _cards_of(cards, name)) for name, runs in by_release.items()),
        lines=_flagged(_lines(cards), cards, unseen),
        judged=_judged(list(by_release.values())),
    )


def _judged(releases: Sequence[Sequence[RunFolder]]) -> tuple[JudgedLine, ...]:
    found: dict[str, dict[int, JudgedPoint]] = {}
    for place, runs in enumerate(releases):
        for (rubric, judge), criteria in pooled_criteria(run.path for run in runs).items():
            for one in criteria:
                if one.rate is not None:
                    name = f"{rubric}/{one.criterion}, {judge.model} {judge.prompt}@{judge.prompt_version}"
                    point = JudgedPoint(n=one.passed + one.failed, rate=one.rate, corrected=one.corrected)
                    found.setdefault(name, {})[place] = point
    return tuple(
        JudgedLine(name=name, points=tuple(points.get(place) for place in range(len(releases))))
        for name, points in found.items()
    )


def _release_of(run: RunFolder) -> str:
    return run.manifest.release or run.manifest.run


def _cards_of(runs: Iterable[RunCards], release: str) -> list[Scorecard]:
    return [card for run in runs if run.release == release for card in run.cards]


def _release(name: str, runs: Sequence[RunFolder], cards: Sequence[Scorecard]) -> Release:
    return Release(
        name=name,
        first=runs[0].manifest.created,
        runs=tuple(run.manifest.run for run in runs),
        trials=sum(card.outcome in MEASURED for card in cards),
    )


def _lines(runs: Sequence[RunCards]) -> list[Line]:
    every = [card for run in runs for card in run.cards]
    lower = {score.metric: score.lower_is_better for card in every for score in card.scores}
    seen = {one.failure for card in every for one in card.diagnoses}
    figures: list[Figure] = [(_SUCCESS, "metric", False)]
    figures += [(name, "metric", less) for name, less in lower.items() if name != _SUCCESS]
    figures += [(mode, "failure", True) for mode in get_args(Failure) if mode in seen]
    by_run = [_values(run.cards, seen) for run in runs]
    found = [(figure, [own.get(figure[:2], {}) for own in by_run]) for figure in figures]
    return [(figure, values) for figure, values in found if any(values)]


def _values(cards: Iterable[Scorecard], modes: Iterable[str]) -> dict[tuple[str, str], Values]:
    """Each figure of the measured trials, in one pass. A trial with undecided checks counts as failed: hiding a failure
    must not improve a release.
    """
    found: dict[tuple[str, str], Values] = {}
    names = {mode: (mode, "failure") for mode in modes}
    for card in cards:
        if card.outcome not in MEASURED:
            continue
        failed = {one.failure for one in card.diagnoses}
        own: dict[tuple[str, str], float | None] = {key: float(mode in failed) for mode, key in names.items()}
        own |= {(score.metric, "metric"): score.value for score in reversed(card.scores)}
        own[_SUCCESS, "metric"] = 0.0 if card.undecided else None if card.success is None else float(card.success)
        for key, value in own.items():
            if value is not None:
                found.setdefault(key, {}).setdefault(card.case_id, []).append(value)
    return found


def _flagged(lines: Sequence[Line], runs: Sequence[RunCards], unseen: int) -> tuple[TrendLine, ...]:
    """`runs` are in the order in which they were started; `unseen` is the number of stored releases before them."""
    points: list[list[TrendPoint]] = [[] for _ in lines]
    releases = list(dict.fromkeys(run.release for run in runs))
    for number, release in enumerate(releases):
        trials = len(_cards_of(runs, release))
        tested = tests_of(lines, runs, releases[: number + 1], max(1, unseen + number))
        for place, (_, by_run) in enumerate(lines):
            values: Values = {}
            for run, own in zip(runs, by_run, strict=True):
                if run.release == release:
                    extend(values, own)
            points[place].append(_point(release, trials, values).model_copy(update=tested[place]))
    return tuple(
        TrendLine(name=figure[0], kind=figure[1], lower_is_better=figure[2], points=tuple(own))
        for (figure, _), own in zip(lines, points, strict=True)
    )


def _point(release: str, trials: int, values: Values) -> TrendPoint:
    every = [value for own in values.values() for value in own]
    mean = round(math.fsum(every) / len(every), 12) if every else None
    interval = None
    if every:
        shares = all(value in (0.0, 1.0) for value in every)
        interval = wilson(sum(every) / len(every), effective_n(values)) if shares else bootstrap(values)
    return TrendPoint(release=release, n=len(every), value=mean, interval=interval, unknown=trials - len(every))
