"""Which items a guest's words mean: a plain, deterministic ranking that says how it matched.

Words are compared without case, punctuation and plural endings. The ranking is by kind of match, then by how many of
the query's words fit, then by how few of the item's words are left over, then by the item's place on the menu.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

_IGNORED = frozenset({"a", "an", "the", "of", "and", "some"})


class Match(IntEnum):
    """How a query fits an item, best first."""

    EXACT = 0
    """The query is the item's name or one of its aliases."""
    ALL_WORDS = 1
    """Every word of the query belongs to the item's names or category; the item has more."""
    NAMED = 2
    """A whole name or alias stands in the query, among other words."""
    SOME_WORDS = 3
    """Some words of the query do."""


@dataclass(frozen=True, kw_only=True)
class SearchEntry:
    """What one item is found by."""

    item_id: str
    position: int
    names: tuple[frozenset[str], ...]
    category: frozenset[str]

    @property
    def words(self) -> frozenset[str]:
        """All words that belong to the item."""
        return self.category.union(*self.names)


@dataclass(frozen=True, kw_only=True)
class Hit:
    """One item that fits, and the words of the query that it does not account for."""

    item_id: str
    match: Match
    unmatched: tuple[str, ...]
    rank: tuple[int, int, int, int]


def entry(item_id: str, position: int, names: Iterable[str], category: str) -> SearchEntry:
    """What `item_id` is found by: its name and aliases, and its category."""
    phrases = tuple(frozenset(_stem(word) for word in _words(name)) for name in names)
    return SearchEntry(
        item_id=item_id,
        position=position,
        names=phrases,
        category=frozenset(_stem(word) for word in _words(category)),
    )


def search(entries: Iterable[SearchEntry], query: str, limit: int) -> list[Hit]:
    """At most `limit` items that share a word with the query, best first."""
    words = _words(query)
    hits = [hit for item in entries if (hit := _hit(item, words)) is not None]
    return sorted(hits, key=lambda hit: hit.rank)[:limit]


def _hit(item: SearchEntry, words: list[str]) -> Hit | None:
    said = frozenset(_stem(word) for word in words)
    fitting = said & item.words
    if not fitting:
        return None
    match, matched = _match(item, said, fitting)
    spare = min(len(name - said) for name in item.names)
    unmatched = tuple(word for word in words if _stem(word) not in matched)
    return Hit(
        item_id=item.item_id, match=match, unmatched=unmatched, rank=(match, -len(matched), spare, item.position)
    )


def _match(item: SearchEntry, said: frozenset[str], fitting: frozenset[str]) -> tuple[Match, frozenset[str]]:
    if said in item.names:
        return Match.EXACT, said
    if said == fitting:
        return Match.ALL_WORDS, said
    if any(name <= said for name in item.names):
        return Match.NAMED, fitting
    return Match.SOME_WORDS, fitting


def _words(text: str) -> list[str]:
    found = re.findall(r"[a-z0-9]+", text.casefold().replace("'", "").replace("\u2019", ""))
    return [word for word in found if word not in _IGNORED]


def _stem(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "xes", "sses")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word
