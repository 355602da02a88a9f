"""The sequential test that ends a run early: `--stop-early`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from harness.runs.plan.plan import RunPlan
from harness.runs.store.beside_trials import Stop
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import PlannedTrial
from harness.scoring.scorecard import Scorecard
from harness.scoring.statistics.intervals import Interval
from harness.scoring.statistics.significance import confidence_sequence
from harness.traces.outcomes import MEASURED

WIDTH = 0.1
"""Without a floor for the success rate, a run ends when the bounds are at most this far apart."""


@dataclass
class EarlyStop:
    """Evaluates the run after each round, which is one attempt at every case of the plan.

    The bounds are those of `confidence_sequence`: they are valid for all evaluations together, for the mean success
    probability of these cases. Only complete rounds count, so that each case weighs the same. A measured trial whose
    success is unknown counts as failed; a trial that was not measured leaves its round uncounted.
    """

    planned: Sequence[PlannedTrial]
    floor: float | None
    """The required success rate; None: the width of the interval decides."""
    _cards: dict[tuple[str, int], Scorecard] = field(default_factory=dict)
    _rounds: int = 0
    reached: Stop | None = None
    """The reason why the run ended; None: it continues."""

    def order(self, missing: Iterable[PlannedTrial]) -> list[PlannedTrial]:
        """Round by round; within a round, as it was."""
        return sorted(missing, key=lambda one: one.attempt)

    def note(self, card: Scorecard) -> None:
        """Records a finished trial; evaluates the test if it completes a round."""
        self._cards[(card.case_id, card.attempt)] = card
        attempts = sorted({one.attempt for one in self.planned})
        while self._rounds < len(attempts) and self._is_complete(attempts[self._rounds]):
            self._rounds += 1
            self._examine(attempts[: self._rounds], last=self._rounds == len(attempts))

    def _is_complete(self, attempt: int) -> bool:
        return all((one.case_id, one.attempt) in self._cards for one in self.planned if one.attempt == attempt)

    def _examine(self, attempts: Sequence[int], *, last: bool) -> None:
        rounds = [[card for card in self._cards.values() if card.attempt == attempt] for attempt in attempts]
        counted = [card for cards in rounds if all(card.outcome in MEASURED for card in cards) for card in cards]
        successes = sum(card.success is True for card in counted)
        bounds = confidence_sequence(successes, len(counted))
        if self.reached is None and not last and self._decides(bounds):
            words = (
                f"success is {successes} of {len(counted)} after {len(attempts)} rounds, between {bounds.low:.3f} and "
                f"{bounds.high:.3f} with 95 % confidence over all evaluations{self._reason_text(bounds)}"
            )
            self.reached = Stop(reason=words, decided=True)

    def _decides(self, bounds: Interval) -> bool:
        if self.floor is None:
            return bounds.high - bounds.low <= WIDTH
        return bounds.low >= self.floor or bounds.high < self.floor

    def _reason_text(self, bounds: Interval) -> str:
        if self.floor is None:
            return f": at most {WIDTH:g} apart"
        return f": {'at least' if bounds.low >= self.floor else 'below'} {self.floor:g}"


def stop_rule(plan: RunPlan, folder: RunFolder) -> EarlyStop | None:
    """What ends the run early; None if the plan does not ask for it. The finished trials of an earlier part of the run
    are noted; those that the harness could not run are made again.
    """
    if plan.early is None:
        return None
    rule = EarlyStop(planned=folder.manifest.planned, floor=plan.early.floor)
    finished = folder.finished()
    for card in folder.cards():
        if (card.case_id, card.attempt) in finished:
            rule.note(card)
    return rule
