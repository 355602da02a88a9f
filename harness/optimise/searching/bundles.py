"""Revisions of several texts at once: one that gained something and broke something else is tried in parts.

In joint mode the texts of all components are revised together. A right revision of one of them would be lost where
another one, in the same bundle, breaks what is critical. Such a bundle is tried again without each of its revisions in
turn; a part that still gains and still breaks something is taken apart likewise.
"""

from collections import deque
from collections.abc import Sequence

from harness.optimise.candidates.candidate import Candidate
from harness.optimise.rollouts.rollout import Rollout
from harness.optimise.searching.search import Search


class BundleParts:
    """The parts that are to be tried next, of one search."""

    def __init__(self, search: Search) -> None:
        self._search = search
        self._parent: Candidate | None = None
        self._left: deque[Candidate] = deque()
        self._queued: set[str] = set()

    @property
    def revised(self) -> str | None:
        """The candidate that the bundle revised; None where no part is left to be tried."""
        return self._parent.id if self._parent is not None and self._left else None

    def next_of(self, parent: Candidate) -> Candidate | None:
        """The next part of a bundle that revised `parent`; None where there is none."""
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
