"""The figures of one run for lists, counted from its scorecards."""

from collections import Counter
from collections.abc import Iterable

from harness.score import Scorecard
from harness.stats import Interval, effective_n, wilson
from harness.values import Frozen


class TrialLine(Frozen):
    """One trial as lists show it: what is left of its scorecard, which is many times larger."""

    case_id: str
    attempt: int
    category: str
    tags: tuple[str, ...] = ()
    outcome: str
    success: bool | None
    modes: tuple[str, ...] = ()
    why: str = ""
    """The first reason for which it did not succeed."""
    steps: float | None = None
    cost_usd: float | None = None


class RunFigures(Frozen):
    """The counts of one run; trials of unknown success stand in neither of the two counts."""

    planned: int
    done: int
    succeeded: int
    failed: int
    interval: Interval | None
    """Of the success rate, 95 %, over the effective number of observations."""
    cost_usd: float | None
    """None: no trial has a price."""
    modes: tuple[tuple[str, int], ...] = ()
    """Failure modes by the number of trials, the most frequent first."""

    @property
    def unknown(self) -> int:
        """Trials that have ended, of which it is not known whether they succeeded."""
        return self.done - self.succeeded - self.failed

    @property
    def rate(self) -> float | None:
        known = self.succeeded + self.failed
        return self.succeeded / known if known else None


_WHY = 300


def line_of(card: Scorecard) -> TrialLine:
    failing = next((f"{one.check}: {one.reason}" for one in card.verdicts if one.passed is not True), "")
    ended = card.reason or "" if card.outcome != "finished" else ""
    return TrialLine(
        case_id=card.case_id,
        attempt=card.attempt,
        category=card.category,
        tags=card.tags,
        outcome=card.outcome,
        success=card.success,
        modes=tuple(dict.fromkeys(one.failure for one in card.diagnoses)),
        why=(ended or failing)[:_WHY],
        steps=card.value("steps"),
        cost_usd=card.value("cost_usd"),
    )


def figures_of(planned: int, lines: Iterable[TrialLine]) -> RunFigures:
    """Counts the trials of a run, which may be in flight."""
    own = tuple(lines)
    known = [line for line in own if line.success is not None]
    hits: dict[str, list[bool]] = {}
    for line in known:
        hits.setdefault(line.case_id, []).append(bool(line.success))
    succeeded = sum(bool(line.success) for line in known)
    costs = [line.cost_usd for line in own if line.cost_usd is not None]
    modes = Counter(mode for line in own if line.success is not True for mode in line.modes)
    return RunFigures(
        planned=planned,
        done=len(own),
        succeeded=succeeded,
        failed=len(known) - succeeded,
        interval=_interval(succeeded, hits),
        cost_usd=sum(costs) if costs else None,
        modes=tuple(modes.most_common()),
    )


def _interval(succeeded: int, hits: dict[str, list[bool]]) -> Interval | None:
    n = sum(map(len, hits.values()))
    return wilson(succeeded / n, effective_n(hits)) if n else None
