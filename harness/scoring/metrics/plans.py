"""How good the stated plan was, and whether it was followed.

The plan is the first that the agent states. Its items are matched to calls by their words.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, pairwise
from typing import ClassVar, Final

from pydantic import JsonValue

from harness.scoring.evidence import Evidence, once
from harness.suite.cases import ReferenceCall
from harness.traces.trajectory import Content
from harness.values import JsonObject

# Plans are prose, so that words are compared: those of the tool's name and those of the arguments' values with the
# words of the item, by their first letters (`finalise` and `finalize` are one word) and with neighbours joined (`look
# up` is `lookup`). An item describes a call if on average it contains at least half of both. Descriptions in entirely
# different words are not recognised.

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
    """Reference id -> the item that describes it."""
    missing: tuple[str, ...]
    """Tools of the reference's calls that no item describes."""


def stated_plan(evidence: Evidence) -> tuple[str, ...] | None:
    """The first plan that the agent stated; None: none. What it made of it later is adherence."""
    return next((step.plan for step in evidence.trial.trajectory.steps if step.plan is not None), None)


def align_plan(plan: Sequence[str], reference: Sequence[ReferenceCall]) -> AlignedPlan:
    """For each reference call the item that describes it best; of equals the first that its order allows."""
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
    return CallWords(name=_distinct_words(tool), values=_values(arguments))


def speaks_of(item: str, tool: str, arguments: JsonObject | None) -> bool:
    """Whether an item of a plan names a call."""
    return call_words(tool, arguments).fits(item_words(item))


@lru_cache(maxsize=4096)
def _distinct_words(text: str) -> frozenset[str]:
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
            return _distinct_words(arguments[:500])
        case dict() if depth < _DEPTH:
            return frozenset().union(*(_values(part, depth + 1) for part in arguments.values()))
        case list() if depth < _DEPTH:
            return frozenset().union(*(_values(part, depth + 1) for part in arguments))
        case _:
            return frozenset()  # plans seldom contain numbers


def _share(wanted: frozenset[str], said: frozenset[str]) -> float:
    return len(wanted & said) / len(wanted) if wanted else 0.0


_NO_PLAN = "no plan was stated"
_NO_REFERENCE = "the case has no reference with a call"
Measured = tuple[float | None, str]


class PlanCoverage:
    """Reference calls (milestones) of which an item of the plan speaks / reference calls; share, 0 to 1.

    None without a stated plan and without a reference that has a call.
    """

    name: ClassVar[str] = "plan_coverage"
    version: ClassVar[str] = "1"
    reads: ClassVar[frozenset[Content]] = frozenset({"messages"})

    def measure(self, evidence: Evidence) -> Measured:
        found = _aligned(evidence)
        if isinstance(found, str):
            return None, found
        needed = len(found.places) + len(found.missing)
        missing = f"; not in the plan: {', '.join(found.missing)}" if found.missing else ""
        return len(found.places) / needed, f"{len(found.places)} of {needed} milestones are in the plan{missing}"


class PlanOrder:
    """Ordered pairs of milestones that the plan brings in the reference's order / those whose both ends it has.

    Share, 0 to 1. Ordered pairs are those that the reference's `after` demands, directly or through others. None as in
    `plan_coverage`, and if no pair has both its ends in the plan.
    """

    name: ClassVar[str] = "plan_order"
    version: ClassVar[str] = "1"
    reads: ClassVar[frozenset[Content]] = frozenset({"messages"})

    def measure(self, evidence: Evidence) -> Measured:
        found = _aligned(evidence)
        if isinstance(found, str):
            return None, found
        pairs = _demanded_pairs(evidence.case.reference or ())
        places = [(found.places[a], found.places[b]) for a, b in pairs if a in found.places and b in found.places]
        if not places:
            return None, "no two milestones of the plan have an order"
        good = sum(first <= second for first, second in places)
        return good / len(places), f"{good} of {len(places)} ordered pairs stand in order in the plan"


