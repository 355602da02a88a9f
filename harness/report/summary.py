"""The figures of a run: measured values, their confidence intervals, and unmeasured trials with their reasons."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar, get_args

from harness.case import Difficulty
from harness.report.failuremodes import FailureMode, failure_modes
from harness.report.judged import JudgedRubric, judged_run
from harness.report.latency import Latency, LatencyBook
from harness.report.logends import LogEnds
from harness.report.printed import PrintedEnd
from harness.report.recorded import RecordedCassette
from harness.report.reliability import Reliability, reliability
from harness.report.replay import MissedTool, replay_of
from harness.report.sweep import Sweep, sweep
from harness.report.tooltable import ToolRow, by_model, by_tool
from harness.results import RunFolder, RunManifest, Stop, gc_paused, stop_of
from harness.score import Score, Scorecard
from harness.stats import Interval, bootstrap, effective_n, wilson
from harness.trace import MEASURED, ModelUse, Trial
from harness.values import Frozen

SUCCESS = "task_success"
Part = TypeVar("Part")


class Rate(Frozen):
    """Trials that succeeded among those of which it is known."""

    successes: int
    n: int
    rate: float | None
    interval: Interval | None
    """The Wilson interval; where cases were tried several times, over the effective number of observations."""
    unknown: int = 0
    """Further trials of which it is not known: measured and undecided, without a check, or not measured."""


class Figure(Frozen):
    """The mean of one metric over the trials where it is known."""

    metric: str
    n: int
    mean: float | None
    interval: Interval | None = None
    """The bootstrap interval over cases; None where the values do not differ, or where it was not requested."""
    lower_is_better: bool = False


class Counts(Frozen):
    """Trials by how they ended."""

    planned: int
    undecided: int = 0
    """The number of measured trials whose checks do not decide whether they succeeded."""
    finished: int = 0
    limit_reached: int = 0
    agent_failed: int = 0
    inconclusive: int = 0
    simulator_failed: int = 0
    harness_failed: int = 0
    not_run: int = 0
    left_out: int = 0
    """Planned trials that a sequential test showed not to be needed (`--stop-early`); they are not missing."""

    @property
    def measured(self) -> int:
        """The number of trials in the denominators."""
        return self.finished + self.limit_reached + self.agent_failed

    @property
    def unmeasured(self) -> int:
        """Planned, not left out, and not measured."""
        return self.planned - self.left_out - self.measured


class Group(Frozen):
    """The trials of one category or difficulty."""

    name: str
    trials: int
    """On disk; those that were not measured included."""
    success: Rate
    figures: tuple[Figure, ...]

    def mean(self, metric: str) -> float | None:
        return next((figure.mean for figure in self.figures if figure.metric == metric), None)


class Unmeasured(Frozen):
    """A trial that is excluded from all denominators."""

    case_id: str
    attempt: int
    outcome: str
    reason: str | None
    last_lines: dict[str, str] = {}
    """Service -> the last line that it printed, where the harness failed for a service."""
    printed: tuple[PrintedEnd, ...] = ()
    """What the agent's program printed last."""


class FailedCase(Frozen):
    """A trial with a failed or undecided check."""

    case_id: str
    attempt: int
    category: str
    success: bool | None
    reasons: tuple[str, ...]
    printed: tuple[PrintedEnd, ...] = ()
    """What the agent's program printed last."""


