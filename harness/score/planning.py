"""Compares a stated plan with calls: which of its items describe which call.

Plans are prose, so that words are compared: those of the tool's name and those of the arguments' values with the words
of the item, by their first letters (`finalise` and `finalize` are one word) and with neighbours joined (`look up` is
`lookup`). An item describes a call where on average it contains at least half of both. Descriptions in entirely
different words are not recognised.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Final

from harness.case import ReferenceCall
from harness.score.evidence import Evidence
from harness.values import JsonObject, JsonValue

_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")
_LETTERS: Final = 5
_ENOUGH: Final = 0.5
_SMALL: Final = frozenset(
    {"a", "an", "the", "to", "of", "in", "on", "for", "and", "it", "is", "with", "by", "at", "get"}
)
_DEPTH: Final = 8


@dataclass(frozen=True, kw_only=True)
class AlignedPlan:
    """A plan aligned with the reference. Places are indices into the plan."""

    places: dict[str, int]
    """Reference id -> the item that speaks of it."""
    missing: tuple[str, ...]
    """Tools of the reference's calls that no item speaks of."""


def stated_plan(evidence: Evidence) -> tuple[str, ...] | None:
    """The first plan that the agent stated; None: none. What it made of it later is adherence."""
    return next((step.plan for step in evidence.trial.trajectory.steps if step.plan is not None), None)


def align_plan(plan: Sequence[str], reference: Sequence[ReferenceCall]) -> AlignedPlan:
    """For each reference call the item that speaks of it most; of equals the first that its order allows."""
    places: dict[str, int] = {}
    for call in reference:
        words = call_words(call.tool, call.arguments)
        fits = [words.share_in(item_words(item)) for item in plan]
        best = max(fits, default=0.0)
        if best < _ENOUGH:
            continue
        earliest = max((places[name] for name in call.after if name in places), default=0)
        found = [place for place, value in enumerate(fits) if value == best]
        taken = set(places.values())
        later = [place for place in found if place >= earliest]
        places[call.id] = next((place for place in later if place not in taken), (later or found)[0])
    missing = tuple(call.tool for call in reference if call.id not in places)
    return AlignedPlan(places=places, missing=missing)


@dataclass(frozen=True)
class CallWords:
    """The words of a call, made once for all items of a plan."""

    name: frozenset[str]
    values: frozenset[str]

    def share_in(self, item: frozenset[str]) -> float:
        """The share of the words in an item's words, 0 to 1; the tool's name and the arguments have the same weight."""
        name = _share(self.name, item)
        return name if not self.values else (name + _share(self.values, item)) / 2

    def fits(self, item: frozenset[str]) -> bool:
        """Whether an item with these words names the call."""
        return self.share_in(item) >= _ENOUGH


def call_words(tool: str, arguments: JsonObject | None) -> CallWords:
    return CallWords(name=_words(tool), values=_values(arguments))


def speaks_of(item: str, tool: str, arguments: JsonObject | None) -> bool:
    """Whether an item of a plan names a call."""
    return call_words(tool, arguments).fits(item_words(item))


@lru_cache(maxsize=4096)
def _words(text: str) -> frozenset[str]:
    return frozenset(word.casefold()[:_LETTERS] for word in _WORD.findall(text) if word.casefold() not in _SMALL)


@lru_cache(maxsize=4096)
def item_words(item: str) -> frozenset[str]:
    """The words of a plan's item, and each two neighbours as one."""
    words = [word.casefold() for word in _WORD.findall(item)]
    joined = {(one + two)[:_LETTERS] for one, two in pairwise(words)}
    return frozenset(word[:_LETTERS] for word in words) | joined


def _values(arguments: JsonValue, depth: int = 0) -> frozenset[str]:
    match arguments:
        case str():
            return _words(arguments[:500])
        case dict() if depth < _DEPTH:
            return frozenset().union(*(_values(part, depth + 1) for part in arguments.values()))
        case list() if depth < _DEPTH:
            return frozenset().union(*(_values(part, depth + 1) for part in arguments))
        case _:
            return frozenset()  # plans seldom contain numbers


def _share(wanted: frozenset[str], said: frozenset[str]) -> float:
    return len(wanted & said) / len(wanted) if wanted else 0.0
