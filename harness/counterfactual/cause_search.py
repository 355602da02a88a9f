"""The search for a cause: candidates are tried in forks, the earliest first, and what is found is confirmed.

Each candidate is tried in a fork: the calls before it are fed as they were, the change is made, and the agent goes on.
The earliest change after which every check passes is the cause. Where no single one does and all together do, the
smallest set that does is searched by delta debugging. The unchanged trial is run beside it as a control.
"""

from collections.abc import Sequence

from harness.case import TrialVariant
from harness.counterfactual.blame_answer import Blame, BlamedCause, BlameRequest, CandidateChange
from harness.counterfactual.delta import smallest
from harness.counterfactual.repairs import Repair, merged, repairs
from harness.counterfactual.subject import StoredSubject
from harness.pipeline import VariantBench, VariantRequest, VariantResult
from harness.score import fed_calls
from harness.stats import wilson


class CauseSearch:
    """The search for the cause of one failed trial, on an open bench."""

    def __init__(self, subject: StoredSubject, request: BlameRequest, bench: VariantBench) -> None:
        self._subject = subject
        self._request = request
        self._bench = bench
        self._calls = fed_calls(subject.trial)
        self._tried: dict[int, VariantResult] = {}
        self._left = request.budget - request.confirming
        """Trials that the search may still run; those that confirm a cause are set apart."""
        self._mended: VariantResult | None = None
        self._spent = 0
        self._sets: dict[tuple[int, ...], VariantResult] = {}
        """What came of each set of changes that was tried, by identity."""
        self._untried_sets = 0

    def run(self) -> Blame:
        found = repairs(self._subject, self._request.passing)
        cause, reason = self._cause(found)
        return Blame(
            trial=self._subject.name,
            tools="replay",
            basis=self._basis(found),
            cause=cause,
            reason=reason,
            candidates=tuple(self._shown(number, one) for number, one in enumerate(found)),
            guesses=self._subject.guesses,
            trials=self._spent,
            symptom=_symptom(self._subject),
        )

    def kept(self, name: str | None) -> str | None:
        """Stores the fork that succeeds."""
        if self._mended is None:
            return None
        folder = self._bench.keep([self._mended], name)
        return f"{folder.path.parent.name}/{folder.path.name}"

    def _cause(self, found: Sequence[Repair]) -> tuple[BlamedCause | None, str | None]:
        if not found:
            return None, _nothing_to_try(self._subject, self._request)
        # Where a passing trial is known, its calls tell the place of a difference; a reference does only in part.
        near = [number for number, one in enumerate(found) if one.origin != "reference"]
        single = self._earliest(found, near)
        asked = near
        if single is None:
            asked = [number for number in range(len(found)) if number not in near]
            single = self._earliest(found, asked)
        if single is not None:
            cause = self._confirmed([found[single]], self._tried[single])
            # Of the candidates that were asked for: others are not tried where a passing trial tells the place.
            left = (number for number in asked if number < single and number not in self._tried)
            earlier = sorted({found[number].step for number in left})
            return self._unless_chance(cause.model_copy(update={"untried_earlier": tuple(earlier)}))
        joined = _joined(found)
        if len(joined) > 1 and self._left:
            self._sets |= {(id(found[number]),): one for number, one in self._tried.items()}
            if self._hold([joined])[0]:
                least = list(smallest(joined, self._hold, at_once=self._bench.jobs))
                cause = self._confirmed(least, self._sets[_key(least)])
                return self._unless_chance(cause.model_copy(update={"untried_sets": self._untried_sets}))
        return None, self._why_none(found)

    def _earliest(self, found: Sequence[Repair], numbers: list[int]) -> int | None:
        """The number of the earliest of these changes that succeeds alone, as far as the budget goes."""
        order = self._order(found, numbers)
        side_by_side = self._bench.jobs
        for start in range(0, len(order), side_by_side):
            chunk = order[start : start + side_by_side][: self._left]
            if not chunk:
                break
            results = self._try([[found[number]] for number in chunk])
            self._tried.update(zip(chunk, results, strict=True))
            if order == sorted(order) and any(one.success for one in results):
                break  # all earlier ones were tried
        return next((n for n in numbers if n in self._tried and self._tried[n].success), None)

    def _order(self, found: Sequence[Repair], numbers: list[int]) -> list[int]:
        """All from the front where the budget is enough, else those at the detectors' steps first."""
        if len(found) + 1 <= self._request.budget - self._request.confirming:
            return numbers
        guesses = set(self._subject.guesses)
        return sorted(numbers, key=lambda number: (found[number].step not in guesses, number))

    def _hold(self, candidates: Sequence[Sequence[Repair]]) -> list[bool]:
        """Whether the trial succeeds with each set; a set that the budget leaves untried counts as one that fails."""
        keys = [_key(one) for one in candidates]
        new = {key: list(one) for key, one in zip(keys, candidates, strict=True) if one and key not in self._sets}
        tried = list(new)[: self._left]
        self._untried_sets += len(new) - len(tried)
        self._sets.update(zip(tried, self._try([new[key] for key in tried]), strict=True))
        return [key in self._sets and bool(self._sets[key].success) for key in keys]

    def _try(self, sets: Sequence[Sequence[Repair]]) -> list[VariantResult]:
        self._spent += len(sets)
        self._left -= len(sets)
        return self._bench.run([self._request_of(one) for one in sets])

    def _request_of(self, chosen: Sequence[Repair]) -> VariantRequest:
        subject = self._subject
        first = min((one.at for one in chosen), default=0)
        lifted = any(one.intervention.lifts_faults for one in chosen)
        layers = (*subject.interventions, *((merged(chosen),) if chosen else ()))
        # Without its faults, a trial is another one from their first call on: nothing before it needs to be fed.
        fed = () if lifted else self._calls[:first]
        return VariantRequest(
            case=subject.case, variant=TrialVariant(parent=subject.name, interventions=layers, fed=fed)
        )

    def _confirmed(self, chosen: list[Repair], first: VariantResult) -> BlamedCause:
        """The change and no change, tried again."""
        more = self._request.repeats - 1
        again = [self._request_of(chosen)] * more
        control = [self._request_of([])] * (self._request.repeats if more else 0)
        results = self._bench.run([*again, *control])
        self._spent += len(results)
        mended = [first, *results[:more]]
        self._mended = first
        good = sum(bool(one.success) for one in mended)
        by_chance = sum(bool(one.success) for one in results[more:])
        interval = wilson(good / len(mended), len(mended))
        low = 0.0 if interval is None else interval.low
        share = 1 - by_chance / len(control) if control else 1.0
        return BlamedCause(
            steps=tuple(sorted({one.step for one in chosen})),
            kinds=tuple(_kind(one) for one in chosen),
            words="; ".join(one.intervention.words for one in chosen),
            mended=good,
            repeats=len(mended),
            unchanged_successes=by_chance,
            confidence=round(low * share, 3),
        )

    def _unless_chance(self, cause: BlamedCause) -> tuple[BlamedCause | None, str | None]:
        """No cause where the trial succeeds as often without the change."""
        if cause.repeats == 1 or cause.unchanged_successes < cause.mended:
            return cause, None
        self._mended = None
        return None, (
            f"the trial succeeds in {cause.unchanged_successes} of {cause.repeats} repeats without a change, and in"
            f" {cause.mended} with the change at step {cause.steps[0]}: chance explains it"
        )

    def _shown(self, number: int, one: Repair) -> CandidateChange:
        tried = self._tried.get(number)
        return CandidateChange(
            step=one.step,
            origin=one.origin,
            kind=_kind(one),
            words=one.intervention.words,
            outcome="not_tried" if tried is None else tried.scored.trial.outcome,
            success=None if tried is None else tried.success,
        )

    def _basis(self, found: Sequence[Repair]) -> tuple[str, ...]:
        return tuple(sorted({one.origin for one in found}))

    def _why_none(self, found: Sequence[Repair]) -> str:
        results = self._tried.values()
        unmeasured = [one for one in results if one.success is None]
        if unmeasured and len(unmeasured) == len(self._tried):
            trial = unmeasured[0].scored.trial
            return f"no change could be measured: {trial.outcome}: {trial.reason}"
        if len(self._tried) < len(found):
            return (
                f"the budget of {self._request.budget} trials, {self._request.confirming} of them to confirm a cause,"
                f" was spent when {len(self._tried)} of {len(found)} changes were tried"
            )
        joined = _joined(found)
        if len(joined) > 1 and _key(joined) not in self._sets:
            return f"none of {len(found)} changes makes it succeed; the budget left no trial to make several together"
        unknown = ""
        if unmeasured:
            trial = unmeasured[0].scored.trial
            unknown = f"; {len(unmeasured)} of them could not be measured ({trial.outcome}: {trial.reason})"
        if len(joined) < 2:
            return f"none of {len(found)} changes makes it succeed{unknown}"
        return f"none of {len(found)} changes, nor several together, makes it succeed{unknown}"


def _joined(found: Sequence[Repair]) -> list[Repair]:
    """The changes that sets are made of."""
    return [one for one in found if not one.is_alternative]


def _key(chosen: Sequence[Repair]) -> tuple[int, ...]:
    return tuple(id(repair) for repair in chosen)


def _kind(repair: Repair) -> str:
    return "faulty_answer" if repair.deviation is None else repair.deviation.kind


def _symptom(subject: StoredSubject) -> str:
    failed = [one for one in subject.card.verdicts if one.passed is False]
    if failed:
        return f"{failed[0].check}: {failed[0].reason}"
    return subject.card.reason or subject.card.outcome


def _nothing_to_try(subject: StoredSubject, request: BlameRequest) -> str:
    if subject.case.reference is None and request.passing is None:
        return (
            "the case has no reference and no trial of it is known to have passed, so only answers and faults could be"
            " tried, and the trial met no fault"
        )
    return "the trial's calls and its answer are the right ones: what failed is not what the agent did"
