"""`--trials auto`: allocates trials to the cases that add most information about the difference from a reference."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from harness.report import ReferenceTrials, counted_success, pair_words
from harness.results import PlannedTrial, Round, Stop, TrialKey
from harness.score import Scorecard
from harness.stats import PairTally, telling_pairs


def _not_kept(rounds: Sequence[Round]) -> None:
    """A store that keeps nothing, for runs that are not resumed."""
    del rounds


@dataclass
class AutoTrials:
    """Chooses the attempts of a run in rounds, and looks at the comparison after each.

    The first round is one attempt at every case; each further one has as many attempts, at the cases whose trials vary
    most in the pairs so far. An attempt is paired with the reference's attempt of the same number. A round is chosen by
    complete earlier rounds alone, never by the trials of its own pairs, those of the reference among them, nor by which
    trials end first: `PairTally.found` needs that. A resumed run therefore completes the rounds of its earlier parts
    before any further one is chosen; trials of an earlier part that are of no known round are never counted.
    """

    reference: ReferenceTrials
    chosen: list[Round] = field(default_factory=list)
    """All rounds, those of an earlier part of the run among them."""
    keep: Callable[[Sequence[Round]], None] = _not_kept
    """Stores the rounds; called before the first trial of a new round starts."""
    tally: PairTally = field(default_factory=PairTally)
    reached: Stop | None = None
    """The reason why the run ended; None: it continues."""
    _cards: dict[TrialKey, Scorecard] = field(default_factory=dict)
    _counted: int = 0
    """The number of counted rounds."""
    _seen: dict[str, tuple[int, int]] = field(default_factory=dict)
    """Case -> successes and failures of both agents in the pairs so far."""

    def order(self, missing: Iterable[PlannedTrial]) -> Iterator[PlannedTrial]:
        """The trials by rounds; a round is chosen when its first trial is requested."""
        waiting: dict[str, list[PlannedTrial]] = {}
        for one in sorted(missing, key=lambda one: one.attempt):
            waiting.setdefault(one.case_id, []).append(one)
        yield from self._unfinished(waiting)
        size = len(self.chosen[0]) if self.chosen else len(waiting)
        cases = [] if self.chosen else [case for case, own in waiting.items() if own[0].attempt == 1]
        while any(waiting.values()):
            if not cases:
                cases = telling_pairs(self._seen, {case: len(own) for case, own in waiting.items()}, size)
            found = [waiting[case].pop(0) for case in cases]
            self.chosen.append(tuple((one.case_id, one.attempt) for one in found))
            self.keep(self.chosen)
            yield from found
            cases = []

    def _unfinished(self, waiting: dict[str, list[PlannedTrial]]) -> Iterator[PlannedTrial]:
        """The missing trials of the rounds of an earlier part of the run; they are removed from `waiting`."""
        for case, attempt in [key for one in self.chosen for key in one]:
            for planned in [one for one in waiting.get(case, ()) if one.attempt == attempt]:
                waiting[case].remove(planned)
                yield planned

    def note(self, card: Scorecard) -> None:
        """Records a finished trial; evaluates the test if it completes a round."""
        self._cards[card.case_id, card.attempt] = card
        while self._counted < len(self.chosen) and all(key in self._cards for key in self.chosen[self._counted]):
            for key in self.chosen[self._counted]:
                self._count(key)
            self._counted += 1
            self._look()

    def _look(self) -> None:
        found = self.tally.found()
        if self.reached is None and found is not None:
            words = f"{pair_words(self.tally, self.reference.name, found)}, with 95 % confidence over all evaluations"
            self.reached = Stop(reason=words, decided=True, found=found)

    def _count(self, key: TrialKey) -> None:
        before, after = self.reference.successes.get(key), counted_success(self._cards[key])
        if before is not None and after is not None:
            self.tally = self.tally.with_pair(before, after)
            successes, failures = self._seen.get(key[0], (0, 0))
            self._seen[key[0]] = (successes + before + after, failures + 2 - before - after)
