"""Cause by intervention: the earliest single change at one step that makes a failed trial succeed."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations, islice
from typing import TypeVar

from harness.errors import UsageError
from harness.improve.repairs import Repair, merged, repairs
from harness.improve.subject import StoredSubject, refuse_unforkable, tool_mode
from harness.runs.execution.variants import VariantBench, VariantRequest, VariantResult, open_variants
from harness.runs.plan.plan import RunOptions
from harness.runs.store.beside_trials import KeptCause, keep_cause
from harness.scoring.evidence import fed_calls
from harness.scoring.statistics.significance import LEVEL, fisher_greater
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
    """How often the change that is found is tried again, and how often no change; 1: neither is, and nothing is
    confirmed.
    """
    confidence: float = 1 - LEVEL
    """1 minus the level of Fisher's exact one-sided test that a confirmed cause passes."""
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
        enough = repeats_that_beat_chance(0.0, self.confidence)
        if self.repeats > 1 and (enough is None or self.repeats < enough):
            raise UsageError(
                f"{self.repeats} repeats cannot tell a cause from chance with a confidence of {self.confidence:g}",
                remedy=f"--repeats {enough or _MOST_REPEATS}, or more; or --repeats 1, which confirms nothing",
            )

    @property
    def confirming(self) -> int:
        """Trials that confirm a cause: as many with the change as without."""
        return 2 * self.repeats if self.repeats > 1 else 0


_MOST_REPEATS = 100


def repeats_that_beat_chance(share: float, confidence: float) -> int | None:
    """The fewest repeats, all of which succeed, that are told from as many without a change of which this share
    succeeds; None: more than 100.
    """
    for number in range(2, _MOST_REPEATS + 1):
        by_chance = math.ceil(share * number)
        if beats_chance(fisher_greater(number, 0, by_chance, number - by_chance), confidence):
            return number
    return None


