"""Aligns a trial's calls with the case's reference: paired calls, missing calls, and calls that count against the
agent.
"""

from dataclasses import dataclass

from harness.score.comparison.arguments import call_key, keys_of
from harness.score.comparison.matching import match_calls
from harness.score.evidence import Evidence


@dataclass(frozen=True, kw_only=True)
class Alignment:
    """Neutral calls (allowed reads that the reference does not make, new since the last write) are not counted.

    A call of the reference counts at any position, so that the counts do not depend on which of several maximum
    pairings was found.
    """

    needed: int
    """Calls of the reference."""
    paired: int
    missing: tuple[str, ...]
    """Tools of the reference's unpaired calls."""
    counted: int
    counted_after_last: int
    """Of the counted calls those made after the last paired one."""
    exact: bool


def reference_keys(evidence: Evidence) -> tuple[str, ...]:
    """The keys of the reference's calls, in order; empty where the case has no reference."""
    return evidence.once(_reference_keys)


def _reference_keys(evidence: Evidence) -> tuple[str, ...]:
    tools = {tool.name: tool for tool in evidence.tools}
    return tuple(call_key(tools.get(call.tool), call.tool, call.arguments) for call in evidence.case.reference or ())


def align(evidence: Evidence) -> Alignment | None:
    """None where the case has no reference."""
    return evidence.once(_align)


def _align(evidence: Evidence) -> Alignment | None:
    reference = evidence.case.reference
    if reference is None:
        return None
    calls = evidence.made_calls
    made = list(keys_of(evidence))
    wanted = reference_keys(evidence)
    found = match_calls(reference, wanted, made)
    neutral = neutral_calls(evidence) - {place for place, key in enumerate(made) if key in wanted}
    counted = [place for place in range(len(calls)) if place not in neutral]
    return Alignment(
        needed=len(reference),
        paired=len(found.pairs),
        missing=tuple(call.tool for call in reference if call.id not in found.pairs),
        counted=len(counted),
        counted_after_last=sum(place > found.last for place in counted),
        exact=found.exact,
    )


def neutral_calls(evidence: Evidence) -> frozenset[int]:
    """Places, among the calls that were made, of allowed reads that were not made before since the last write."""
    return evidence.once(_neutral)


def _neutral(evidence: Evidence) -> frozenset[int]:
    tools = {tool.name: tool for tool in evidence.tools}
    seen: set[str] = set()
    neutral: set[int] = set()
    allowed = evidence.allowed
    for place, (call, key) in enumerate(zip(evidence.made_calls, keys_of(evidence), strict=True)):
        tool = tools.get(call.name)
        if tool is not None and tool.effect == "write":
            seen.clear()
        elif call.name in allowed and key not in seen:
            neutral.add(place)
        seen.add(key)
    return frozenset(neutral)
