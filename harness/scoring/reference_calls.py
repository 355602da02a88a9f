"""Aligns a trial's calls with the case's reference: paired calls, missing calls, and calls that count against
the agent.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.scoring.arguments import call_key, keys_of
from harness.scoring.evidence import Evidence, once
from harness.suite.cases import ReferenceCall

# The search for the fullest way to match a partial order of labels with a word, cut off at a width.
#
# It walks the word once and keeps every set of reference calls (a bit mask) that can have been met so far:
# - a call whose predecessors are all settled is taken at once if nothing competes for it: taking it earlier never
#   costs anything;
# - each set is widened at most once per label, so that thousands of repeated calls cost nothing;
# - past `_WIDTH` sets only the fullest are kept, and the result is a lower bound.

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
        """Reference calls that no later call can be paired with."""
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
            self._forget_freshness(key)
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

    def _forget_freshness(self, key: str) -> None:
        self._gone |= sum(1 << index for index in self._members[key])
        for fresh in self._fresh.values():
            fresh.update(self._found)  # what cost something before may cost nothing now

    def _keep_fullest(self) -> None:
        self.exact = False
        kept = sorted(self._found, key=lambda met: (-met.bit_count(), met))[: _WIDTH // 2]
        self._found = {met: self._found[met] for met in kept}


# Reference calls paired with the calls that were made: as many as can be, each call used once, in the DAG's order.
#
# Equality of calls is an equivalence, so that the calls fall into classes and the question becomes: how much of a
# labelled partial order can be embedded in a word of labels? That is hard in general (shuffles of words), so:
# - parts of the reference that share neither order nor class are solved apart;
# - a part that is a chain is a longest common subsequence, which is exact at any length;
# - any other part is searched, exactly up to a width. Past it the better of the search's bound and the
#   common subsequence with the reference as written is taken: a lower bound, and marked as one.


@dataclass(frozen=True, kw_only=True)
class Matching:
    """`pairs`: reference id -> index of the call that it is paired with."""

    pairs: dict[str, int]
    exact: bool
    """False: the search was cut short, and more pairs may be possible."""

    @property
    def last(self) -> int:
        """Index of the last paired call; -1 if there is none."""
        return max(self.pairs.values(), default=-1)


def match_calls(reference: Sequence[ReferenceCall], reference_keys: Sequence[str], made: Sequence[str]) -> Matching:
    """Pairs `reference` (with their keys, in the same order) with the keys of the calls that were made."""
    above = _predecessors(reference)
    pairs: Pairs = {}
    exact = True
    for members in _independent_parts(reference_keys, above):
        part = _ordered_calls(members, reference_keys, above)
        keys = set(part.keys)
        word = [(place, key) for place, key in enumerate(made) if key in keys]
        found, complete = _solve(part, word)
        pairs.update({members[index]: place for index, place in found.items()})
        exact = exact and complete
    named = {reference[index].id: place for index, place in sorted(pairs.items(), key=lambda pair: pair[1])}
    return Matching(pairs=named, exact=exact)


def _solve(part: OrderedCalls, word: Sequence[tuple[int, str]]) -> tuple[Pairs, bool]:
    as_written = _common_subsequence(part.keys, word)
    if part.is_chain or len(as_written) == len(part.keys):
        return as_written, True
    searched, exact = search(part, word)
    return (searched if exact or len(searched) > len(as_written) else as_written), exact


def _common_subsequence(keys: Sequence[str], word: Sequence[tuple[int, str]]) -> Pairs:
    """The longest one with the calls in the order as written, each pair as early as can be."""
    lengths = [[0] * (len(word) + 1)]  # last row first: what the calls from there on can still reach
    for key in reversed(keys):
        below, row = lengths[-1], [0]
        for column in range(len(word) - 1, -1, -1):
            row.append(below[column + 1] + 1 if word[column][1] == key else max(below[column], row[-1]))
        lengths.append(row[::-1])
    lengths.reverse()
    pairs: Pairs = {}
    index = column = 0
    while index < len(keys) and column < len(word):
        if keys[index] == word[column][1]:
            pairs[index] = word[column][0]
            index, column = index + 1, column + 1
        elif lengths[index + 1][column] >= lengths[index][column + 1]:
            index += 1
        else:
            column += 1
    return pairs


def _predecessors(reference: Sequence[ReferenceCall]) -> list[set[int]]:
    """For each call, all calls that must precede it; a reference is in topological order (Case validates this)."""
    position = {call.id: index for index, call in enumerate(reference)}
    above: list[set[int]] = []
    for call in reference:
        direct = {position[name] for name in call.after}
        above.append(direct.union(*(above[index] for index in direct)))
    return above


def _independent_parts(keys: Sequence[str], above: Sequence[set[int]]) -> Iterator[list[int]]:
    group = list(range(len(keys)))

    def root(index: int) -> int:
        while group[index] != index:
            index = group[index]
        return index

    first: dict[str, int] = {}
    for index, key in enumerate(keys):
        for other in {*above[index], first.setdefault(key, index)}:
            group[root(other)] = root(index)
    roots = [root(index) for index in range(len(keys))]
    for top in sorted(set(roots)):
        yield [index for index, its in enumerate(roots) if its == top]


def _ordered_calls(members: Sequence[int], keys: Sequence[str], above: Sequence[set[int]]) -> OrderedCalls:
    local = {index: place for place, index in enumerate(members)}
    masks = tuple(sum(1 << local[before] for before in above[index]) for index in members)
    return OrderedCalls(keys=tuple(keys[index] for index in members), above=masks)


@dataclass(frozen=True, kw_only=True)
class Alignment:
    """Neutral calls (allowed reads that the reference does not make, new since the last write) are not counted.

    A call of the reference counts at any position, so that the counts do not depend on which of several maximum
    pairings was found.
    """

    needed: int
    """Calls of the reference."""
    paired: int
    missing: tuple[str, ...]
    """Tools of the reference's unpaired calls."""
    counted: int
    counted_after_last: int
    """Of the counted calls those made after the last paired one."""
    exact: bool