class Summary(Frozen):
    """The summary of one run: what `harness run --json` and `harness report --format json` print."""

    manifest: RunManifest
    counts: Counts
    success: Rate
    figures: tuple[Figure, ...]
    run_scores: tuple[Score, ...] = ()
    categories: tuple[Group, ...]
    """In the order in which the suite brings them."""
    difficulties: tuple[Group, ...]
    """From easy to hard."""
    failed: tuple[FailedCase, ...]
    unmeasured: tuple[Unmeasured, ...]
    misses: tuple[MissedTool, ...] = ()
    tiers: dict[str, int] = {}
    fidelity: float | None = None
    """See Replay.fidelity, and so for the next three."""
    degraded: tuple[str, ...] = ()
    unfired_faults: tuple[str, ...] = ()
    unsaid_turns: tuple[str, ...] = ()
    self_reported_calls: int = 0
    """See Replay.self_reported_calls."""
    recorded: tuple[RecordedCassette, ...] = ()
    """What became of the cassettes; empty where nothing was recorded."""
    model_tiers: dict[str, int] = {}
    reused_once_recorded: int = 0
    """See Replay, and so for the next."""
    provenances: dict[str, int] = {}
    """See Replay.provenances."""
    model_use: ModelUse | None = None
    stopped: str | None = None
    """Why the run ended before its plan; None: it did not, or was killed."""
    reliability: tuple[Reliability, ...] = ()
    """pass@k and pass^k; empty where no case was tried twice."""
    sweep: Sweep | None = None
    """What the repeated trials say; None where no case was tried twice."""
    failure_modes: tuple[FailureMode, ...] = ()
    tools: tuple[ToolRow, ...] = ()
    models: tuple[ToolRow, ...] = ()
    """The same by the model that made the calls."""
    latency: Latency | None = None
    """None: nothing was answered by a real service."""
    judged: tuple[JudgedRubric, ...] = ()
    """By each rubric that the run was judged by."""
    seconds: dict[str, float] = {}
    """`<case>/<attempt>` -> how long the trial took, where that is known."""

    @property
    def crashed(self) -> bool:
        """Whether the agent's program failed in every trial that was measured, and none succeeded."""
        return 0 < self.counts.measured == self.counts.agent_failed and not self.success.successes

    def figure(self, metric: str) -> Figure | None:
        return next((figure for figure in self.figures if figure.metric == metric), None)


def summarise(
    manifest: RunManifest,
    scorecards: Sequence[Scorecard],
    *,
    run_scores: Sequence[Score] = (),
    trials: Iterable[Trial] = (),
    stopped: Stop | None = None,
    book: LatencyBook | None = None,
) -> Summary:
    """The figures of a run; `trials` are read one at a time, for replay figures, durations and printed output.

    `book` holds the durations after the trials have been read.
    """
    ordered = _in_planned_order(manifest, scorecards)
    decided, reason = stopped is not None and stopped.decided, None if stopped is None else stopped.reason
    parts = _parted((card.difficulty, card) for card in ordered)
    ends = LogEnds()
    replay = replay_of(ends.noting(trials))
    return Summary(
        manifest=manifest,
        counts=_counts(manifest, ordered, decided),
        success=_rate(ordered, 0 if decided else len(manifest.planned)),
        figures=_figures(ordered, with_interval=True),
        run_scores=tuple(run_scores),
        categories=_groups(_parted((card.category, card) for card in ordered)),
        difficulties=_groups({name: parts[name] for name in get_args(Difficulty) if name in parts}),
        failed=tuple(_failed(ordered, ends)),
        unmeasured=tuple(
            one for one in _unmeasured(manifest, ordered, reason, ends) if not (decided and one.outcome == "not_run")
        ),
        misses=replay.misses,
        tiers=replay.tiers,
        fidelity=replay.fidelity,
        degraded=replay.degraded,
        unfired_faults=replay.unfired_faults,
        unsaid_turns=replay.unsaid_turns,
        self_reported_calls=replay.self_reported_calls,
        recorded=replay.recorded,
        model_tiers=replay.model_tiers,
        reused_once_recorded=replay.reused_once_recorded,
        provenances=replay.provenances,
        model_use=replay.model_use,
        stopped=reason,
        reliability=reliability(ordered),
        sweep=sweep(ordered),
        failure_modes=failure_modes(ordered),
        tools=by_tool(ordered, {} if book is None else book.of_tools()),
        models=by_model(ordered),
        latency=None if book is None else book.of_run(),
        seconds=ends.seconds,
    )


@gc_paused()
def summarise_run(folder: RunFolder) -> Summary:
    """The figures of a stored run."""
    book = LatencyBook(folder.manifest)
    return summarise(
        folder.manifest,
        folder.scorecards(),
        run_scores=folder.run_scores(),
        trials=_read(folder, book),
        stopped=stop_of(folder),
        book=book,
    ).model_copy(update={"judged": judged_run(folder)})


def _read(folder: RunFolder, book: LatencyBook) -> Iterator[Trial]:
    for stored in folder.trials():
        book.add(stored)
        yield stored.trial


