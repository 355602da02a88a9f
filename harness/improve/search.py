"""The search for better candidates: what an optimiser is given, the optimisers by name, and the simplest of them."""

import json
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final, Protocol

from harness.errors import InvalidDocument, UsageError
from harness.improve.acceptance import Vetoes
from harness.improve.candidates import WINDOW_TOKENS, Candidate, Component, candidate_of
from harness.improve.held_out import CaseSplit
from harness.improve.lineage import Lineage, WeightedObjective, mean_score, measured_pairs
from harness.improve.reflector import ReflectionRequest
from harness.improve.rollouts import Rollout, RolloutCache
from harness.improve.trial_verdict import means
from harness.judging.calibration_questions import proposed_text
from harness.plugins import Registry
from harness.suite.documents import yaml_values
from harness.text import tokens_of

# Texts that a program reads as data, such as a file of examples in JSON, must stay readable.


def _lines(text: str) -> None:
    for line in text.splitlines():
        if line.strip():
            json.loads(line)


def _yaml(text: str) -> None:
    """Within bounds: ten lines of aliases in a model's answer unfold to more values than any memory holds."""
    yaml_values(Path("text"), text)


_READERS: Final[Mapping[str, Callable[[str], object]]] = {
    ".json": json.loads,
    ".jsonl": _lines,
    ".yaml": _yaml,
    ".yml": _yaml,
}


def format_problem(name: str, before: str, after: str) -> str | None:
    """Why the text of that name can no longer be read as what its suffix says; None if it can, or never could."""
    reader = _READERS.get(PurePosixPath(name).suffix)
    if reader is None or _problem(reader, before) is not None:
        return None
    problem = _problem(reader, after)
    return None if problem is None else f"the text is not valid {PurePosixPath(name).suffix[1:]} any more: {problem}"


def _problem(reader: Callable[[str], object], text: str) -> str | None:
    try:
        reader(text)
    except (ValueError, RecursionError, InvalidDocument) as error:
        return str(error).splitlines()[0]
    return None


QUOTED_WORDS: Final = 8
"""So many words in a row, all of them in one case, are a quotation."""
SHORTEST: Final = 5
"""Words of a message that is a quotation as a whole; shorter ones occur everywhere."""
_WORD: Final = re.compile(r"[^\W_]+")
_SPEAKING_ID: Final = re.compile(r"(?=.*[\d-]).{5,}")


class QuotationCheck:
    """Finds quotations of cases in a text that the texts in use do not hold already."""

    def __init__(self, cases: Mapping[str, Sequence[str]], known: Iterable[str], training: Iterable[str] = ()) -> None:
        """`cases` maps the id of a case that must not be quoted to what is said in it; `known` are the texts in use.
        `training`: what is said in cases that a reflector is shown, which is no quotation of others that say the same.
        """
        texts, training = tuple(known), tuple(training)
        in_use = {piece for text in (*texts, *training) for piece in _pieces(text)}
        shown = {tuple(_words_in(text)) for text in training}
        self._ids = [case for case in cases if _SPEAKING_ID.fullmatch(case)]
        self._pieces = {
            piece: case
            for case, said in cases.items()
            for text in said
            for piece in _pieces(text)
            if piece not in in_use
        }
        whole = {words: case for case, said in cases.items() for text in said if (words := tuple(_words_in(text)))}
        short = {words: case for words, case in whole.items() if SHORTEST <= len(words) < QUOTED_WORDS}
        self._short = {
            words: case
            for words, case in short.items()
            if words not in shown and not any(words in _pieces(text, len(words)) for text in texts)
        }
        self._lengths = sorted({len(words) for words in self._short})

    def quoted(self, text: str) -> str | None:
        """The id of a case that the text names or quotes; None if it does neither."""
        named = next((case for case in self._ids if case in text), None)
        if named is not None:
            return named
        quoted = next((self._pieces[piece] for piece in _pieces(text) if piece in self._pieces), None)
        if quoted is not None:
            return quoted
        short = (piece for length in self._lengths for piece in _pieces(text, length))
        return next((self._short[piece] for piece in short if piece in self._short), None)