class PlanAdherence:
    """Items of the plan that were carried out in its order / items that speak of a tool; share, 0 to 1.

    Carried out: a call was made of which the item speaks, after the calls of the items before it; as many as can be.
    If the gateway observed any call, self-reported calls carry nothing out.
    Items that speak of no tool of the suite are left out (`think`). None without a stated plan, or if no item is
    left.
    """

    name: ClassVar[str] = "plan_adherence"
    version: ClassVar[str] = "1"
    reads: ClassVar[frozenset[Content]] = frozenset({"messages"})

    def measure(self, evidence: Evidence) -> Measured:
        plan = stated_plan(evidence)
        if plan is None:
            return None, _NO_PLAN
        done = _calls_of_items(plan, evidence)
        wanted = evidence.case.reference or ()
        concrete = sum(
            bool(places)
            or any(speaks_of(item, tool.name, None) for tool in evidence.tools)
            or any(speaks_of(item, call.tool, call.arguments) for call in wanted)
            for item, places in zip(plan, done, strict=True)
        )
        if not concrete:
            return None, "no item of the plan speaks of a tool"
        kept = _longest(done)
        return kept / concrete, f"{kept} of {concrete} items of the plan were carried out in its order"


class PlanQuality:
    """Mean of `plan_coverage`, `plan_order` and `plan_adherence`, as far as they are known; 0 to 1.

    None without a stated plan, or if none of the three is known.
    """

    name: ClassVar[str] = "plan_quality"
    version: ClassVar[str] = "1"
    reads: ClassVar[frozenset[Content]] = frozenset({"messages"})

    def measure(self, evidence: Evidence) -> Measured:
        parts = {part.name: part().measure(evidence)[0] for part in (PlanCoverage, PlanOrder, PlanAdherence)}
        known = {name.removeprefix("plan_"): value for name, value in parts.items() if value is not None}
        if not known:
            return None, _NO_PLAN
        return sum(known.values()) / len(known), ", ".join(f"{name} {value:.2f}" for name, value in known.items())


@once
def _aligned(evidence: Evidence) -> AlignedPlan | str:
    plan = stated_plan(evidence)
    if plan is None:
        return _NO_PLAN
    if not evidence.case.reference:
        return _NO_REFERENCE
    return align_plan(plan, evidence.case.reference)


def _demanded_pairs(reference: Sequence[ReferenceCall]) -> list[tuple[str, str]]:
    above: dict[str, set[str]] = {}
    for call in reference:
        above[call.id] = set(call.after).union(*(above[name] for name in call.after))
    return [(before, call.id) for call in reference for before in sorted(above[call.id])]


def _calls_of_items(plan: Sequence[str], evidence: Evidence) -> list[list[int]]:
    """For each item the places of the calls that it describes. Equal calls and equal items are compared once."""
    places: dict[CallWords, list[int]] = {}
    for place, call in enumerate(evidence.credited.made_calls):
        places.setdefault(call_words(call.name, call.arguments), []).append(place)
    known: dict[frozenset[str], list[int]] = {}
    for said in map(item_words, plan):
        if said not in known:
            fitting = (own for call, own in places.items() if call.fits(said))
            known[said] = sorted(chain.from_iterable(fitting))
    return [known[item_words(item)] for item in plan]


def _longest(done: Sequence[Sequence[int]]) -> int:
    """The most items that can be given a call each, the calls in ascending order: a patience sort with choices."""
    ends: list[int] = []  # ends[n]: the earliest last call of a chain of n + 1 items
    for places in done:
        for length in range(len(ends), -1, -1):
            after = ends[length - 1] if length else -1
            at = bisect_right(places, after)
            if at == len(places):
                continue
            first = places[at]
            if length == len(ends):
                ends.append(first)
            elif first < ends[length]:
                ends[length] = first
    return len(ends)
