"""`--stop-early`: a run ends when its success rate is known well enough, by a test that may be looked at often."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from harness.pipeline.plan import RunPlan
from harness.results import PlannedTrial
from harness.score import Scorecard
from harness.stats import Interval, confidence_sequence
from harness.trace import MEASURED

WIDTH = 0.1
"""Without a floor for the success rate, a run ends when the bounds are at most this far apart."""


def early_stop(plan: RunPlan, planned: Sequence[PlannedTrial], done: Iterable[Scorecard]) -> "EarlyStop | None":
    """What ends the run early; None where the plan does not ask for it. `done`: trials of an earlier part."""
    if plan.early is None:
        return None
    stop = EarlyStop(planned=planned, floor=plan.early.floor)
    for card in done:
        stop.note(card)
    return stop


@dataclass
class EarlyStop:
    """Looks at the run after each round, which is one attempt at every case of the plan.

    The bounds are those of `confidence_sequence`: they hold at all looks at once, for the mean success probability of
    these cases. Only complete rounds count, so that each case weighs the same. A measured trial whose success is
    unknown counts as failed; a trial that was not measured leaves its round uncounted.
    """

    planned: Sequence[PlannedTrial]
    floor: float | None
    """What the success rate has to reach; None: the width decides."""
    _cards: dict[tuple[str, int], Scorecard] = field(default_factory=dict)
    _rounds: int = 0
    reached: str | None = None
    """Why the run starts no further trial; None: it goes on."""

    def order(self, missing: Iterable[PlannedTrial]) -> list[PlannedTrial]:
        """Round by round; within a round, as it was."""
        return sorted(missing, key=lambda one: one.attempt)

    def note(self, card: Scorecard) -> None:
        """Notes a trial that has ended; looks where it completes a round."""
        self._cards[(card.case_id, card.attempt)] = card
        attempts = sorted({one.attempt for one in self.planned})
        while self._rounds < len(attempts) and self._is_complete(attempts[self._rounds]):
            self._rounds += 1
            self._look(attempts[: self._rounds], last=self._rounds == len(attempts))

    def _is_complete(self, attempt: int) -> bool:
        return all((one.case_id, one.attempt) in self._cards for one in self.planned if one.attempt == attempt)

    def _look(self, attempts: Sequence[int], *, last: bool) -> None:
        rounds = [[card for card in self._cards.values() if card.attempt == attempt] for attempt in attempts]
        counted = [card for cards in rounds if all(card.outcome in MEASURED for card in cards) for card in cards]
        successes = sum(card.success is True for card in counted)
        bounds = confidence_sequence(successes, len(counted))
        if self.reached is None and not last and self._decides(bounds):
            self.reached = (
                f"success is {successes} of {len(counted)} after {len(attempts)} rounds, between {bounds.low:.3f} and "
                f"{bounds.high:.3f} at every look with 95 % confidence{self._words(bounds)}"
            )

    def _decides(self, bounds: Interval) -> bool:
        if self.floor is None:
            return bounds.high - bounds.low <= WIDTH
        return bounds.low >= self.floor or bounds.high < self.floor

    def _words(self, bounds: Interval) -> str:
        if self.floor is None:
            return f": at most {WIDTH:g} apart"
        return f": {'at least' if bounds.low >= self.floor else 'below'} {self.floor:g}"
