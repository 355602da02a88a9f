"""Whether values or words were exchanged: what each belongs to, by the words around it.

A text says the same in another order if each value keeps its context. Where a value has left its context, another one
of its kind has come there, and it has come into the context of one itself, the values were exchanged: `A costs $5 and B
costs $7` with both prices, `from Boston to Denver` with both cities, `we owe you` with both persons.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from harness.users.meaning.said import without_idioms
from harness.users.meaning.sentences import LONGEST, clauses_of, is_damaged_document
from harness.users.meaning.words import is_weighty, listed, sequence_of

# Two values or words that stand in each other's place, while all words around them stay.
#
# What is around a value is known to the letter where nothing else was changed: then one clause that has another value
# is
# enough, where the other one has come into its place. `binding.py` finds exchanges in texts that are worded
# otherwise.

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


# Coordinated things in one order: `jam and honey`, `2 jars of jam and 3 of honey` say the same the other way round.
#
# Only what is certainly coordinated is ordered. `The milk from Greenway and bread from Corner` has single words on
# both
# sides of `and` too, but those are not its members: ordering them would hide an exchange.

Tokens = tuple[Element, ...]
_LONGEST_MEMBER: Final = 5
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
    while length < min(len(tokens), _LONGEST_MEMBER) and (tokens[length][0] == "word" or tokens[length][1] == "of"):
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


_PERSONS: Final = {
    **dict.fromkeys(
        ("i", "we", "me", "us", "i'll", "we'll", "i'd", "we'd", "i've", "we've", "i'm", "we're"), "speaker"
    ),
    **dict.fromkeys(("you", "you'll", "you'd", "you've", "you're"), "listener"),
}
_NO_ELEMENTS: Final = ("soft", "light")
"""Tokens that are context, but belong to nothing themselves."""
_ARTICLES: Final = frozenset(("the", "a", "an", "this", "that", "these", "those"))
_NEAR: Final = 2
"""Words away at most: what stands there before or after is a context of its own."""
_SAME_PLACE: Final = 0.5
"""Of what a value has lost, this much has to be what another one has gained."""
_LEAST: Final = {"word": 1.5, "person": 1.5}
"""How much that has to be at least, in both directions together; for values `_LEAST_OF_VALUES`."""
_LEAST_OF_VALUES: Final = 1.0
_LONGEST_DIFFERENCE: Final = 600
"""Tokens of what differs; longer texts are compared by their values and words alone."""

Feature = tuple[str, str]
"""Where something stands with respect to an element, and what it is."""
Contexts = Mapping[Element, Counter[Feature]]


def exchanged(then: str, now: str) -> tuple[str, str] | None:
    """Two values or words that were exchanged, the first of which the log had in a place that the second has now."""
    if is_damaged_document(then) and is_damaged_document(now):
        return _first_out_of_order(then, now)
    was, is_ = _parsed(then), _parsed(now)
    moved = in_each_others_place(*_differing_sentences(was, is_), words=False)
    if moved is not None:
        return moved
    here, there = _differing(was, is_), _differing(is_, was)
    if not here or not there or sum(len(one.tokens) for one in (*here, *there)) > _LONGEST_DIFFERENCE:
        return None
    return (
        _moved(here, there, _headings(was) & _headings(is_))
        or in_each_others_place(here, there)
        or _in_each_others_context(_contexts(here), _contexts(there))
    )


def _first_out_of_order(then: str, now: str) -> tuple[str, str] | None:
    """The first value that another one stands in place of, where the order alone tells what a value belongs to."""
    was, is_ = (
        [one for one in sequence_of(text[:LONGEST].lower()) if one[0] not in ("soft", "word")] for text in (then, now)
    )
    return next(((one, other) for (_, one), (_, other) in zip(was, is_, strict=False) if one != other), None)


def _in_each_others_context(before: Contexts, after: Contexts) -> tuple[str, str] | None:
    """Two elements, each of which has lost its context and got that of the other."""
    common = before.keys() & after.keys()
    lost = {one: before[one] - after[one] for one in common}
    gained = {one: after[one] - before[one] for one in common}
    comes: dict[Feature, list[Element]] = defaultdict(list)
    for one, features in gained.items():
        for feature in features:
            comes[feature].append(one)
    replaced = {one: _replacing(one, lost[one], gained, comes) for one in common if lost[one]}
    for one, others in sorted(replaced.items()):
        takes = max((weights[one] for weights in replaced.values() if one in weights), default=0.0)
        other = max(others, key=lambda other: (others[other], other), default=None)
        if other is None:
            continue
        has_moved = takes > 0 and others[other] + takes >= _LEAST.get(one[0], _LEAST_OF_VALUES)
        if has_moved or (one[0] not in _LEAST and lost[one] == gained[other] and others[other] >= _LEAST_OF_VALUES):
            return one[1], other[1]
    return None


def _headings(clauses: tuple[Parsed, ...]) -> frozenset[str]:
    return frozenset(form for one in clauses for form in one.above)


def _moved(here: list[Parsed], there: list[Parsed], headings: frozenset[str]) -> tuple[str, str] | None:
    """A clause that stands under another heading now, although the old one is still there."""
    places: dict[tuple[Element, ...], list[Parsed]] = defaultdict(list)
    for one in there:
        places[one.tokens].append(one)
    for one in here:
        others = places.get(one.tokens, ())
        if others and all(
            (one.above - other.above) & headings and (other.above - one.above) & headings for other in others
        ):
            said = " ".join(form for _, form in one.tokens)
            old, new = one.above - others[0].above & headings, others[0].above - one.above & headings
            return f"{said} under {min(old)}", f"{said} under {min(new)}"
    return None


def _replacing(
    one: Element,
    lost: Counter[Feature],
    gained: Mapping[Element, Counter[Feature]],
    comes: Mapping[Feature, list[Element]],
) -> dict[Element, float]:
    """The elements of the same kind that stand now where it stood, and how much of its context each has got."""
    candidates = {other for feature in lost for other in comes.get(feature, ()) if other != one and other[0] == one[0]}
    least = _SAME_PLACE * _weight(lost.items())
    got = {other: _weight((lost & gained[other]).items()) for other in candidates}
    return {other: weight for other, weight in got.items() if weight >= min(least, _weight(gained[other].items()) / 2)}


def _weight(features: Iterable[tuple[Feature, int]]) -> float:
    return sum(_WEIGHTS[where] * (2 if form == "not" else 1) * many for (where, form), many in features)


_WEIGHTS: Final = {
    "in": 1.0,
    "under": 1.0,
    "before": 1.0,
    "after": 1.0,
    "soft before": 0.5,
    "soft after": 0.5,
    "beside": 0.6,
}


def _differing(clauses: tuple[Parsed, ...], others: tuple[Parsed, ...]) -> list[Parsed]:
    """The clauses that the other text has not, or has under something else."""
    left = Counter((one.tokens, one.above, one.beside) for one in others)
    found = []
    for one in clauses:
        key = (one.tokens, one.above, one.beside)
        if left[key]:
            left[key] -= 1
        else:
            found.append(one)
    return found


def _differing_sentences(
    was: tuple[Parsed, ...], is_: tuple[Parsed, ...]
) -> tuple[tuple[Parsed, ...], tuple[Parsed, ...]]:
    then, now = _sentences(was), _sentences(is_)
    return tuple(one for one in then if one not in now), tuple(one for one in now if one not in then)


def _sentences(clauses: tuple[Parsed, ...]) -> list[Parsed]:
    """The clauses of each sentence as one: `from A, red, to B, blue` tells `A` and `B` apart by their order alone."""
    found: list[Parsed] = []
    for one in clauses:
        if one.continues and found:
            found[-1] = Parsed((*found[-1].tokens, *one.tokens), found[-1].above, found[-1].beside)
        else:
            found.append(Parsed(one.tokens, one.above, one.beside))
    return found


def _contexts(clauses: list[Parsed]) -> Contexts:
    found: dict[Element, Counter[Feature]] = defaultdict(Counter)
    for one in clauses:
        for place, element in enumerate(one.tokens):
            if element[0] not in _NO_ELEMENTS:
                found[element].update(_features(one, place))
    return found


def _features(parsed: Parsed, place: int) -> list[Feature]:
    kind, own = parsed.tokens[place]
    found: list[Feature] = [("under", word) for word in parsed.above]
    if kind != "word":
        found += [("beside", word) for word in parsed.beside if word != own]
    first, last = _list_around(parsed.tokens, place)
    for at, (other_kind, form) in enumerate(parsed.tokens):
        if first <= at <= last or (other_kind == kind and kind != "word"):
            continue
        side, near = ("before", first - at <= _NEAR) if at < first else ("after", at - last <= _NEAR)
        if near:
            found.append((f"soft {side}" if other_kind == "soft" else side, form))
        if other_kind != "soft" and (kind != "word" or form == "not"):
            found.append(("in", form))
    return found


def _list_around(tokens: tuple[Element, ...], place: int) -> tuple[int, int]:
    """Where the list of values begins and ends that a value stands in: its members have one place."""
    kind = tokens[place][0]
    if kind == "word":
        return place, place
    first = last = place
    for at in range(place - 1, -1, -1):
        if tokens[at][0] == kind:
            first = at
        elif tokens[at][1] not in JOINS:
            break
    for at in range(place + 1, len(tokens)):
        if tokens[at][0] == kind:
            last = at
        elif tokens[at][1] not in JOINS:
            break
    return first, last


@lru_cache(maxsize=4_096)
def _parsed(text: str) -> tuple[Parsed, ...]:
    """The clauses of a text; members of a list of values, which have no words of their own, share its context."""
    found: list[Parsed] = []
    clauses = clauses_of(text)
    read = in_one_order([(clause.continues, _tokens_of(without_idioms(clause.text))) for clause in clauses])
    for clause, tokens in zip(clauses, read, strict=True):
        if not tokens:
            continue
        above, beside = _contents(clause.under), _contents(clause.beside) - {form for _, form in tokens}
        if found and clause.continues and _is_member(tokens) and (joined := _joined(found[-1], tokens)) is not None:
            found[-1] = joined
            continue
        found.append(Parsed(tokens, above, beside, clause.continues))
    return tuple(found)


@lru_cache(maxsize=16_384)
def _contents(text: str) -> frozenset[str]:
    return frozenset(form for kind, form in _tokens_of(text) if kind != "soft") if text else frozenset()


def _is_member(tokens: tuple[Element, ...]) -> bool:
    return all(kind not in ("soft", "light", "word", "person") or form in JOINS for kind, form in tokens)


def _joined(before: Parsed, tokens: tuple[Element, ...]) -> Parsed | None:
    """The clause with one more value at the place of its last one; None where that is of another kind."""
    values = [one for one in tokens if one[0] != "soft"]
    if len(values) != 1 or before.tokens[-1][0] != values[0][0]:
        return None
    return Parsed((*before.tokens, *values), before.above, before.beside, before.continues)


@lru_cache(maxsize=16_384)
def _tokens_of(text: str) -> tuple[Element, ...]:
    return tuple(_element(kind, form) for kind, form in sequence_of(text) if form not in _ARTICLES)


def _element(kind: str, form: str) -> Element:
    if kind != "soft":
        return kind, form
    if form in _PERSONS:
        return "person", _PERSONS[form]
    return ("light" if is_weighty(form) else "soft"), form
