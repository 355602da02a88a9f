"""Two values or words that stand in each other's place, while all words around them stay.

What is around a value is known to the letter where nothing else was changed: then one clause that has another value is
enough, where the other one has come into its place. `binding.py` finds exchanges in texts that are worded otherwise.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

Element = tuple[str, str]
"""The kind of a value, `word`, `person`, `soft` or `light`; and its form."""

JOINS: Final = ("and", "or")
_FORMS_OF_SPEECH: Final = ("soft", "light", "person")
"""Tokens whose exchange is another wording, or is found by what they belong to."""
_HIDDEN: Final = ("hidden", "")


@dataclass(frozen=True)
class Parsed:
    """A clause: its tokens, and what it belongs to."""

    tokens: tuple[Element, ...]
    above: frozenset[str]
    beside: frozenset[str]
    continues: bool = False
    """Whether it follows another clause of the same sentence."""


def in_each_others_place(
    here: Sequence[Parsed], there: Sequence[Parsed], *, words: bool = True
) -> tuple[str, str] | None:
    """Two elements of one kind, each of which stands in `there` where the other one stands in `here`. Without `words`:
    two values.
    """
    for one, other in sorted(_candidates(here, there)):
        if one[0] == "word" and not words:
            continue
        was, is_ = _places(here, one, other), _places(there, one, other)
        stayed = _places(here, one, other, hide=False) == _places(there, one, other, hide=False)
        if was == is_ and not stayed and not _are_equals(here, one, other):
            return one[1], other[1]
    return None


def _candidates(here: Sequence[Parsed], there: Sequence[Parsed]) -> set[tuple[Element, Element]]:
    """The pairs of elements in which alone two clauses differ."""
    alike: dict[tuple[str, ...], list[tuple[Element, ...]]] = defaultdict(list)
    for clause in there:
        alike[_kinds(clause)].append(clause.tokens)
    found = set()
    for clause in here:
        for tokens in alike.get(_kinds(clause), ()):
            pairs = {tuple(sorted(pair)) for pair in zip(clause.tokens, tokens, strict=True) if pair[0] != pair[1]}
            if len(pairs) == 1:
                one, other = pairs.pop()
                if one[0] not in _FORMS_OF_SPEECH:
                    found.add((one, other))
    return found


def _kinds(clause: Parsed) -> tuple[str, ...]:
    return tuple(kind for kind, _ in clause.tokens)


def _places(clauses: Sequence[Parsed], one: Element, other: Element, *, hide: bool = True) -> list[tuple[object, ...]]:
    """The clauses that hold one of two elements, in which both are hidden."""
    hidden = (one, other) if hide else ()
    forms = {form for _, form in hidden}
    return sorted(
        (tuple(_HIDDEN if token in hidden else token for token in clause.tokens), sorted(clause.above - forms))
        for clause in clauses
        if one in clause.tokens or other in clause.tokens
    )


def _are_equals(clauses: Sequence[Parsed], one: Element, other: Element) -> bool:
    """Whether two elements are members of one list wherever they stand, whose order says nothing."""
    flat = [(token, clause.above) for clause in clauses for token in clause.tokens]
    places = [place for place, (token, _) in enumerate(flat) if token in (one, other)]
    return len(places) > 1 and all(
        flat[first][0] != flat[second][0]
        and flat[first][1] == flat[second][1]
        and all(_is_between_members(token, one) for token, _ in flat[first + 1 : second])
        for first, second in _pairs(places)
    )


def _is_between_members(token: Element, member: Element) -> bool:
    return token[1] in JOINS or (token[0] == member[0] and member[0] != "word")


def _pairs(places: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Each place with its partner: the first with the second, the third with the fourth."""
    return zip(places[::2], places[1::2], strict=False)
