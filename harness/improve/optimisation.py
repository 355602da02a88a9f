"""A whole optimisation: check, search by each optimiser at an equal share, choose, look at the held-out cases
once.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import zip_longest
from pathlib import Path

from harness.errors import UsageError
from harness.improve.acceptance import (
    AcceptanceRules,
    HeldOut,
    Noise,
    ValidationChoice,
    confirm,
    costs_too_much,
    least_cases,
    pick,
)
from harness.improve.candidates import Candidate, Component, candidate_of
from harness.improve.held_out import CaseSplit, cases_for, split_cases
from harness.improve.lineage import PRUNING, Lineage, WeightedObjective, mean_score, measured_pairs
from harness.improve.outcome import CurvePoint, Mode, OptimisationOutcome, OptimiserResult, Pruning
from harness.improve.reflector import ReflectionRequest
from harness.improve.rollouts import (
    CostEstimate,
    Rollout,
    RolloutCache,
    Rollouts,
    SpendingMeter,
    Use,
    mean_use,
    refuse_budget_below,
)
from harness.improve.search import OptimisationTask, Optimiser, QuotationCheck, Search, SearchOver, most_revisions
from harness.improve.sizing import (
    OptimisationSettings,
    RolloutDemand,
    few_revisions,
    minibatch_of,
    paid_revisions,
)
from harness.judging.calibration_questions import Reflector, proposed_text

# Leaves out what a picked candidate changes for nothing, before the held-out cases are looked at.
#
# A proposal often brings lines along that gain nothing. Groups of changed lines are reverted, halved if that costs
# score, on training and validation cases alone. What is left is what the held-out cases then confirm.

_NOTHING = 1e-9


@dataclass(frozen=True, eq=False)
class _Segment:
    """Lines that are in a text in use, and what a candidate has in their place; both are equal outside of changes."""

    file: str
    before: tuple[str, ...]
    after: tuple[str, ...]

    @property
    def words(self) -> Iterator[str]:
        yield from (f"{self.file}: -{line}" for line in self.before)
        yield from (f"{self.file}: +{line}" for line in self.after)


@dataclass(kw_only=True)
class _Pruner:
    """Looks for a smaller candidate than the pick whose scores on training and validation cases are no lower.

    Takes `most` rollouts at the highest, beside the pick's validation; what could not be tried by then stays.
    """

    search: Search
    picked: Candidate
    rules: AcceptanceRules
    most: int
    asked: int = 0
    out_of_rollouts: bool = False
    _kept: list[_Segment] = field(default_factory=list)
    """The changes that are not reverted."""
    _best: Candidate = field(init=False)
    _run: set[tuple[str, str]] = field(init=False)
    """Candidate and part whose rollouts are there: a set of its own, so that a resumed session counts the same."""

    def __post_init__(self) -> None:
        texts = self.search.start.texts
        self._layout = {file: list(_segments(file, texts[file], text)) for file, text in self.picked.texts.items()}
        self._changes = [one for segments in self._layout.values() for one in segments if one.before != one.after]
        self._kept, self._best = list(self._changes), self.picked
        self._run = {(self.picked.id, "validation")}

    def result(self) -> tuple[Candidate, Pruning]:
        """Tries all by validation, which is cheap, and the result by training; if that loses, each try by both."""
        if len(self._changes) > 1:
            self._reduce_all(("validation",), self.most - 2 * len(self._parts["training"]))
            if self._best != self.picked and not self._keeps_score(self._best, "training", self.most):
                self._kept, self._best, self.out_of_rollouts = list(self._changes), self.picked, False
                self._reduce_all(tuple(self._parts), self.most)
        told = Pruning(
            candidate=self._best.id,
            changes=len(self._changes),
            kept=len(self._kept),
            rollouts=self.asked,
            out_of_rollouts=self.out_of_rollouts,
        )
        return self._best, told

    def _reduce_all(self, parts: Sequence[str], most: int) -> None:
        for file in self._layout:
            self._reduce([one for one in self._changes if one.file == file], parts, most)

    def _reduce(self, group: Sequence[_Segment], parts: Sequence[str], most: int) -> None:
        """Reverts the whole group, or what can be reverted of each half."""
        if not group or self._dropped(group, parts, most) or len(group) == 1:
            return
        half = len(group) // 2
        self._reduce(group[:half], parts, most)
        self._reduce(group[half:], parts, most)

    def _dropped(self, group: Sequence[_Segment], parts: Sequence[str], most: int) -> bool:
        """Whether the candidate without the group is as good, which then takes the place of the best one."""
        left = [one for one in self._kept if one not in group]
        if not left:
            return False
        smaller, search = self._candidate_with(left), self.search
        if any(search.unusable(file, search.start.texts[file], text) for file, text in smaller.texts.items()):
            return False
        gone = [words for one in self._changes if one not in left for words in one.words]
        if not all(self._keeps_score(smaller, part, most, gone) for part in parts):
            return False
        self._kept, self._best = left, smaller
        return True

    def _keeps_score(self, smaller: Candidate, part: str, most: int, gone: Sequence[str] = ()) -> bool:
        """Whether the score of the pick is kept on these cases, and nothing is broken or dearer that was not. False
        if the rollouts that are missing are more than `most` leaves. `gone`: the changes that are left out, for the
        record of a new candidate.
        """
        task, cases = self.search.task, self._parts[part]
        new = {(one.id, part) for one in (self.picked, smaller)} - self._run
        if self.asked + len(new) * len(cases) > most:
            self.out_of_rollouts = True
            return False
        if gone:
            task.lineage.add(smaller, PRUNING, dropped=gone)
        self._run |= new
        self.asked += len(new) * len(cases)
        before, after = task.cache.rollouts(self.picked, cases), task.cache.rollouts(smaller, cases)
        task.lineage.scored(smaller, part, after)
        in_use = task.cache.rollouts(self.search.start, self._parts["validation"])
        dear = part == "validation" and costs_too_much(in_use, after, self.rules)
        return not (dear or _score_falls(task.objective, before, after) or task.objective.breaches(before, after))

    def _candidate_with(self, kept: Sequence[_Segment]) -> Candidate:
        texts = {
            file: "\n".join(line for one in segments for line in (one.after if one in kept else one.before))
            for file, segments in self._layout.items()
        }
        return candidate_of(texts, self.picked.id)

    @property
    def _parts(self) -> Mapping[str, Sequence[str]]:
        split = self.search.task.split
        return {"validation": split.validation, "training": split.train}


def _score_falls(objective: WeightedObjective, before: Sequence[Rollout], after: Sequence[Rollout]) -> bool:
    """Whether the mean score is lower, or a case that was measured is not."""
    pairs = measured_pairs(objective, before, after)
    if len(pairs) < sum(objective.score(one) is not None for one in before):
        return True
    moved = math.fsum((objective.score(now) or 0.0) - (objective.score(then) or 0.0) for then, now in pairs)
    return moved < -_NOTHING * len(pairs)


def _segments(file: str, old: str, new: str) -> Iterator[_Segment]:
    """Changed lines one by one, so that each can be reverted; an added empty line belongs to the one before it."""
    before, after = old.split("\n"), new.split("\n")
    for kind, a, b, c, d in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            yield _Segment(file, tuple(before[a:b]), tuple(before[a:b]))
            continue
        pairs: list[tuple[tuple[str, ...], tuple[str, ...]]] = []
        for was, becomes in zip_longest(before[a:b], after[c:d]):
            if pairs and was is None and not becomes.strip():
                pairs[-1] = (pairs[-1][0], (*pairs[-1][1], becomes))
            else:
                pairs.append((() if was is None else (was,), () if becomes is None else (becomes,)))
        yield from (_Segment(file, *pair) for pair in pairs)


MOST_POINTS = 8
"""Of a curve: each costs the held-out rollouts of one candidate."""


def points(search: Search) -> list[CurvePoint]:
    """The candidate that was the best on validation, each time it changed; the last ones if there are many."""
    found: list[CurvePoint] = []
    for name, asked in search.validated.items():
        score = search.score(search.candidates[name])
        if (not found or score > found[-1].validation) and search.may_be_parent(search.candidates[name]):
            found.append(CurvePoint(rollouts=asked, candidate=name, validation=score, held_out=None))
    return [found[0], *found[1:][-(MOST_POINTS - 1) :]] if found else []


@dataclass(frozen=True, kw_only=True)
class Optimisation:
    """What is optimised, by what."""

    suite: str
    mode: Mode
    component: str | None
    start: Candidate
    components: tuple[Component, ...]
    """Those whose texts are revised."""
    agent_components: tuple[Component, ...]
    cases: Mapping[str, Sequence[str]]
    """Case -> the texts in it, which no candidate may quote if it is measured by them."""
    objective: WeightedObjective
    rollouts: Rollouts | None
    """None: it is checked and estimated, and not run."""
    reflector: Reflector
    optimisers: Mapping[str, Optimiser]
    """The first one's pick is taken; the others are run beside it."""
    settings: OptimisationSettings = field(default_factory=OptimisationSettings)
    meter: SpendingMeter = field(default_factory=SpendingMeter)
    folder: Path | None = None
    known_use: Use = field(default_factory=Use)
    """What a rollout took in an earlier run, for the estimate."""
    demand: RolloutDemand = field(default_factory=RolloutDemand)
    """What a rollout and a revision use at least, known without any run."""
    looks_before: int = 0
    about_to_look: Callable[[CaseSplit], None] = lambda _: None
    """Called before the first held-out rollout, to record the look."""

    def estimate(self) -> CostEstimate:
        """The most that it may take."""
        split = split_cases(self.cases)
        settings, searches = self.settings, len(self.optimisers)
        noise = self._noise_rollouts(split)
        validated = settings.rollouts // len(split.validation)
        held_out = (1 + searches + min(validated, MOST_POINTS)) * len(split.held_out)
        pruning = settings.rollouts
        batch = min(self.minibatch, len(split.validation))
        texts = sum(len(component.texts) for component in self.components)
        count = len(self._read_in(split)) + noise + searches * settings.rollouts + pruning + held_out
        return CostEstimate(
            rollouts=count,
            reflections=1 + searches * most_revisions(settings.rollouts, batch, texts),
            usd=None if self.known_use.usd is None else count * self.known_use.usd,
            tokens=None if self.known_use.tokens is None else round(count * self.known_use.tokens),
            calls=None if self.known_use.calls is None else round(count * self.known_use.calls),
            minibatch=min(self.minibatch, len(split.train)),
            revisions=paid_revisions(settings.rollouts, split, self.minibatch),
            warning=few_revisions(settings.rollouts, split, self.minibatch, self.demand.revisions),
        )

    def check(self) -> CaseSplit:
        """Raises UsageError for what could not be determined, with the figure that would do; nothing is spent."""
        split = split_cases(self.cases)
        needed = least_cases(len(self.optimisers), self.looks_before)
        if len(split.held_out) < needed:
            raise UsageError(
                f"{len(self.cases)} cases leave {len(split.held_out)} held out; with {len(self.optimisers)} optimisers "
                f"and {self.looks_before} earlier looks at them, fewer than {needed} can confirm nothing",
                remedy=f"have at least {cases_for(needed)} cases in the suite",
            )
        least = self._least_rollouts(split)
        if self.settings.rollouts < least:
            raise UsageError(
                f"{self.settings.rollouts} rollouts are too few to validate one candidate beside the texts in use",
                remedy=f"--rollouts {least} at least; --rollouts {5 * least} lets several candidates compete",
            )
        fewest, requests = self._fewest(split), self._fewest_requests
        because = f"{fewest} rollouts and {requests} requests to the reflector are the fewest by which one is confirmed"
        refuse_budget_below(self.meter.limits, self.least, because)
        self._refuse_small_budget(self.known_use, fewest)
        return split

    def _refuse_small_budget(self, use: Use, rollouts: int) -> None:
        """Raises UsageError for a budget in which the fewest rollouts that could tell anything do not fit."""
        because = f"a rollout takes about {use.text}, and {rollouts} are the fewest by which a candidate is confirmed"
        refuse_budget_below(self.meter.limits, use.times(rollouts), because)

    @property
    def least(self) -> Use:
        """What it uses at least if one candidate is tried to the end, and nothing else."""
        fewest = self._fewest(split_cases(self.cases))
        return Use(calls=self.demand.rollout * fewest + self.demand.request * self._fewest_requests)

    @property
    def minibatch(self) -> int:
        """Training cases that a revision is tried on."""
        settings = self.settings
        return settings.minibatch or minibatch_of(settings.rollouts, split_cases(self.cases), self.demand.revisions)

    def run(self, say: Callable[[str], None] = lambda _: None) -> OptimisationOutcome:
        """Goes on if an earlier session in the same folder stopped. Raises OutOfBudget, and as `check` does."""
        split = self.check()
        cache = self._open_cache()
        refuse_unread(cache, self.start, self.components, self._read_in(split), say)
        tried = mean_use(cache.rollouts(self.start, self._read_in(split)[:1]))
        self._refuse_small_budget(tried, self._fewest(split))
        lineage = Lineage(self.objective, self.folder)
        lineage.add(self.start)
        noise = self._noise(cache, split)
        say(f"noise of judge and simulator on validation: {noise.margin(len(split.validation)):.3f}")
        task = OptimisationTask(
            start=self.start,
            components=self.components,
            agent_components=self.agent_components,
            split=split,
            objective=self.objective,
            cache=cache,
            quotations=QuotationCheck(
                {case: self.cases[case] for case in (*split.validation, *split.held_out)},
                self.start.texts.values(),
                training=(text for case in split.train for text in self.cases[case]),
            ),
            lineage=lineage,
            safety_margin=noise.safety_margin(len(split.validation)),
            vetoes=self.settings.rules.vetoes,
        )
        searches = [self._searched(name, one, task, say) for name, one in self.optimisers.items()]
        return self._decided(task, searches, noise, say)

    def probe(self) -> None:
        """Asks the reflector for one revision, before any rollout; its answer is kept. Raises as `check` does, and
        UsageError for a reflector that gives no text.
        """
        self.check()
        self._open_cache()

    def _searched(self, name: str, optimiser: Optimiser, task: OptimisationTask, say: Callable[[str], None]) -> Search:
        settings = self.settings
        search = Search(name=name, task=task, rollouts=settings.rollouts, minibatch=self.minibatch, seed=settings.seed)
        with suppress(SearchOver):
            optimiser.search(search, together=self.mode == "joint")
        say(f"{name}: {len(search.validated) - 1} candidates validated by {search.asked} rollouts")
        return search

    def _decided(
        self, task: OptimisationTask, searches: Sequence[Search], noise: Noise, say: Callable[[str], None]
    ) -> OptimisationOutcome:
        rules = self.settings.rules
        picks = {one.name: self._picked(one, noise, rules) for one in searches}
        known = {key: one for search in reversed(searches) for key, one in search.candidates.items()}
        finals = {name: one.candidate for name, one in picks.items()}
        first, pruning = searches[0], None
        if (taken := finals[first.name]) is not None:
            smaller, pruning = _Pruner(
                search=first, picked=known[taken], rules=rules, most=self.settings.rollouts
            ).result()
            known[smaller.id], finals[first.name] = smaller, smaller.id
        chosen = dict.fromkeys(one for one in finals.values() if one is not None)
        confirmed: dict[str, HeldOut] = {}
        curve: tuple[CurvePoint, ...] = tuple(points(first))
        if chosen:
            say(f"looking at {len(task.split.held_out)} held-out cases")
            self.about_to_look(task.split)
            before = self._held_out(task, self.start)
            after = {name: self._held_out(task, known[name]) for name in chosen}
            confirmed = confirm(self.objective, before, after, noise, rules, self.looks_before)
            curve = tuple(
                point.model_copy(
                    update={"held_out": mean_score(self.objective, self._held_out(task, known[point.candidate]))}
                )
                for point in curve
            )
        results = tuple(
            OptimiserResult(
                optimiser=one.name,
                candidates=len(one.validated.keys() - {self.start.id}),
                rollouts=one.asked,
                pick=picks[one.name],
                pruning=pruning if one is first else None,
                held_out=confirmed.get(finals[one.name] or ""),
                curve=curve if one is first else tuple(points(one)),
            )
            for one in searches
        )
        result = results[0]
        accepted = result.held_out is not None and result.held_out.accepted
        return OptimisationOutcome(
            suite=self.suite,
            mode=self.mode,
            component=self.component,
            optimiser=result.optimiser,
            start=self.start.id,
            accepted=result.final if accepted else None,
            why=result.pick.why if result.held_out is None else result.held_out.why,
            results=results,
            noise_margin=noise.margin(len(task.split.validation)),
            noise_samples=self.settings.noise_samples,
            cases=(len(task.split.train), len(task.split.validation), len(task.split.held_out)),
            looks_before=self.looks_before,
            held_out_digest=task.split.held_out_digest,
            refusals=task.lineage.refusals,
            spent=task.cache.meter.spent,
            calls=task.cache.calls,
        )

    def _picked(self, search: Search, noise: Noise, rules: AcceptanceRules) -> ValidationChoice:
        task = search.task
        validation = {
            name: task.cache.rollouts(search.candidates[name], task.split.validation)
            for name in search.validated
            if name != self.start.id and (rules.vetoes.final or search.may_be_parent(search.candidates[name]))
        }
        before = task.cache.rollouts(self.start, task.split.validation)
        found = pick(self.objective, before, validation, noise, rules)
        for name, breaches in found.vetoed.items():
            task.lineage.vetoed(name, "final", breaches)
        return found

    def _held_out(self, task: OptimisationTask, candidate: Candidate) -> list[Rollout]:
        found = task.cache.rollouts(candidate, task.split.held_out)
        task.lineage.scored(candidate, "held_out", found)
        return found

    def _noise(self, cache: RolloutCache, split: CaseSplit) -> Noise:
        rounds = [
            cache.rollouts(self.start, split.validation, sample)
            for sample in range(max(1, self.settings.noise_samples))
        ]
        by_case = list(zip(*rounds, strict=True))
        scores = [[self.objective.score(one) for one in repeated] for repeated in by_case]
        safety = [
            [one.domains.get(domain) for one in repeated] for domain in self.objective.safety for repeated in by_case
        ]
        return Noise(scores=_known_scores(scores), safety=_known_scores(safety))

    def _open_cache(self) -> RolloutCache:
        """With one revision without feedback, before any rollout: a reflector that gives no text is useless."""
        path = None if self.folder is None else self.folder / "journal.jsonl"
        cache = RolloutCache(self.rollouts, self.reflector, self.component, self.meter, path)
        component = self.components[0]
        file = component.texts[0]
        request = ReflectionRequest(
            component=component, path=file, text=self.start.texts[file], components=self.agent_components
        )
        answer = cache.proposal(request.prompt, "check")
        if proposed_text(answer) is None:
            raise UsageError(
                f"the reflector revised no text; it answered {answer[:200]!r}",
                remedy="name another model with --reflector; no rollout was run",
            )
        return cache

    def _read_in(self, split: CaseSplit) -> Sequence[str]:
        """The training cases in which each component's texts have to be read."""
        return split.train[: self.minibatch]

    def _least_rollouts(self, split: CaseSplit) -> int:
        """Of an optimiser: the texts in use and one candidate, on a sample and on validation."""
        return 2 * len(split.validation) + 2 * min(self.minibatch, len(split.train))

    def _fewest(self, split: CaseSplit) -> int:
        """Rollouts that are really run if one candidate is tried to the end, and nothing else."""
        candidate = len(self._read_in(split)) + len(split.validation) + len(split.held_out)
        return candidate + len(self._read_in(split)) + self._noise_rollouts(split) + len(split.held_out)

    def _noise_rollouts(self, split: CaseSplit) -> int:
        return self.settings.noise_samples * len(split.validation)

    @property
    def _fewest_requests(self) -> int:
        """To the reflector: one that shows whether it answers, and those of one revision."""
        return 1 + (sum(len(component.texts) for component in self.components) if self.mode == "joint" else 1)


