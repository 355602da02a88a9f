"""What an optimiser is given: training and validation cases, a share of rollouts, a reflector; no held-out case."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from harness.optimise.candidates.candidate import Candidate, candidate_of
from harness.optimise.candidates.components import Component, tokens_of
from harness.optimise.rollouts.rollout import Rollout
from harness.optimise.rollouts.rollout_cache import RolloutCache
from harness.optimise.searching.formats import format_problem
from harness.optimise.searching.leaks import QuotationCheck
from harness.optimise.searching.lineage import Lineage
from harness.optimise.searching.objective import WeightedObjective, mean_score, measured_pairs
from harness.optimise.searching.reflector import ReflectionRequest, proposed_text
from harness.optimise.searching.splitting import CaseSplit


class SearchOver(Exception):
    """The optimiser asked for more rollouts or revisions than its share."""


def most_revisions(rollouts: int, batch: int, texts: int) -> int:
    """An optimiser's share of requests to the reflector: twice as many for each text as its rollouts fill batches."""
    return 2 * max(1, rollouts // max(1, batch)) * texts


@dataclass(frozen=True, kw_only=True)
class Vetoes:
    """Where the safety veto is applied. All of them, except in tests, which show that each one matters."""

    minibatch: bool = True
    parent: bool = True
    final: bool = True


@dataclass(frozen=True, kw_only=True)
class OptimisationTask:
    """What is optimised, the same for each optimiser."""

    start: Candidate
    """The texts in use, of all components."""
    components: tuple[Component, ...]
    """The components whose texts are revised."""
    agent_components: tuple[Component, ...]
    """All components, which a reflector is told of."""
    split: CaseSplit
    objective: WeightedObjective
    cache: RolloutCache
    quotations: QuotationCheck
    """Of validation and held-out cases."""
    lineage: Lineage
    window_tokens: int
    safety_margin: float = 0.0
    """How much lower a domain of safety may be on validation by the judge's own noise."""
    vetoes: Vetoes = Vetoes()


@dataclass(kw_only=True)
class Search:
    """One optimiser's share of an optimisation."""

    name: str
    """The optimiser's name."""
    task: OptimisationTask
    rollouts: int
    """How many rollouts it may ask for; cached ones count too, so that the shares of all optimisers are equal."""
    minibatch: int = 8
    seed: int = 0
    asked: int = 0
    """Rollouts asked for so far."""
    revisions: int = 0
    """Requests to the reflector so far; their share is equal for all optimisers too."""
    validated: dict[str, int] = field(default_factory=dict)
    """Candidate -> `asked` when its validation was complete, in that order."""
    candidates: dict[str, Candidate] = field(default_factory=dict)
    """All that were proposed, without the texts in use."""

    def __post_init__(self) -> None:
        self.random = random.Random(f"{self.name}:{self.seed}")
        self.candidates[self.task.start.id] = self.task.start

    @property
    def files(self) -> tuple[str, ...]:
        """The texts that may be revised."""
        return tuple(file for one in self.task.components for file in one.texts)

    @property
    def start(self) -> Candidate:
        """The texts in use."""
        return self.task.start

    def run(self, candidate: Candidate, cases: Sequence[str]) -> list[Rollout]:
        """Rollouts of training or validation cases. Raises SearchOver beyond the share, OutOfBudget."""
        split = self.task.split
        held_out = set(cases) - {*split.train, *split.validation}
        if held_out:
            raise ValueError(f"an optimiser may not run held-out cases: {sorted(held_out)}")
        if self.asked + len(cases) > self.rollouts:
            raise SearchOver
        self.asked += len(cases)
        return self.task.cache.rollouts(candidate, cases)

    def minibatch_of(self) -> list[str]:
        """Training cases at random."""
        train = self.task.split.train
        return self.random.sample(train, min(self.minibatch, len(train)))

    def validate(self, candidate: Candidate) -> list[Rollout]:
        """Its validation; from now on it can be chosen. Raises as `run` does."""
        found = self.run(candidate, self.task.split.validation)
        self.validated.setdefault(candidate.id, self.asked)
        self.task.lineage.scored(candidate, "validation", found)
        return found

    def improves(self, before: Sequence[Rollout], after: Sequence[Rollout]) -> bool:
        """First veto: on the same training cases the score must be higher, and nothing critical break more often."""
        objective = self.task.objective
        breaches = objective.breaches(before, after) if self.task.vetoes.minibatch else ()
        if after and after[0].candidate in self.candidates.keys() - {before[0].candidate}:
            self.task.lineage.scored(self.candidates[after[0].candidate], "minibatch", after)
        if after and breaches:
            self.task.lineage.vetoed(after[0].candidate, "minibatch", breaches)
        return self.gains(before, after) and not breaches

    def gains(self, before: Sequence[Rollout], after: Sequence[Rollout]) -> bool:
        """Whether the score is higher on the same cases, whatever else breaks."""
        objective = self.task.objective
        pairs = measured_pairs(objective, before, after)
        return sum((objective.score(now) or 0.0) - (objective.score(then) or 0.0) for then, now in pairs) > 0

    def may_be_parent(self, candidate: Candidate) -> bool:
        """Second veto: by validation. False for a candidate that is not validated."""
        if not self.task.vetoes.parent or candidate.id == self.start.id:
            return True
        if candidate.id not in self.validated:
            return False
        breaches = self.task.objective.breaches(
            self._validation(self.start), self._validation(candidate), self.task.safety_margin
        )
        if breaches:
            self.task.lineage.vetoed(candidate.id, "parent", breaches)
        return not breaches

    def score(self, candidate: Candidate) -> float:
        """The mean validation score of a validated candidate; 0 where nothing was measured."""
        return mean_score(self.task.objective, self._validation(candidate)) or 0.0

    def domains(self, candidate: Candidate) -> Mapping[str, float | None]:
        """The mean validation score by domain of a validated candidate."""
        return self.task.objective.domains(self._validation(candidate))

    def propose(self, parent: Candidate, files: Sequence[str], shown: Sequence[Rollout] = ()) -> Candidate | None:
        """The parent with revised texts; None where no text was revised, or a revision cannot be used.

        `shown` are rollouts of training cases under the parent, which the reflector is shown once each, the worst
        first. Raises SearchOver beyond the share of revisions, OutOfBudget.
        """
        texts = dict(parent.texts)
        requests = []
        shown = list({one.case: one for one in shown}.values())
        for file in files:
            if self.revisions >= self._most_revisions:
                raise SearchOver
            self.revisions += 1
            request = self._request(parent, file, shown)
            requests.append(request)
            text = proposed_text(self.task.cache.proposal(request, self.name))
            problem = self.unusable(file, parent.texts[file], text)
            if problem is not None:
                self.task.lineage.refused(self.name, parent, file, problem)
                continue
            texts[file] = text or ""
        found = candidate_of(texts, parent.id)
        if found.id == parent.id:
            return None
        if found.id not in self.candidates:
            self.candidates[found.id] = found
            self.task.lineage.proposed(self.name, found, requests, [one.case for one in shown])
        return self.candidates[found.id]

    def without(self, parent: Candidate, bundle: Candidate, name: str) -> Candidate:
        """The bundle with the parent's text of that name; it has a record of its own."""
        found = candidate_of({**bundle.texts, name: parent.texts[name]}, parent.id)
        if found.id not in self.candidates:
            self.candidates[found.id] = found
            self.task.lineage.proposed(self.name, found, (), self.task.lineage.records[bundle.id].shown)
        return self.candidates[found.id]

    def _request(self, parent: Candidate, file: str, shown: Sequence[Rollout]) -> str:
        component = next(one for one in self.task.components if file in one.texts)
        worst_first = sorted(shown, key=lambda one: self.task.objective.score(one) or 0.0)
        return ReflectionRequest(
            component=component,
            path=file,
            text=parent.texts[file],
            components=self.task.agent_components,
            failing=tuple(worst_first),
        ).prompt

    def unusable(self, name: str, before: str, text: str | None) -> str | None:
        """Why a revision cannot be used; None where it can."""
        if text is None:
            return "the reflector gave no text"
        broken = format_problem(name, before, text)
        if broken is not None:
            return broken
        if tokens_of(text) > self.task.window_tokens:
            return f"the text has about {tokens_of(text)} tokens, more than {self.task.window_tokens}"
        quoted = self.task.quotations.quoted(text)
        return None if quoted is None else f"the text quotes the case {quoted}, which it is measured by"

    @property
    def _most_revisions(self) -> int:
        batch = min(self.minibatch, len(self.task.split.validation))
        return most_revisions(self.rollouts, batch, len(self.files))

    def _validation(self, candidate: Candidate) -> list[Rollout]:
        return self.task.cache.rollouts(candidate, self.task.split.validation)


class Optimiser(Protocol):
    """Proposes candidates and validates them, until its share of rollouts is used up; which one is chosen is not its
    decision. Another package adds one by an entry point in the group `harness.optimiser`, a class without arguments.

    It must be deterministic, given `search.seed`, so that a stopped optimisation can repeat its steps from the cache.
    """

    def search(self, search: Search, *, together: bool) -> None:
        """Calls `search.validate` for each candidate that is to be considered. `together`: the texts of all components
        are revised at once. SearchOver and OutOfBudget are passed on.
        """
        ...
