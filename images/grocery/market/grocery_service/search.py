"""Which products a shopper's words mean: a deterministic ranking that says how each product matched.

Words are compared without case, punctuation and plural endings. The ranking is by kind of match, then by how many of
the query's words fit, then by how few of the product's words are left over, then by the product's place.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import IntEnum

_IGNORED = frozenset({"a", "an", "the", "of", "and", "some", "for", "with", "fresh", "good", "nice"})


class Match(IntEnum):
    """How a query fits a product, best first."""

    EXACT = 0
    """The query is the product's name or one of its aliases."""
    ALL_WORDS = 1
    """Every word of the query belongs to the product's names or category; the product has more."""
    NAMED = 2
    """A whole name or alias stands in the query, among other words."""
    SOME_WORDS = 3
    """Some words of the query do."""


@dataclass(frozen=True, kw_only=True)
class SearchEntry:
    """What one product is found by."""

    product_id: str
    position: int
    names: tuple[frozenset[str], ...]
    category: frozenset[str]

    @property
    def words(self) -> frozenset[str]:
        """All words that belong to the product."""
        return self.category.union(*self.names)


@dataclass(frozen=True, kw_only=True)
class Hit:
    """One product that fits."""

    product_id: str
    match: Match
    rank: tuple[int, int, int, int]


def entry(product_id: str, position: int, names: Iterable[str], category: str) -> SearchEntry:
    """What `product_id` is found by: its name and aliases, and its category."""
    return SearchEntry(
        product_id=product_id,
        position=position,
        names=tuple(frozenset(_stems(name)) for name in names),
        category=frozenset(_stems(category)),
    )


def search(entries: Iterable[SearchEntry], query: str) -> list[Hit]:
    """The products that share a word with the query, best first."""
    said = frozenset(_stems(query))
    hits = [hit for one in entries if (hit := _hit(one, said)) is not None]
    return sorted(hits, key=lambda hit: hit.rank)


def _hit(one: SearchEntry, said: frozenset[str]) -> Hit | None:
    fitting = said & one.words
    if not fitting:
        return None
    match = _match(one, said, fitting)
    spare = min(len(name - said) for name in one.names)
    return Hit(product_id=one.product_id, match=match, rank=(match, -len(fitting), spare, one.position))


def _match(one: SearchEntry, said: frozenset[str], fitting: frozenset[str]) -> Match:
    if said in one.names:
        return Match.EXACT
    if said == fitting:
        return Match.ALL_WORDS
    if any(name <= said for name in one.names):
        return Match.NAMED
    return Match.SOME_WORDS


def _stems(text: str) -> list[str]:
    found = re.findall(r"[a-z0-9]+", text.casefold().replace("'", "").replace("\u2019", ""))
    return [_stem(word) for word in found if word not in _IGNORED]


def _stem(word: str) -> str:
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ches", "shes", "xes", "sses", "oes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith("ss"):
        return word[:-1]
    return word
