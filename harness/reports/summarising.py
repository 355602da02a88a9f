"""Computes the summary of a run from its scorecards."""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from harness.reports.durations import LatencyCollector, LogEnds
from harness.reports.figures import (
    broken_rules,
    by_model,
    by_tool,
    failed_code,
    failure_modes,
    failure_reasons,
    reliability,
    unsteady,
)
from harness.reports.judged_figures import JudgedRubric
from harness.reports.replay import replay_of
from harness.reports.summary import Counts, FailedCase, Figure, Rate, Retried, Summary, TrialGroup, Unmeasured
from harness.runs.store.beside_trials import Stop, stop_of
from harness.runs.store.folder import RunFolder, gc_paused
from harness.runs.store.judgements import judged_rubrics
from harness.runs.store.manifest import RunManifest
from harness.scoring.scorecard import Scorecard
from harness.scoring.statistics.intervals import bootstrap, effective_n, wilson
from harness.traces.outcomes import MEASURED
from harness.traces.trial import Trial

Part = TypeVar("Part")


def summarise(
    manifest: RunManifest,
    scorecards: Sequence[Scorecard],
    *,
    trials: Iterable[Trial] = (),
    stopped: Stop | None = None,
    latencies: LatencyCollector | None = None,
) -> Summary:
    """The figures of a run; `trials` are read one at a time, for replay figures, durations and printed output.

    `latencies` holds the durations after the trials have been read.
    """
    ordered = _in_planned_order(manifest, scorecards)
    reason = None if stopped is None else stopped.reason
    ends = LogEnds({(card.case_id, card.attempt) for card in ordered if card.success is True})
    replay = replay_of(ends.noting(trials))
    return Summary(
        manifest=manifest,
        counts=_counts(manifest, ordered),
        success=_rate(ordered, len(manifest.planned)),
        figures=_figures(ordered, with_interval=True),
        categories=_groups(_parted((card.category, card) for card in ordered)),
        failed=tuple(_failed(ordered, ends)),
        unmeasured=tuple(_unmeasured(manifest, ordered, reason, ends)),
        **dict(replay),
        stopped=reason,
        reliability=reliability(ordered),
        unsteady=unsteady(ordered),
        failed_code=failed_code(ordered),
        failure_modes=failure_modes(ordered),
        broken_rules=broken_rules(ordered),
        tools=by_tool(ordered, {} if latencies is None else latencies.of_tools()),
        models=by_model(ordered),
        latency=None if latencies is None else latencies.of_run(),
        seconds=ends.seconds,
    )


@gc_paused()
def summarise_run(folder: RunFolder) -> Summary:
    """The figures of a stored run."""
    latencies = LatencyCollector(folder.manifest)
    summary = summarise(
        folder.manifest,
        folder.cards(),
        trials=_read(folder, latencies),
        stopped=stop_of(folder),
        latencies=latencies,
    )
    retried = tuple(
        Retried(case_id=card.case_id, attempt=card.attempt, reason=card.reason) for card in folder.earlier_tries()
    )
    return summary.model_copy(update={"judged": _judged(folder), "retried": retried})


def _judged(folder: RunFolder) -> tuple[JudgedRubric, ...]:
    """By every rubric that the run was judged by."""
    if not judged_rubrics(folder.path):
        return ()
    from harness.reports.judged import judged_run  # most runs have no judge

    return judged_run(folder)


def _read(folder: RunFolder, latencies: LatencyCollector) -> Iterator[Trial]:
    for stored in folder.trials():
        latencies.add(stored)
        yield stored.trial


def _in_planned_order(manifest: RunManifest, cards: Sequence[Scorecard]) -> list[Scorecard]:
    places = {(one.case_id, one.attempt): place for place, one in enumerate(manifest.planned)}
    return sorted(
        cards, key=lambda card: (places.get((card.case_id, card.attempt), len(places)), card.case_id, card.attempt)
    )


def _counts(manifest: RunManifest, cards: Sequence[Scorecard]) -> Counts:
    outcomes: dict[str, int] = Counter(str(card.outcome) for card in cards)
    planned = max(len(manifest.planned), len(cards))
    undecided = sum(card.undecided for card in cards)
    missing = planned - len(cards)
    doubtful = sum(card.may_hide_failure for card in cards) + missing
    return Counts(planned=planned, undecided=undecided, held_against=doubtful, not_run=missing, **outcomes)


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


def _groups(parts: Mapping[str, Sequence[Scorecard]]) -> tuple[TrialGroup, ...]:
    return tuple(
        TrialGroup(name=name, trials=len(own), success=_rate(own), figures=_figures(own, with_interval=False))
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
            yield FailedCase(
                case_id=card.case_id,
                attempt=card.attempt,
                category=card.category,
                success=card.success,
                crashed=card.outcome == "agent_failed",
                reasons=failure_reasons(card),
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