def _known_scores(repeated: Sequence[Sequence[float | None]]) -> tuple[tuple[float, ...], ...]:
    found = (tuple(value for value in values if value is not None) for values in repeated)
    return tuple(values for values in found if values)


# Refuses a component whose texts the agent's program does not open: no revision of them could change anything.


def refuse_unread(
    cache: RolloutCache,
    start: Candidate,
    components: Sequence[Component],
    cases: Sequence[str],
    say: Callable[[str], None],
) -> None:
    """Runs the texts in use on training cases, one first and the others if a text was not opened in it.

    The rollouts are kept for the search. Raises UsageError for a component none of whose files was opened in any of
    them; a file that was not opened beside others that were is reported. Nothing is concluded if trials were not
    measured, or if what they open cannot be observed. Descriptions of tools are shown by the gateway, and are not
    checked.
    """
    read: set[str] = set()
    ran = 0
    for some in (cases[:1], cases[1:]):
        found = [one for one in cache.rollouts(start, some) if one.is_measured]
        if any(one.texts_read is None for one in found):
            say("whether the agent reads its texts cannot be observed in this sandbox")
            return
        ran += len(found)
        read.update(name for one in found for name in one.texts_read or ())
        if all(file in read for component in components for file in component.files):
            return
    for component in components if ran else ():
        unread = [file for file in component.files if file not in read]
        if unread == list(component.files) and unread and not component.tools:
            raise UsageError(
                f"the agent read no text of the component {component.name!r} in {ran} training trials: "
                f"{', '.join(unread)}",
                remedy="have the program open it in the folder of its files, or take the component out of "
                "`optimise.components`; if few cases need it, --minibatch tries more of them",
            )
        if unread:
            say(f"component {component.name}: not read in {ran} training trials: {', '.join(unread)}")