def _words_in(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _pieces(text: str, length: int = QUOTED_WORDS) -> Iterator[tuple[str, ...]]:
    words = _words_in(text)
    return (tuple(words[place : place + length]) for place in range(len(words) - length + 1))


class SearchOver(Exception):
    """The optimiser asked for more rollouts or revisions than its share."""


def most_revisions(rollouts: int, batch: int, texts: int) -> int:
    """An optimiser's share of requests to the reflector: twice as many for each text as its rollouts fill batches."""
    return 2 * max(1, rollouts // max(1, batch)) * texts


@dataclass(frozen=True, kw_only=True)
class OptimisationTask:
    """What is optimised, the same for each optimiser."""

    start: Candidate
    """The texts in use, of all components."""
    components: tuple[Component, ...]
    """The components whose texts are revised."""
    agent_components: tuple[Component, ...]
    """All components, which a reflector is shown."""
    split: CaseSplit
    objective: WeightedObjective
    cache: RolloutCache
    quotations: QuotationCheck
    """Of validation and held-out cases."""
    lineage: Lineage
    safety_margin: float = 0.0
    """How much lower a domain of safety may be on validation by the judge's own noise."""
    vetoes: Vetoes = field(default_factory=Vetoes)


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
        """The mean validation score of a validated candidate; 0 if nothing was measured."""
        return mean_score(self.task.objective, self._validation(candidate)) or 0.0

    def domains(self, candidate: Candidate) -> Mapping[str, float | None]:
        """The mean validation score by domain of a validated candidate."""
        return means([one.domains for one in self._validation(candidate)])

    def propose(self, parent: Candidate, files: Sequence[str], shown: Sequence[Rollout] = ()) -> Candidate | None:
        """The parent with revised texts; None if no text was revised, or a revision cannot be used.

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
            self.task.lineage.add(found, self.name, requests=requests, shown=[one.case for one in shown])
        return self.candidates[found.id]

    def without(self, parent: Candidate, bundle: Candidate, name: str) -> Candidate:
        """The bundle with the parent's text of that name; it has a record of its own."""
        found = candidate_of({**bundle.texts, name: parent.texts[name]}, parent.id)
        if found.id not in self.candidates:
            self.candidates[found.id] = found
            self.task.lineage.add(found, self.name, shown=self.task.lineage.records[bundle.id].shown)
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
        """Why a revision cannot be used; None if it can."""
        if text is None:
            return "the reflector gave no text"
        broken = format_problem(name, before, text)
        if broken is not None:
            return broken
        if tokens_of(text) > WINDOW_TOKENS:
            return f"the text has about {tokens_of(text)} tokens, more than {WINDOW_TOKENS}"
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


# The optimisers by name: built in, and of installed packages (entry points in the group `harness.optimiser`).

OPTIMISERS: Final = Registry(
    seam="optimiser",
    built_in={
        "gepa": "harness.improve.gepa_optimiser:GepaOptimiser",
        "random": "harness.improve.search:RandomSearch",
        "best_of_n": "harness.improve.search:BestOfN",
    },
)
BASELINES: Final = ("random", "best_of_n")
"""Always run beside the optimiser that was asked for, each with the same number of rollouts."""


def optimisers_of(name: str) -> dict[str, Optimiser]:
    """The optimiser of that name, and the baselines beside it. Raises UsageError for an unknown one."""
    found: dict[str, Optimiser] = {}
    for one in dict.fromkeys((name, *BASELINES)):
        made = OPTIMISERS.find(one)
        if not isinstance(made, type) or not callable(getattr(made, "search", None)):
            raise UsageError(f"optimiser {one!r} is not a class with a method `search`")
        found[one] = made()
    return found


_MOST_IN_VAIN = 20
"""Proposals in a row without a new text, after which a reflector has nothing more to say."""


class _Baseline:
    """Revises texts again and again, and validates each candidate."""

    def search(self, search: Search, *, together: bool) -> None:
        search.validate(search.start)
        in_vain = 0
        while in_vain < _MOST_IN_VAIN:
            parent, shown = self._revised(search)
            files = search.files if together else (search.random.choice(search.files),)
            found = search.propose(parent, files, shown)
            in_vain = in_vain + 1 if found is None or found.id in search.validated else 0
            if found is not None and found.id not in search.validated:
                search.validate(found)

    def _revised(self, search: Search) -> tuple[Candidate, Sequence[Rollout]]:
        """What is revised, and the rollouts that the reflector is shown."""
        raise NotImplementedError


class RandomSearch(_Baseline):
    """Revises texts without feedback, from a parent at random, and validates each."""

    def _revised(self, search: Search) -> tuple[Candidate, Sequence[Rollout]]:
        known = [search.candidates[one] for one in search.validated]
        return search.random.choice([one for one in known if search.may_be_parent(one)]), ()


class BestOfN(_Baseline):
    """Revises the texts in use again and again, each time from another sample of training cases, and validates each."""

    def _revised(self, search: Search) -> tuple[Candidate, Sequence[Rollout]]:
        return search.start, search.run(search.start, search.minibatch_of())
