"""The optimiser `gepa`: reflective evolution with a safety veto, over GEPA's loop."""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any

from harness.improve.candidates import Candidate, candidate_of
from harness.improve.rollouts import Rollout
from harness.improve.search import Search
from harness.judging.gepa_loop import FirstError, GepaLoop, Texts, batch_of

# Revisions of several texts at once: one that gained something and broke something else is tried in parts.
#
# In joint mode the texts of all components are revised together. A right revision of one of them would be lost if
# another one, in the same bundle, breaks what is critical. Such a bundle is tried again without each of its revisions
# in turn; a part that still gains and still breaks something is taken apart likewise.


class BundleParts:
    """The parts that are to be tried next, of one search."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._parent: Candidate | None = None
        self._left: deque[Candidate] = deque()
        self._queued: set[str] = set()

    @property
    def revised(self) -> str | None:
        """The candidate that the bundle revised; None if no part is left to be tried."""
        return self._parent.id if self._parent is not None and self._left else None

    def next_of(self, parent: Candidate) -> Candidate | None:
        """The next part of a bundle that revised `parent`; None if there is none."""
        return self._left.popleft() if self.revised == parent.id else None

    def accepts(self, before: Sequence[Rollout], after: Sequence[Rollout]) -> bool:
        """First veto, as `Search.improves`. Parts of what gained and was vetoed are queued; once one is accepted, the
        others are not tried.
        """
        accepted = self._search.improves(before, after)
        if accepted:
            self._left.clear()
        elif before and after and self._search.gains(before, after):
            known = self._search.candidates
            self._queue(known[before[0].candidate], known.get(after[0].candidate))
        return accepted

    def _queue(self, parent: Candidate, bundle: Candidate | None) -> None:
        if bundle is None:
            return
        if self.revised != parent.id:
            self._left.clear()
        self._parent = parent
        revised = [name for name in self._search.files if bundle.texts[name] != parent.texts[name]]
        for name in revised if len(revised) > 1 else ():
            part = self._search.without(parent, bundle, name)
            if part.id not in self._queued:
                self._queued.add(part.id)
                self._left.append(part)


_FROM_THE_FRONT = 0.5
"""Share of the parents that are taken from the Pareto front over domains, instead of the best one."""


class GepaOptimiser:
    """Revises texts from what failed in a sample of training cases, and keeps what does better on it."""

    def search(self, search: Search, *, together: bool) -> None:
        guard, parts = FirstError(), BundleParts(search)
        loop = GepaLoop(
            start={file: search.start.texts[file] for file in search.files},
            train=search.task.split.train,
            validation=search.task.split.validation,
            adapter=_Adapter(search, guard, parts),
            guard=guard,
            accepts=lambda proposal: parts.accepts(proposal.eval_before.trajectories, proposal.eval_after.trajectories),
            selects=_Parents(search, parts),
            max_evaluations=search.rollouts,
            minibatch=search.minibatch,
            is_vetoed=lambda texts: not search.may_be_parent(_candidate(search, texts)),
            seed=search.seed,
            revised_together="all" if together else "round_robin",
        )
        loop.candidates()


class _Adapter:
    """GEPA's view of the search."""

    def __init__(self, search: Search, guard: FirstError, parts: BundleParts) -> None:
        self._search = search
        self._guard = guard
        self._parts = parts
        self._shown: Sequence[Rollout] = ()

    def evaluate(self, batch: list[str], candidate: dict[str, str], capture_traces: bool = False) -> Any:
        del capture_traces  # rollouts are at hand always
        search = self._search
        subject = _candidate(search, candidate)
        is_validation = tuple(batch) == search.task.split.validation
        found = self._guard.run(lambda: search.validate(subject) if is_validation else search.run(subject, batch))
        scores = [search.task.objective.score(one) for one in found]
        known = [score for score in scores if score is not None]
        unknown = sum(known) / len(known) if known else 0.0
        return batch_of(found, [unknown if score is None else score for score in scores], found)

    def make_reflective_dataset(
        self, candidate: dict[str, str], eval_batch: Any, components_to_update: list[str]
    ) -> Mapping[str, Sequence[Mapping[str, str]]]:
        """The rollouts, which `propose_new_texts` puts into its own request."""
        del candidate
        self._shown = eval_batch.trajectories
        return {name: [{"Feedback": one.feedback} for one in self._shown] for name in components_to_update}

    def propose_new_texts(
        self,
        candidate: dict[str, str],
        reflective_dataset: Mapping[str, Sequence[Mapping[str, Any]]],
        components_to_update: list[str],
    ) -> dict[str, str]:
        """Revised texts; those of the parent if a revision cannot be used, which GEPA then does not accept."""
        del reflective_dataset
        parent = _candidate(self._search, candidate)
        part = self._parts.next_of(parent)
        if part is not None:
            return {name: part.texts[name] for name in components_to_update}
        found = self._guard.run(lambda: self._search.propose(parent, components_to_update, self._shown)) or parent
        return {name: found.texts[name] for name in components_to_update}


class _Parents:
    """Second veto: no vetoed candidate is revised further. The best of the others, or one of their Pareto front; as
    long as a bundle is taken apart, what it revised.
    """

    def __init__(self, search: Search, parts: BundleParts) -> None:
        self._search = search
        self._parts = parts

    def __call__(self, candidates: Sequence[Texts], scores: Sequence[float]) -> int:
        search = self._search
        known = [_candidate(search, one) for one in candidates]
        allowed = [number for number, one in enumerate(known) if search.may_be_parent(one)]
        revised = [number for number in allowed if known[number].id == self._parts.revised]
        if revised:
            return revised[0]
        if search.random.random() < _FROM_THE_FRONT:
            domains = {number: search.domains(known[number]) for number in allowed}
            return search.random.choice(
                [
                    number
                    for number in allowed
                    if not any(_dominates(domains[other], domains[number]) for other in allowed)
                ]
            )
        return max(allowed, key=lambda number: (scores[number], -number))


def _dominates(one: Mapping[str, float | None], other: Mapping[str, float | None]) -> bool:
    pairs = [(one.get(name) or 0.0, other.get(name) or 0.0) for name in {*one, *other}]
    return all(a >= b for a, b in pairs) and any(a > b for a, b in pairs)


def _candidate(search: Search, texts: Mapping[str, str]) -> Candidate:
    """The candidate of these texts, the others being as they are in use."""
    made = candidate_of({**search.start.texts, **texts})
    return search.candidates.get(made.id, made)
