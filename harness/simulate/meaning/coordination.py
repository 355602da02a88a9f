"""Coordinated things in one order: `jam and honey`, `2 jars of jam and 3 of honey` say the same the other way round.

Only what is certainly coordinated is ordered. `The milk from Greenway and bread from Corner` has single words on both
sides of `and` too, but those are not its members: ordering them would hide an exchange.
"""

from collections.abc import Sequence
from typing import Final

from harness.simulate.meaning.places import JOINS, Element
from harness.simulate.meaning.words import listed

Tokens = tuple[Element, ...]
_LONGEST: Final = 5
"""Tokens of a member."""
_AFTER_THE_OBJECTS: Final = listed("to in into for")
"""Words that a list of objects may be followed by, so that what follows belongs to all of them."""
_AFTER_THE_SUBJECTS: Final = listed("are were have will")
"""Verbs in the plural, whose subject is the whole list where that begins the clause."""
_PREPOSITIONS: Final = listed("to in into for from of with at on by as than about")
_ACTIONS: Final = listed("add remov cancel order book buy ship return refund exchang chang updat reserv")
"""Words that decide and take an object; any other one before a member may be an attribute of this member alone."""


def in_one_order(clauses: Sequence[tuple[bool, Tokens]]) -> list[Tokens]:
    """The tokens of each clause, the members of each list in one order; with each clause, whether it continues a
    sentence.
    """
    found = [tokens for _, tokens in clauses]
    all_continue = [continues for continues, _ in clauses]
    for last, (continues, tokens) in enumerate(clauses):
        if continues and last and tokens and tokens[0][1] in JOINS:
            _order(found, last, all_continue)
    return found


def _order(found: list[Tokens], last: int, continues: Sequence[bool]) -> None:
    """Orders the list whose last member begins the clause `last`, if there is one."""
    join, *rest = found[last]
    length = _length_of_member(rest)
    if not length:
        return
    first = last - 1
    while first and continues[first] and 0 < _length_of_member(found[first]) == len(found[first]):
        first -= 1
    is_counted = rest[0][0] == "number"
    start = _start_of_last_count(found[first]) if is_counted else len(found[first]) - 1
    before, member = found[first][:start], found[first][start:]
    if not member or _length_of_member(member) < len(member):
        return
    if not _belongs_to_all(before, rest[length:], is_counted=is_counted):
        return
    members = sorted((member, *found[first + 1 : last], tuple(rest[:length])))
    found[first : last + 1] = [(*before, *members[0]), *members[1:-1], (join, *members[-1], *rest[length:])]


def _length_of_member(tokens: Sequence[Element]) -> int:
    """How many tokens the member has that begins here: a word, or a number and what is counted; 0 for none."""
    if not tokens or tokens[0][0] == "word":
        return min(len(tokens), 1)
    if tokens[0][0] != "number":
        return 0
    length = 1
    while length < min(len(tokens), _LONGEST) and (tokens[length][0] == "word" or tokens[length][1] == "of"):
        length += 1
    return length if tokens[length - 1][0] == "word" else 0


def _start_of_last_count(tokens: Tokens) -> int:
    return max((place for place, (kind, _) in enumerate(tokens) if kind == "number"), default=len(tokens))


def _belongs_to_all(before: Tokens, after: Sequence[Element], *, is_counted: bool) -> bool:
    """Whether what stands before the first and after the last member belongs to every one of them."""
    if after and (after[0][0] == "word" or after[0][1] not in _AFTER_THE_OBJECTS | _AFTER_THE_SUBJECTS):
        return False
    if after and after[0][1] in _AFTER_THE_SUBJECTS and before:
        return False
    if is_counted or not before:
        return True
    kind, form = before[-1]
    return form in _ACTIONS if kind == "word" else form not in _PREPOSITIONS and form not in JOINS