@once
def reference_keys(evidence: Evidence) -> tuple[str, ...]:
    """The keys of the reference's calls, in order; empty if the case has no reference."""
    tools = {tool.name: tool for tool in evidence.tools}
    return tuple(call_key(tools.get(call.tool), call.tool, call.arguments) for call in evidence.case.reference or ())


@once
def align(evidence: Evidence) -> Alignment | None:
    """None if the case has no reference."""
    reference = evidence.case.reference
    if reference is None:
        return None
    calls = evidence.made_calls
    made = list(keys_of(evidence))
    wanted = reference_keys(evidence)
    found = match_calls(reference, wanted, made)
    neutral = neutral_calls(evidence) - {place for place, key in enumerate(made) if key in wanted}
    counted = [place for place in range(len(calls)) if place not in neutral]
    return Alignment(
        needed=len(reference),
        paired=len(found.pairs),
        missing=tuple(call.tool for call in reference if call.id not in found.pairs),
        counted=len(counted),
        counted_after_last=sum(place > found.last for place in counted),
        exact=found.exact,
    )


@once
def neutral_calls(evidence: Evidence) -> frozenset[int]:
    """Places, among the calls that were made, of allowed reads that were not made before since the last write."""
    tools = {tool.name: tool for tool in evidence.tools}
    seen: set[str] = set()
    neutral: set[int] = set()
    allowed = evidence.allowed
    for place, (call, key) in enumerate(zip(evidence.made_calls, keys_of(evidence), strict=True)):
        tool = tools.get(call.name)
        if tool is not None and tool.effect == "write":
            seen.clear()
        elif call.name in allowed and key not in seen:
            neutral.add(place)
        seen.add(key)
    return frozenset(neutral)
