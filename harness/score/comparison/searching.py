"""The search for the fullest way to match a partial order of labels with a word, cut off at a width.

It walks the word once and keeps every set of reference calls (a bit mask) that can have been met so far:
- a call whose predecessors are all settled is taken at once where nothing competes for it: taking it earlier never
  costs anything;
- each set is widened at most once per label, so that thousands of repeated calls cost nothing;
- past `_WIDTH` sets only the fullest are kept, and the result is a lower bound.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

_WIDTH = 512

Pairs = dict[int, int]
"""Index in the part -> index of the call."""

_Chain = tuple[int, int, "_Chain"] | None  # (reference, call, the pairs before), shared between sets


@dataclass(frozen=True, kw_only=True)
class OrderedCalls:
    """Reference calls in topological order: their keys, and as bit masks all that must come before each."""

    keys: tuple[str, ...]
    above: tuple[int, ...]

    @property
    def is_chain(self) -> bool:
        """Whether each call comes after all calls before it."""
        return all(mask == (1 << index) - 1 for index, mask in enumerate(self.above))


def search(part: OrderedCalls, word: Sequence[tuple[int, str]]) -> tuple[Pairs, bool]:
    """The fullest pairing with `word` (place and key of each call of the part's keys), and whether it is proven so."""
    walk = _Walk(part, Counter(key for _, key in word))
    for place, key in word:
        walk.step(place, key)
    return walk.best(), walk.exact


class _Walk:
    """The sets met so far, each with the pairs that led to it."""

    def __init__(self, part: OrderedCalls, left: Counter[str]) -> None:
        self.exact = True
        self._above = part.above
        size = range(len(part.keys))
        self._below = [sum(1 << after for after in size if part.above[after] >> index & 1) for index in size]
        self._members = {key: [index for index in size if part.keys[index] == key] for key in part.keys}
        self._left = left
        self._gone = sum(1 << index for index in size if not left[part.keys[index]])
        """Reference calls that no later call can meet."""
        self._found: dict[int, _Chain] = {0: None}
        self._fresh: dict[str, set[int]] = {key: {0} for key in self._members}
        """Per key: the sets that were not yet widened by it."""

    def step(self, place: int, key: str) -> None:
        """The next call was made."""
        waiting, self._fresh[key] = self._fresh[key], set()
        for met in sorted(waiting & self._found.keys()):
            self._widen(met, key, place)
        self._left[key] -= 1
        if not self._left[key]:
            self._lose(key)
        if len(self._found) > _WIDTH:
            self._keep_fullest()

    def best(self) -> Pairs:
        """The pairs of a fullest set."""
        chain = self._found[min(self._found, key=lambda met: (-met.bit_count(), met))]
        pairs: Pairs = {}
        while chain is not None:
            index, place, chain = chain
            pairs[index] = place
        return pairs

    def _widen(self, met: int, key: str, place: int) -> None:
        free, others = self._candidates(met, key)
        for index in others if free is None else [free, *others]:
            self._add(met | 1 << index, (index, place, self._found[met]))
        if free is not None:
            del self._found[met]  # leaving this call unused is never better

    def _candidates(self, met: int, key: str) -> tuple[int | None, list[int]]:
        """One reference call of the class that costs nothing to take now, and the others that could be taken."""
        free: int | None = None
        others: dict[tuple[int, int], int] = {}
        for index in self._members[key]:
            if met >> index & 1 or self._below[index] & met:
                continue
            if free is None and self._costs_nothing(met, index):
                free = index
            else:
                others.setdefault((self._above[index], self._below[index]), index)  # equal ones need one try
        if free is not None:
            others.pop((self._above[free], self._below[free]), None)
        return free, list(others.values())

    def _costs_nothing(self, met: int, index: int) -> bool:
        """No predecessor is left that could still be met, and would be shut out."""
        waiting = self._above[index] & ~met & ~self._gone
        while waiting:
            lowest = waiting & -waiting
            if not self._below[lowest.bit_length() - 1] & met:
                return False
            waiting ^= lowest
        return True

    def _add(self, met: int, chain: _Chain) -> None:
        if met not in self._found:
            self._found[met] = chain
            for fresh in self._fresh.values():
                fresh.add(met)

    def _lose(self, key: str) -> None:
        self._gone |= sum(1 << index for index in self._members[key])
        for fresh in self._fresh.values():
            fresh.update(self._found)  # what cost something before may cost nothing now

    def _keep_fullest(self) -> None:
        self.exact = False
        kept = sorted(self._found, key=lambda met: (-met.bit_count(), met))[: _WIDTH // 2]
        self._found = {met: self._found[met] for met in kept}