def _in_planned_order(manifest: RunManifest, cards: Sequence[Scorecard]) -> list[Scorecard]:
    places = {(one.case_id, one.attempt): place for place, one in enumerate(manifest.planned)}
    return sorted(
        cards, key=lambda card: (places.get((card.case_id, card.attempt), len(places)), card.case_id, card.attempt)
    )


def _counts(manifest: RunManifest, cards: Sequence[Scorecard], decided: bool) -> Counts:
    outcomes: dict[str, int] = Counter(str(card.outcome) for card in cards)
    planned = max(len(manifest.planned), len(cards))
    undecided = sum(card.undecided for card in cards)
    missing = {"left_out" if decided else "not_run": planned - len(cards)}
    return Counts(planned=planned, undecided=undecided, **missing, **outcomes)


def _rate(cards: Sequence[Scorecard], planned: int = 0) -> Rate:
    known = _parted((card.case_id, float(card.success)) for card in cards if card.success is not None)
    values = [value for each in known.values() for value in each]
    unknown = max(planned, len(cards)) - len(values)
    if not values:
        return Rate(successes=0, n=0, rate=None, interval=None, unknown=unknown)
    successes = int(sum(values))
    share = successes / len(values)
    return Rate(
        successes=successes, n=len(values), rate=share, interval=wilson(share, effective_n(known)), unknown=unknown
    )


def _figures(cards: Sequence[Scorecard], *, with_interval: bool) -> tuple[Figure, ...]:
    names = {score.metric: score.lower_is_better for card in cards for score in card.scores}
    measured = [card for card in cards if card.outcome in MEASURED]
    table = [(card, {score.metric: score.value for score in reversed(card.scores)}) for card in measured]
    return tuple(
        _figure(name, [(card, row.get(name)) for card, row in table], with_interval).model_copy(
            update={"lower_is_better": lower}
        )
        for name, lower in names.items()
    )


def _figure(metric: str, found: Sequence[tuple[Scorecard, float | None]], with_interval: bool) -> Figure:
    known = _parted((card.case_id, value) for card, value in found if value is not None)
    values = [value for each in known.values() for value in each]
    mean = math.fsum(values) / len(values) if values else None
    return Figure(
        metric=metric, n=len(values), mean=mean, interval=bootstrap(known) if with_interval and values else None
    )


def _groups(parts: Mapping[str, Sequence[Scorecard]]) -> tuple[Group, ...]:
    return tuple(
        Group(name=name, trials=len(own), success=_rate(own), figures=_figures(own, with_interval=False))
        for name, own in parts.items()
    )


def _parted(named: Iterable[tuple[str, Part]]) -> dict[str, list[Part]]:
    found: dict[str, list[Part]] = {}
    for name, part in named:
        found.setdefault(name, []).append(part)
    return found


def _failed(cards: Sequence[Scorecard], ends: LogEnds) -> Iterator[FailedCase]:
    for card in cards:
        if card.outcome in MEASURED and card.success is not True:
            reasons = [f"{one.check}: {one.reason}" for one in card.verdicts if one.passed is not True]
            if card.outcome != "finished":
                reasons.insert(0, f"{card.outcome}: {card.reason or 'no reason given'}")
            yield FailedCase(
                case_id=card.case_id,
                attempt=card.attempt,
                category=card.category,
                success=card.success,
                reasons=tuple(reasons) or ("the case has no check",),
                printed=ends.printed(card),
            )


def _unmeasured(
    manifest: RunManifest, cards: Sequence[Scorecard], stopped: str | None, ends: LogEnds
) -> Iterator[Unmeasured]:
    there = {(card.case_id, card.attempt): card for card in cards}
    for one in manifest.planned:
        card = there.get((one.case_id, one.attempt))
        if card is None:
            yield Unmeasured(case_id=one.case_id, attempt=one.attempt, outcome="not_run", reason=stopped)
        elif card.outcome not in MEASURED:
            yield Unmeasured(
                case_id=one.case_id,
                attempt=one.attempt,
                outcome=card.outcome,
                reason=card.reason,
                last_lines=ends.of(card),
                printed=ends.printed(card),
            )
