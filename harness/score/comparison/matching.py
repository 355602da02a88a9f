"""Reference calls paired with the calls that were made: as many as can be, each call used once, in the DAG's order.

Equality of calls is an equivalence, so that the calls fall into classes and the question becomes: how much of a
labelled partial order can be embedded in a word of labels? That is hard in general (shuffles of words), so:
- parts of the reference that share neither order nor class are solved apart;
- a part that is a chain is a longest common subsequence, which is exact at any length;
- any other part is searched (`searching`), exactly up to a width. Past it the better of the search's bound and the
  common subsequence with the reference as written is taken: a lower bound, and marked as one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.case import ReferenceCall
from harness.score.comparison.searching import OrderedCalls, Pairs, search


@dataclass(frozen=True, kw_only=True)
class Matching:
    """`pairs`: reference id -> index of the call that it is paired with."""

    pairs: dict[str, int]
    exact: bool
    """False: the search was cut short, and more pairs may be possible."""

    @property
    def last(self) -> int:
        """Index of the last paired call; -1 where there is none."""
        return max(self.pairs.values(), default=-1)


def match_calls(reference: Sequence[ReferenceCall], reference_keys: Sequence[str], made: Sequence[str]) -> Matching:
    """Pairs `reference` (with their keys, in the same order) with the keys of the calls that were made."""
    above = _predecessors(reference)
    pairs: Pairs = {}
    exact = True
    for members in _parts(reference_keys, above):
        part = _part(members, reference_keys, above)
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


def _parts(keys: Sequence[str], above: Sequence[set[int]]) -> Iterator[list[int]]:
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


def _part(members: Sequence[int], keys: Sequence[str], above: Sequence[set[int]]) -> OrderedCalls:
    local = {index: place for place, index in enumerate(members)}
    masks = tuple(sum(1 << local[before] for before in above[index]) for index in members)
    return OrderedCalls(keys=tuple(keys[index] for index in members), above=masks)
