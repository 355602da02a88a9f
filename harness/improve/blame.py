"""Cause by intervention: the earliest single change at one step that makes a failed trial succeed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from harness.errors import UsageError
from harness.improve.repairs import Repair, merged, repairs
from harness.improve.subject import StoredSubject, refuse_unforkable, tool_mode
from harness.runs.execution.variants import VariantBench, VariantRequest, VariantResult, open_variants
from harness.runs.plan.plan import RunOptions
from harness.runs.store.beside_trials import KeptCause, keep_cause
from harness.scoring.evidence import fed_calls
from harness.scoring.statistics.intervals import wilson
from harness.suite.interventions import TrialVariant
from harness.suite.models import ToolMode
from harness.traces.trial import Trial
from harness.values import Frozen

BUDGET = 40
"""Trials that are run at most, if no budget is set: those that search, and those that confirm."""


@dataclass(frozen=True, kw_only=True)
class BlameRequest:
    """How the cause is searched for."""

    options: RunOptions = field(default_factory=RunOptions)
    tools: ToolMode | None = None
    budget: int = BUDGET
    repeats: int = 3
    """How often the change that is found, and no change, are tried."""
    passing: Trial | None = None
    """A trial of the same case that succeeded; None: none is known."""
    name: str | None = None

    def __post_init__(self) -> None:
        least = self.confirming + 1
        if self.repeats < 1 or self.budget < least:
            raise UsageError(
                f"a budget of {self.budget} trials is not enough for {self.repeats} repeats: {self.confirming} confirm"
                " a cause, and at least one searches for it",
                remedy=f"--budget {least}, or more; or --repeats 1, which confirms nothing",
            )

    @property
    def confirming(self) -> int:
        """Trials that confirm a cause: the change again, and as many without a change as with it."""
        return 2 * self.repeats - 1 if self.repeats > 1 else 0


class CandidateChange(Frozen):
    """One change, and what came of it."""

    step: int
    origin: str
    kind: str
    words: str
    outcome: str
    """Of the trial; `not_tried` if the budget was spent."""
    success: bool | None = None


class BlamedCause(Frozen):
    """What made the trial fail, as far as interventions can tell."""

    steps: tuple[int, ...]
    """The steps that have to be changed; one for a single cause."""
    kinds: tuple[str, ...]
    words: str
    mended: int
    """Repeats in which the change made the trial succeed."""
    repeats: int
    unchanged_successes: int
    """Repeats without a change that succeeded: what chance alone does."""
    confidence: float
    """Lower end of the Wilson interval of the change's success, times the share of unchanged repeats that failed."""
    untried_earlier: tuple[int, ...] = ()
    """Steps before it with a change that was not tried: with any, an earlier cause is not excluded."""
    untried_sets: int = 0
    """Smaller sets that the budget left untried: with any, the set may be larger than needed."""


class Blame(Frozen):
    """The answer of `harness blame`."""

    trial: str
    tools: ToolMode
    basis: tuple[str, ...]
    """What the candidates come from."""
    cause: BlamedCause | None
    """None: no change that was tried makes the trial succeed; see `reason`."""
    reason: str | None = None
    candidates: tuple[CandidateChange, ...]
    guesses: tuple[int, ...]
    """The steps that the detectors name, which read the log and try nothing."""
    trials: int
    """Trials that were run."""
    run: str | None = None
    """The fork that succeeds, as other verbs take it."""
    symptom: str
    """How the failure shows: the first failed check."""


# Delta debugging: the smallest part of a list that still has a property (Zeller and Hildebrandt, 2002, `ddmin`).

Part = TypeVar("Part")
Holds = Callable[[Sequence[Sequence[Part]]], list[bool]]
"""Whether each of several candidate lists has the property; they may be tried side by side."""


def smallest(parts: Sequence[Part], holds: Holds[Part], at_once: int = 1) -> tuple[Part, ...]:
    """A 1-minimal sub-list that has the property, in the given order: no single part of it can be left out.

    `at_once`: how many candidates are asked for together; none is asked for after one that has the property. `parts`
    itself must have the property.
    """
    current, pieces = list(parts), 2
    if not current:
        return ()
    while True:
        chunks = _split(current, min(pieces, len(current)))
        kept = [chunk for chunk in chunks if len(chunk) < len(current)]
        rests = [[one for one in current if all(one is not other for other in chunk)] for chunk in kept]
        candidates = kept + (rests if len(chunks) > 2 else [])
        if len(current) == 1:
            candidates = [[]]
        found = _first_holding(candidates, holds, at_once)
        if found is not None:
            pieces = 2 if found in kept else max(pieces - 1, 2)
            current = found
            if not current:
                return ()
        elif pieces >= len(current):
            return tuple(current)
        else:
            pieces = min(len(current), pieces * 2)


def _first_holding(candidates: Sequence[list[Part]], holds: Holds[Part], at_once: int) -> list[Part] | None:
    """The first that has the property."""
    for start in range(0, len(candidates), at_once):
        chunk = candidates[start : start + at_once]
        found = next((one for one, answer in zip(chunk, holds(chunk), strict=True) if answer), None)
        if found is not None:
            return found
    return None


def _split(parts: list[Part], pieces: int) -> list[list[Part]]:
    size, more = divmod(len(parts), pieces)
    chunks, start = [], 0
    for number in range(pieces):
        end = start + size + (number < more)
        chunks.append(parts[start:end])
        start = end
    return [chunk for chunk in chunks if chunk]