def beats_chance(p: float, confidence: float) -> bool:
    """Whether a test of that p-value rejects chance."""
    return p <= 1 - confidence + 1e-12  # 1 - 0.9 is a little less than 0.1


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
    """Fresh repeats in which the change made the trial succeed; the trial that found the change is not among them."""
    repeats: int
    """Fresh repeats with the change that could be measured; 0: none was asked for, and the cause is not confirmed."""
    unchanged_successes: int
    """Repeats without a change that succeeded: what chance alone does."""
    unchanged_repeats: int
    p_value: float | None
    """Of Fisher's exact one-sided test that the change does not raise the share of successes; None: not confirmed."""
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
    """None: no change that was tried makes the trial succeed more often than chance; see `reason`."""
    reason: str | None = None
    candidates: tuple[CandidateChange, ...]
    guesses: tuple[int, ...]
    """The steps that the detectors name, which read the log and try nothing."""
    trials: int
    """Trials that were run."""
    sets: int
    """Sets of several changes that were tried."""
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
# goes on. The unchanged trial is tried first: what succeeds by itself is told from a cause by more repeats, if at all.
# The earliest change after which every check passes is the cause. If no single one does, sets are tried by halving, and
# the one that does is made as small as it can be. What replaces the final answer repairs whatever reads nothing else:
# it counts only if nothing else does.


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
        self._in_a_row = 1
        """Successes in a row that a change has to show before it is confirmed: more if the unchanged trial has some."""
        self._unchanged: list[bool] = []
        """What came of the repeats without a change that could be measured."""
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
            basis=tuple(sorted({one.origin for one in found})),
            cause=cause,
            reason=reason,
            candidates=tuple(self._candidate_change(number, one) for number, one in enumerate(found)),
            guesses=self._subject.guesses,
            trials=self._spent,
            sets=self._sets_tried,
            symptom=_symptom(self._subject),
        )

    def kept(self, name: str | None) -> str | None:
        """Stores the fork that succeeds."""
        if self._mended is None:
            return None
        folder = self._bench.keep([self._mended], name)
        return f"{folder.path.parent.name}/{folder.path.name}"

    @property
    def _sets_tried(self) -> int:
        return sum(len(key) > 1 for key in self._sets)

    def _cause(self, found: Sequence[Repair]) -> tuple[BlamedCause | None, str | None]:
        if not found:
            return None, _nothing_to_try(self._subject, self._request)
        by_itself = self._by_itself()
        if by_itself is not None:
            return None, by_itself
        acts = [number for number, one in enumerate(found) if not one.is_answer]
        answers = [number for number, one in enumerate(found) if one.is_answer]
        whole = len(found) + 1 <= self._left
        single = self._single(found, acts, self._left if whole else self._left - self._left // 3)
        if single is not None:
            return self._confirmed([found[single]], self._tried[single], self._before(found, acts, single))
        answer = self._single(found, answers, self._left)
        self._sets |= {(id(found[number]),): one for number, one in self._tried.items()}
        # A set with an answer that is enough by itself would show nothing.
        least = self._least_set([one for one in found if not (one.is_answer and answer is not None)])
        if least:
            return self._confirmed(least, self._sets[_key(least)])
        single = self._single(found, acts, self._left)
        chosen = answer if single is None else single
        if chosen is not None:
            return self._confirmed([found[chosen]], self._tried[chosen], self._before(found, acts, chosen))
        return None, self._why_none(found)

    def _by_itself(self) -> str | None:
        """Runs the unchanged trial again. Why no change can be told from chance; None: one can."""
        asked = self._request
        if asked.repeats == 1:
            return None
        self._spent += asked.repeats
        results = self._bench.run([self._request_of([])] * asked.repeats)
        self._unchanged = [one.success for one in results if one.success is not None]
        if not self._unchanged:
            trial = results[0].scored.trial
            return f"the unchanged trial could not be measured again: {trial.outcome}: {trial.reason}"
        share = sum(self._unchanged) / len(self._unchanged)
        if share == 1:
            return f"the trial succeeds in {asked.repeats} of {asked.repeats} repeats without a change"
        if not beats_chance(self._p_value([True] * asked.repeats), asked.confidence):
            enough = repeats_that_beat_chance(share, asked.confidence)
            remedy = "" if enough is None else f"; --repeats {enough} --budget {2 * enough + BUDGET} could"
            return (
                f"the trial succeeds in {sum(self._unchanged)} of {len(self._unchanged)} repeats without a change, from"
                f" which {asked.repeats} repeats with one cannot be told with a confidence of"
                f" {asked.confidence:g}{remedy}"
            )
        if share:
            self._in_a_row = math.ceil(math.log(1 - asked.confidence) / math.log(share))
        return None

    def _p_value(self, changed: Sequence[bool]) -> float:
        good, by_chance = sum(changed), sum(self._unchanged)
        return fisher_greater(good, len(changed) - good, by_chance, len(self._unchanged) - by_chance)

    def _single(self, found: Sequence[Repair], numbers: list[int], most: int) -> int | None:
        """The earliest of these changes that succeeds alone, within at most so many trials.

        If a passing trial is known, its calls tell the place of a difference; a reference does only in part.
        """
        end = self._left - most
        near = [number for number in numbers if found[number].origin != "reference"]
        for asked in (near, [number for number in numbers if number not in near]):
            order = [number for number in self._order(found, asked) if number not in self._tried]
            while order and self._left > end:
                chunk = order[: min(self._bench.jobs, self._left - end)]
                order = order[len(chunk) :]
                self._tried.update(zip(chunk, self._try([[found[number]] for number in chunk]), strict=True))
                if order == sorted(order) and any(self._tried[number].success for number in chunk):
                    break  # all earlier ones were tried
            single = next((n for n in asked if n in self._tried and self._tried[n].success), None)
            if single is not None:
                return single
        return None

    def _order(self, found: Sequence[Repair], numbers: list[int]) -> list[int]:
        """All from the front if the budget is enough, else those at the detectors' steps first."""
        if len(found) + 1 <= self._request.budget - self._request.confirming:
            return numbers
        guesses = set(self._subject.guesses)
        return sorted(numbers, key=lambda number: (found[number].step not in guesses, number))

    def _before(self, found: Sequence[Repair], numbers: list[int], single: int) -> tuple[int, ...]:
        """The steps of earlier changes that were not tried, of the kind that was asked for: others are not if a passing
        trial tells the place.
        """
        near = found[single].origin != "reference"
        left = (n for n in numbers if n < single and n not in self._tried)
        return tuple(sorted({found[n].step for n in left if (found[n].origin != "reference") == near}))

    def _least_set(self, found: Sequence[Repair]) -> list[Repair]:
        """A set of which no part can be left out, as far as the budget goes; empty: none was found."""
        candidates = self._candidate_sets(found)
        while self._left and (chunk := list(islice(candidates, min(self._bench.jobs, self._left)))):
            for one, holds in zip(chunk, self._successes(chunk), strict=True):
                if holds:
                    acts = [part for part in one if not part.is_answer]
                    first = acts if 1 < len(acts) < len(one) and self._successes([acts])[0] else one
                    return list(smallest(first, self._successes, at_once=self._bench.jobs))
        return []

    def _candidate_sets(self, found: Sequence[Repair]) -> Iterator[list[Repair]]:
        """Sets of several changes, each once: two that mend all checks between them, all that mend some, those of one
        origin, all; then all without a part, and two parts together, of ever smaller parts.
        """
        seen = set(self._sets)
        for one in self._halved(found):
            if len(one) > 1 and _key(one) not in seen:
                seen.add(_key(one))
                yield one

    def _halved(self, found: Sequence[Repair]) -> Iterator[list[Repair]]:
        mended = {id(one): self._mended_checks(self._sets.get(_key([one]))) for one in found}
        pairs = [[one, other] for one, other in combinations(found, 2) if one.at != other.at]
        yield from (pair for pair in pairs if mended[id(pair[0])] | mended[id(pair[1])] == self._failed)
        # An alternative stands in the place of another change: it is tried in pairs alone.
        parts = [one for one in found if not one.is_alternative]
        yield [one for one in parts if mended[id(one)]]
        for origin in ("passing_trial", "reference"):
            yield [one for one in parts if one.origin in (origin, "fault")]
        yield parts
        pieces = 1
        while pieces < len(parts):
            pieces = min(2 * pieces, len(parts))
            chunks = _split(parts, pieces)
            yield from ([one for one in parts if one not in chunk] for chunk in chunks)
            yield from (one + other for one, other in combinations(chunks, 2))
        yield from pairs

    @cached_property
    def _failed(self) -> frozenset[str]:
        return frozenset(one.check for one in self._subject.card.verdicts if one.passed is not True)

    def _mended_checks(self, result: VariantResult | None) -> frozenset[str]:
        """The checks that failed in the trial and pass with the change; none if another one fails with it."""
        if result is None:
            return frozenset()
        failed = frozenset(one.check for one in result.scored.card.verdicts if one.passed is not True)
        return self._failed - failed if failed < self._failed else frozenset()

    def _successes(self, candidates: Sequence[Sequence[Repair]]) -> list[bool]:
        """Whether the trial succeeds with each set; a set that the budget leaves untried counts as one that fails."""
        keys = [_key(one) for one in candidates]
        new = {key: list(one) for key, one in zip(keys, candidates, strict=True) if one and key not in self._sets}
        tried = list(new)[: self._left]
        self._untried_sets += len(new) - len(tried)
        self._sets.update(zip(tried, self._try([new[key] for key in tried]), strict=True))
        return [key in self._sets and bool(self._sets[key].success) for key in keys]

    def _try(self, sets: Sequence[Sequence[Repair]]) -> list[VariantResult]:
        """What came of each set; of one that succeeds, of its last repeat, until it fails or is no longer doubted."""
        results = self._run(sets)
        for _ in range(self._in_a_row - 1):
            doubted = [number for number, one in enumerate(results) if one.success][: self._left]
            again = self._run([sets[number] for number in doubted])
            results = [dict(zip(doubted, again, strict=True)).get(number, one) for number, one in enumerate(results)]
        return results

    def _run(self, sets: Sequence[Sequence[Repair]]) -> list[VariantResult]:
        self._spent += len(sets)
        self._left -= len(sets)
        return self._bench.run([self._request_of(one) for one in sets]) if sets else []

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

    def _confirmed(
        self, chosen: list[Repair], first: VariantResult, untried: tuple[int, ...] = ()
    ) -> tuple[BlamedCause | None, str | None]:
        """The change tried again, afresh: what chose it proves nothing. No cause if chance explains the difference."""
        asked, p = self._request, None
        changed: list[bool] = []
        if asked.repeats > 1:
            self._spent += asked.repeats
            results = self._bench.run([self._request_of(chosen)] * asked.repeats)
            changed = [one.success for one in results if one.success is not None]
            p = self._p_value(changed)
        good, by_chance = sum(changed), sum(self._unchanged)
        words = "; ".join(one.intervention.words for one in chosen)
        if p is not None and not beats_chance(p, asked.confidence):
            return None, (
                f"with the change at step {chosen[0].step} ({words}) the trial succeeds in {good} of {len(changed)}"
                f" repeats, without in {by_chance} of {len(self._unchanged)}: chance explains it (p = {p:.2f})"
            )
        self._mended = first
        return BlamedCause(
            steps=tuple(sorted({one.step for one in chosen})),
            kinds=tuple(_kind_of(one) for one in chosen),
            words=words,
            mended=good,
            repeats=len(changed),
            unchanged_successes=by_chance,
            unchanged_repeats=len(self._unchanged),
            p_value=p,
            untried_earlier=untried,
            untried_sets=self._untried_sets if len(chosen) > 1 else 0,
        ), None

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

    def _why_none(self, found: Sequence[Repair]) -> str:
        results = self._tried.values()
        unmeasured = [one for one in results if one.success is None]
        if unmeasured and len(unmeasured) == len(self._tried):
            trial = unmeasured[0].scored.trial
            return f"no change could be measured: {trial.outcome}: {trial.reason}"
        unknown = ""
        if unmeasured:
            trial = unmeasured[0].scored.trial
            unknown = f"; {len(unmeasured)} of them could not be measured ({trial.outcome}: {trial.reason})"
        several = f", nor one of {self._sets_tried} sets of several" if self._sets_tried else ""
        spent = ""
        if not self._left:
            asked = self._request
            spent = f"; then the budget of {asked.budget} trials was spent, {asked.confirming} of which confirm a cause"
        return f"none of {len(self._tried)} of {len(found)} changes makes it succeed{several}{unknown}{spent}"


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
    refuse_unforkable(subject, mode, say=say)
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
    if cause is not None and cause.p_value is not None:
        kept = KeptCause(
            case_id=trial.case_id,
            attempt=trial.attempt,
            symptom=found.symptom,
            steps=cause.steps,
            kinds=cause.kinds,
            words=cause.words,
            mended=cause.mended,
            repeats=cause.repeats,
            p_value=cause.p_value,
            fork=found.run,
        )
    keep_cause(subject.folder, trial.case_id, trial.attempt, kept)
