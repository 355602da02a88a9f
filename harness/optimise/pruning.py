"""Leaves out what a picked candidate changes for nothing, before the held-out cases are looked at.

A proposal often brings lines along that gain nothing. Groups of changed lines are reverted, halved where that costs
score, on training and validation cases alone. What is left is what the held-out cases then confirm.
"""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import SequenceMatcher
from itertools import zip_longest

from harness.optimise.acceptance import AcceptanceRules, costs_too_much
from harness.optimise.candidates.candidate import Candidate, candidate_of
from harness.optimise.outcome import Pruning
from harness.optimise.rollouts.rollout import Rollout
from harness.optimise.searching.objective import WeightedObjective, measured_pairs
from harness.optimise.searching.search import Search

_NOTHING = 1e-9


@dataclass(frozen=True, eq=False)
class _Segment:
    """Lines that stand in a text in use, and what a candidate has in their place; both are equal outside of changes."""

    file: str
    before: tuple[str, ...]
    after: tuple[str, ...]

    @property
    def words(self) -> Iterator[str]:
        yield from (f"{self.file}: -{line}" for line in self.before)
        yield from (f"{self.file}: +{line}" for line in self.after)


def pruned(search: Search, picked: Candidate, rules: AcceptanceRules, most: int) -> tuple[Candidate, Pruning]:
    """The pick, or a smaller candidate whose scores on training and validation cases are no lower.

    Takes `most` rollouts at the highest, cached ones included; what could not be tried by then stays.
    """
    pruner = _Pruner(search=search, picked=picked, rules=rules, most=most)
    return pruner.result()


@dataclass(kw_only=True)
class _Pruner:
    search: Search
    picked: Candidate
    rules: AcceptanceRules
    most: int
    asked: int = 0
    _kept: list[_Segment] = field(default_factory=list)
    """The changes that are not reverted."""
    _best: Candidate = field(init=False)

    def __post_init__(self) -> None:
        texts = self.search.start.texts
        self._layout = {file: list(_segments(file, texts[file], text)) for file, text in self.picked.texts.items()}
        self._changes = [one for segments in self._layout.values() for one in segments if one.before != one.after]
        self._kept, self._best = list(self._changes), self.picked

    def result(self) -> tuple[Candidate, Pruning]:
        cases = len(self._train) + len(self._validation)
        if len(self._changes) > 1 and self.asked + 2 * cases <= self.most:
            self.asked += cases
            by_file = [[one for one in self._changes if one.file == file] for file in self._layout]
            for group in by_file:
                self._reduce(group)
        told = Pruning(candidate=self._best.id, changes=len(self._changes), kept=len(self._kept), rollouts=self.asked)
        return self._best, told

    def _reduce(self, group: Sequence[_Segment]) -> None:
        """Reverts the whole group, or what can be reverted of each half."""
        if not group or self._dropped(group) or len(group) == 1:
            return
        half = len(group) // 2
        self._reduce(group[:half])
        self._reduce(group[half:])

    def _dropped(self, group: Sequence[_Segment]) -> bool:
        """Whether the candidate without the group is as good, which then takes the place of the best one."""
        left = [one for one in self._kept if one not in group]
        if not left or self.asked + len(self._validation) + len(self._train) > self.most:
            return False
        smaller = self._with(left)
        search = self.search
        if any(search.unusable(file, search.start.texts[file], text) for file, text in smaller.texts.items()):
            return False
        gone = [words for one in self._changes if one not in left for words in one.words]
        search.task.lineage.smaller(smaller, gone)
        if not all(self._holds(smaller, part, cases) for part, cases in self._parts.items()):
            return False
        self._kept, self._best = left, smaller
        return True

    def _holds(self, smaller: Candidate, part: str, cases: Sequence[str]) -> bool:
        """Whether the score of the pick is kept on these cases, and nothing is broken or dearer that was not."""
        task = self.search.task
        self.asked += len(cases)
        before, after = task.cache.rollouts(self.picked, cases), task.cache.rollouts(smaller, cases)
        task.lineage.scored(smaller, part, after)
        in_use = task.cache.rollouts(self.search.start, self._validation)
        dear = part == "validation" and costs_too_much(in_use, after, self.rules)
        return not (dear or _falls(task.objective, before, after) or task.objective.breaches(before, after))

    def _with(self, kept: Sequence[_Segment]) -> Candidate:
        texts = {
            file: "\n".join(line for one in segments for line in (one.after if one in kept else one.before))
            for file, segments in self._layout.items()
        }
        return candidate_of(texts, self.picked.id)

    @property
    def _parts(self) -> Mapping[str, Sequence[str]]:
        return {"validation": self._validation, "training": self._train}

    @property
    def _train(self) -> Sequence[str]:
        return self.search.task.split.train

    @property
    def _validation(self) -> Sequence[str]:
        return self.search.task.split.validation


def _falls(objective: WeightedObjective, before: Sequence[Rollout], after: Sequence[Rollout]) -> bool:
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
