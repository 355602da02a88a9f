"""A plan held against the fixtures of its case: values of the plan that the answers of the tools contradict.

Identifiers: the plan names one of the same form as the fixtures' (`o-999` beside `o-200`) that none of them holds.
Quantities and prices: the plan says of something that is so already (`your last order had 3 oat milk`) another number
than the fixture's entry of that name.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from harness.case import Case, FixturePack
from harness.simulate.meaning.sentences import sentences
from harness.simulate.meaning.slots import Read, read_values
from harness.simulate.meaning.words import listed
from harness.values import JsonValue

_IS_SO: Final = re.compile(
    r"\b(?:last|usual|previous|earlier|past|history|ordered|bought|had|has|have|holds?|contain(?:s|ed)?|costs?|price[ds]?|"
    r"was|were|is|are|same)\b"
)
"""Words of a sentence that says what is, not what is wanted."""
_WANTED: Final = re.compile(
    r"\b(?:want|wants|would like|get|buy|to order|add|make it|need|needs|ask for|change|swap|spend|"
    r"budget|at most|say)\b"
)
_COUNTS: Final = listed("quantity count amount number pieces units items")
_PRICES: Final = listed("price cost total unit_price amount subtotal")


@dataclass(frozen=True, kw_only=True)
class Contradiction:
    """One value of a plan that a fixture pack contradicts."""

    pack: str
    said: str
    """The plan's sentence."""
    value: str
    """The plan's value, in its normal form."""
    fact: str
    """What the fixture holds, in the fixture's own spelling."""


@dataclass(frozen=True)
class _Entry:
    """A member of a fixture that has a name and figures."""

    words: frozenset[str]
    counts: dict[str, str]
    prices: dict[str, str]


def contradictions(case: Case, packs: Mapping[str, FixturePack]) -> list[Contradiction]:
    """What the opening and the plan of a case say, and its fixture packs contradict; empty without a plan."""
    plan = None if case.conversation is None else case.conversation.plan
    if plan is None:
        return []
    known = {text.casefold().strip("#-_") for text in _texts(case.user_profile)}
    found: list[Contradiction] = []
    for name in case.fixtures:
        answers = [fixture.answer for fixture in packs[name].fixtures] if name in packs else []
        ids = {text for answer in answers for text in _texts(answer) if _is_id(text)}
        entries = [entry for answer in answers for entry in _entries(answer)]
        for sentence in (*sentences(case.task), *sentences(plan)):
            read = read_values(sentence.lower())
            found += [
                Contradiction(pack=name, said=sentence, value=value, fact=fact)
                for value, fact in (*_wrong_ids(read, ids, known), *_wrong_figures(sentence.lower(), read, entries))
            ]
    return found


def _wrong_ids(read: Read, ids: set[str], known: set[str]) -> Iterator[tuple[str, str]]:
    plain = {one.casefold().strip("#-_"): one for one in ids}
    for kind, value in read.values:
        if kind != "id" or value in plain or value in known:
            continue
        alike = sorted(spelt for own, spelt in plain.items() if _form(own) == _form(value))
        if alike:
            yield value, ", ".join(alike[:3])


def _wrong_figures(sentence: str, read: Read, entries: Iterable[_Entry]) -> Iterator[tuple[str, str]]:
    if not _IS_SO.search(sentence) or _WANTED.search(sentence):
        return
    for entry in entries:
        if not entry.words or not entry.words <= read.words.keys():
            continue
        for value, word in sorted(read.bound):
            figures = entry.prices if ("money", value) in read.values else entry.counts
            if word in entry.words and figures and value not in figures:
                yield value, next(iter(figures.values()))


def _entries(value: JsonValue) -> Iterator[_Entry]:
    match value:
        case list():
            for item in value:
                yield from _entries(item)
        case dict():
            name = next((str(value[key]) for key in ("name", "title", "item", "product") if key in value), "")
            yield _Entry(
                words=frozenset(read_values(name.lower()).words),
                counts=_figures(value, _COUNTS),
                prices=_figures(value, _PRICES),
            )
            for item in value.values():
                yield from _entries(item)
        case _:
            return


def _figures(entry: Mapping[str, JsonValue], names: frozenset[str]) -> dict[str, str]:
    """Normal form -> name and number, as the fixture writes them."""
    return {
        f"{float(number):.12g}": f"{name}: {number}"
        for name, number in entry.items()
        if name in names and isinstance(number, int | float) and not isinstance(number, bool)
    }


def _texts(value: JsonValue) -> Iterator[str]:
    match value:
        case dict():
            for item in value.values():
                yield from _texts(item)
        case list():
            for item in value:
                yield from _texts(item)
        case str():
            yield value
        case _:
            return


def _is_id(text: str) -> bool:
    plain = text.casefold().strip()
    return len(plain) <= 40 and " " not in plain and [kind for kind, _ in read_values(plain).values] == ["id"]


def _form(identifier: str) -> str:
    """An identifier with `9` for digits and its letters as they are: `o-200` and `o-999` have one form."""
    return re.sub(r"\d", "9", identifier)
