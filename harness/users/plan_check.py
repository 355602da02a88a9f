"""A plan compared with the fixtures of its case: values of the plan that the answers of the tools contradict.

Identifiers: the plan names one of the same form as the fixtures' (`o-999` beside `o-200`) that none of them holds.
Quantities and prices: the plan says of something that is so already (`your last order had 3 oat milk`) another number
than the fixture's entry of that name.
Dates, stores and items: the plan says of an earlier purchase (`you bought it on 2026-02-01`, `your last order had 2
plums`, `the bananas were from Cellar`) a day that no fixture holds, an item that none names, or another store than that
of the entry.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from harness.suite.cases import Case
from harness.suite.fixtures import FixturePack
from harness.users.meaning.sentences import sentences
from harness.users.meaning.words import Read, listed, read_values

_IS_SO: Final = re.compile(
    r"\b(?:last|usual|previous|earlier|past|history|ordered|bought|had|has|have|holds?|contain(?:s|ed)?|costs?|price[ds]?|"
    r"was|were|is|are|same)\b"
)
"""Words of a sentence that says what is, not what is wanted."""
_WANTED: Final = re.compile(
    r"\b(?:want|wants|would like|get|buy|to order|add|make it|need|needs|ask for|change|swap|spend|"
    r"budget|at most|say)\b"
)
_BOUGHT: Final = re.compile(
    r"\b(?:orders?|ordered|reorder|bought|purchased?s?|placed|delivered|delivery|shipped|history|receipt)\b"
)
"""Words of a sentence about what was bought before."""
_CONDITION: Final = re.compile(r"\b(?:if|unless|should|would|when|whether|not|never|no)\b|n't\b")
_COSTS: Final = re.compile(r"\b(?:costs?|price[sd]?)\b")
_SELLER: Final = re.compile(r"\b(?:from|at) (?:the )?([A-Za-z][\w'-]*)")
_STORES: Final = listed("store store_id store_name shop shop_id merchant vendor seller supplier")
_NO_ITEM: Final = listed(
    "item product thing piece unit order time day week month year hour minute person people percent kind line entry "
    "bottle pack packet carton box bag can jar loaf bunch kilo gram litre liter pound ounce dozen dollar euro cent"
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
    name: str
    store: str | None


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
        dates = {day: text for answer in answers for text in _texts(answer) for day in _days(read_values(text.lower()))}
        for sentence in (*sentences(case.task), *sentences(plan)):
            read = read_values(sentence.lower())
            found += [
                Contradiction(pack=name, said=sentence, value=value, fact=fact)
                for value, fact in (
                    *_wrong_ids(read, ids, known),
                    *_wrong_figures(sentence.lower(), read, entries),
                    *_wrong_purchase(sentence, read, entries, dates),
                )
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


def _wrong_figures(sentence: str, read: Read, entries: Sequence[_Entry]) -> Iterator[tuple[str, str]]:
    if not _IS_SO.search(sentence) or _WANTED.search(sentence):
        return
    for entry in entries:
        if not entry.words or not entry.words <= read.words.keys():
            continue
        for value, word in sorted(read.bound):
            figures = entry.prices if ("money", value) in read.values else entry.counts
            if word in entry.words and figures and value not in figures:
                yield value, next(iter(figures.values()))
    named = [entry for entry in entries if entry.prices and entry.words and entry.words <= read.words.keys()]
    amounts = [value for kind, value in read.values if kind == "money"]
    if _COSTS.search(sentence) and len(named) == len(amounts) == 1 and amounts[0] not in named[0].prices:
        bound = any(value == amounts[0] and word in named[0].words for value, word in read.bound)
        if not bound:
            yield amounts[0], next(iter(named[0].prices.values()))


def _wrong_purchase(
    sentence: str, read: Read, entries: Sequence[_Entry], dates: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """What a sentence about an earlier purchase says of its day, its items and its store."""
    said = sentence.lower()
    if not _BOUGHT.search(said) or not _IS_SO.search(said) or _WANTED.search(said) or _CONDITION.search(said):
        return
    if dates:
        for day in sorted(_days(read) - dates.keys()):
            yield day, ", ".join(sorted({*dates.values()})[:3])
    listed_entries = [entry for entry in entries if entry.words and entry.counts]
    if listed_entries:
        held = {word for entry in listed_entries for word in entry.words}
        alike = ", ".join(entry.name for entry in listed_entries[:3])
        for value, word in sorted(read.bound):
            if word not in held and word not in _NO_ITEM and word.isalpha() and ("money", value) not in read.values:
                yield f"{value} {word}", alike
    yield from _wrong_store(sentence, read, entries)


def _wrong_store(sentence: str, read: Read, entries: Sequence[_Entry]) -> Iterator[tuple[str, str]]:
    """Another store than that of the entries which the sentence names: known from other entries, or a proper name."""
    stores = {entry.store for entry in entries if entry.store is not None}
    own = {entry.store for entry in entries if entry.store and entry.words and entry.words <= read.words.keys()}
    known = {word for store in stores for word in _plain_words(store)}
    for found in _SELLER.finditer(sentence):
        is_name = found[1][0].isupper() or found[1].casefold() in known
        if own and is_name and all(found[1].casefold() not in _plain_words(store) for store in own):
            yield found[1], ", ".join(sorted(own)[:3])


def _plain_words(text: str) -> set[str]:
    return {*re.findall(r"[\w']+", text.casefold().replace("_", " "))}


def _days(read: Read) -> set[str]:
    """The days of a text, each as month and day."""
    return {value for kind, value in read.values if kind == "date"}


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
                name=name,
                store=next((str(value[key]) for key in sorted(_STORES & value.keys())), None),
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