# The search for a cause: candidates are tried in forks, the earliest first, and what is found is confirmed.
#
# Each candidate is tried in a fork: the calls before it are answered as they were, the change is made, and the agent
# goes on. The earliest change after which every check passes is the cause. If no single one does and all together do,
# the smallest set that does is searched by delta debugging. The unchanged trial is run beside it as a control.


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
            candidates=tuple(self._candidate_change(number, one) for number, one in enumerate(found)),
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
        # If a passing trial is known, its calls tell the place of a difference; a reference does only in part.
        near = [number for number, one in enumerate(found) if one.origin != "reference"]
        single = self._earliest(found, near)
        asked = near
        if single is None:
            asked = [number for number in range(len(found)) if number not in near]
            single = self._earliest(found, asked)
        if single is not None:
            cause = self._confirmed([found[single]], self._tried[single])
            # Of the candidates that were asked for: others are not tried if a passing trial tells the place.
            left = (number for number in asked if number < single and number not in self._tried)
            earlier = sorted({found[number].step for number in left})
            return self._unless_chance(cause.model_copy(update={"untried_earlier": tuple(earlier)}))
        joined = _repairs_in(found)
        if len(joined) > 1 and self._left:
            self._sets |= {(id(found[number]),): one for number, one in self._tried.items()}
            if self._successes([joined])[0]:
                least = list(smallest(joined, self._successes, at_once=self._bench.jobs))
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
        """All from the front if the budget is enough, else those at the detectors' steps first."""
        if len(found) + 1 <= self._request.budget - self._request.confirming:
            return numbers
        guesses = set(self._subject.guesses)
        return sorted(numbers, key=lambda number: (found[number].step not in guesses, number))

    def _successes(self, candidates: Sequence[Sequence[Repair]]) -> list[bool]:
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
            kinds=tuple(_kind_of(one) for one in chosen),
            words="; ".join(one.intervention.words for one in chosen),
            mended=good,
            repeats=len(mended),
            unchanged_successes=by_chance,
            confidence=round(low * share, 3),
        )

    def _unless_chance(self, cause: BlamedCause) -> tuple[BlamedCause | None, str | None]:
        """No cause if the trial succeeds as often without the change."""
        if cause.repeats == 1 or cause.unchanged_successes < cause.mended:
            return cause, None
        self._mended = None
        return None, (
            f"the trial succeeds in {cause.unchanged_successes} of {cause.repeats} repeats without a change, and in"
            f" {cause.mended} with the change at step {cause.steps[0]}: chance explains it"
        )

    def _candidate_change(self, number: int, one: Repair) -> CandidateChange:
        tried = self._tried.get(number)
        return CandidateChange(
            step=one.step,
            origin=one.origin,
            kind=_kind_of(one),
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
        joined = _repairs_in(found)
        if len(joined) > 1 and _key(joined) not in self._sets:
            return f"none of {len(found)} changes makes it succeed; the budget left no trial to make several together"
        unknown = ""
        if unmeasured:
            trial = unmeasured[0].scored.trial
            unknown = f"; {len(unmeasured)} of them could not be measured ({trial.outcome}: {trial.reason})"
        if len(joined) < 2:
            return f"none of {len(found)} changes makes it succeed{unknown}"
        return f"none of {len(found)} changes, nor several together, makes it succeed{unknown}"


def _repairs_in(found: Sequence[Repair]) -> list[Repair]:
    """The changes that sets are made of."""
    return [one for one in found if not one.is_alternative]


def _key(chosen: Sequence[Repair]) -> tuple[int, ...]:
    return tuple(id(repair) for repair in chosen)


def _kind_of(repair: Repair) -> str:
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


def blame(subject: StoredSubject, request: BlameRequest, say: Callable[[str], None] = lambda _: None) -> Blame:
    """Searches for the cause. Raises UsageError, before anything starts, for a trial that cannot be tried again."""
    if subject.card.success is not False and subject.card.outcome == "finished":
        raise UsageError(
            f"trial {subject.name} did not fail, so there is nothing to blame",
            remedy=f"trials that failed: harness report {subject.manifest.run}",
        )
    mode = tool_mode(subject, request.tools)
    refuse_unforkable(subject.project, subject, mode, say=say)
    plan = subject.plan(request.options.model_copy(update={"tools": mode}))
    with open_variants(plan, say) as bench:
        search = CauseSearch(subject, request, bench)
        found = search.run().model_copy(update={"tools": mode})
        found = found.model_copy(update={"run": search.kept(request.name)})
    _store_cause(subject, found)
    return found


def _store_cause(subject: StoredSubject, found: Blame) -> None:
    """Keeps the cause beside the trial, for `harness explain` and the reports of its run."""
    trial, cause = subject.trial, found.cause
    kept = None
    if cause is not None:
        kept = KeptCause(
            case_id=trial.case_id,
            attempt=trial.attempt,
            symptom=found.symptom,
            steps=cause.steps,
            kinds=cause.kinds,
            words=cause.words,
            mended=cause.mended,
            repeats=cause.repeats,
            confidence=cause.confidence,
            fork=found.run,
        )
    keep_cause(subject.folder, trial.case_id, trial.attempt, kept)
