"""How good the stated plan was, and whether it was followed.

The plan is the first that the agent states. Its items are matched to calls by their words (see `planning`).
"""

from bisect import bisect_right
from collections.abc import Sequence
from itertools import chain
from typing import ClassVar

from harness.case import ReferenceCall
from harness.score.evidence import Evidence
from harness.score.planning import AlignedPlan, CallWords, align_plan, call_words, item_words, speaks_of, stated_plan

_NO_PLAN = "no plan was stated"
_NO_REFERENCE = "the case has no reference with a call"
Measured = tuple[float | None, str]


class PlanCoverage:
    """Reference calls (milestones) of which an item of the plan speaks / reference calls; share, 0 to 1.

    None without a stated plan and without a reference that has a call.
    """

    name: ClassVar[str] = "plan_coverage"
    version: ClassVar[str] = "1"

    def measure(self, evidence: Evidence) -> Measured:
        found = evidence.once(_aligned)
        if isinstance(found, str):
            return None, found
        needed = len(found.places) + len(found.missing)
        missing = f"; not in the plan: {', '.join(found.missing)}" if found.missing else ""
        return len(found.places) / needed, f"{len(found.places)} of {needed} milestones are in the plan{missing}"


class PlanOrder:
    """Ordered pairs of milestones that the plan brings in the reference's order / those whose both ends it has.

    Share, 0 to 1. Ordered pairs are those that the reference's `after` demands, directly or through others. None as in
    `plan_coverage`, and where no pair has both its ends in the plan.
    """

    name: ClassVar[str] = "plan_order"
    version: ClassVar[str] = "1"

    def measure(self, evidence: Evidence) -> Measured:
        found = evidence.once(_aligned)
        if isinstance(found, str):
            return None, found
        pairs = _pairs(evidence.case.reference or ())
        places = [(found.places[a], found.places[b]) for a, b in pairs if a in found.places and b in found.places]
        if not places:
            return None, "no two milestones of the plan have an order"
        good = sum(first <= second for first, second in places)
        return good / len(places), f"{good} of {len(places)} ordered pairs stand in order in the plan"


class PlanAdherence:
    """Items of the plan that were carried out in its order / items that speak of a tool; share, 0 to 1.

    Carried out: a call was made of which the item speaks, after the calls of the items before it; as many as can be.
    Where the gateway observed any call, self-reported calls carry nothing out.
    Items that speak of no tool of the suite are left out (`think`). None without a stated plan, and where no item is
    left.
    """

    name: ClassVar[str] = "plan_adherence"
    version: ClassVar[str] = "1"

    def measure(self, evidence: Evidence) -> Measured:
        plan = stated_plan(evidence)
        if plan is None:
            return None, _NO_PLAN
        done = _done(plan, evidence)
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

    None without a stated plan, and where none of the three is known.
    """

    name: ClassVar[str] = "plan_quality"
    version: ClassVar[str] = "1"

    def measure(self, evidence: Evidence) -> Measured:
        parts = {part.name: part().measure(evidence)[0] for part in (PlanCoverage, PlanOrder, PlanAdherence)}
        known = {name.removeprefix("plan_"): value for name, value in parts.items() if value is not None}
        if not known:
            return None, _NO_PLAN
        return sum(known.values()) / len(known), ", ".join(f"{name} {value:.2f}" for name, value in known.items())


def _aligned(evidence: Evidence) -> AlignedPlan | str:
    plan = stated_plan(evidence)
    if plan is None:
        return _NO_PLAN
    if not evidence.case.reference:
        return _NO_REFERENCE
    return align_plan(plan, evidence.case.reference)


def _pairs(reference: Sequence[ReferenceCall]) -> list[tuple[str, str]]:
    above: dict[str, set[str]] = {}
    for call in reference:
        above[call.id] = set(call.after).union(*(above[name] for name in call.after))
    return [(before, call.id) for call in reference for before in sorted(above[call.id])]


def _done(plan: Sequence[str], evidence: Evidence) -> list[list[int]]:
    """For each item the places of the calls of which it speaks. Equal calls and equal items are compared once."""
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
