"""One finding a cause: what began at one step in one way is one finding, whatever number of values it shows in."""

from collections.abc import Iterable, Sequence
from typing import Final

from harness.score.diagnosis import Diagnosis, Kind

_HABITS: Final[frozenset[Kind]] = frozenset({"guessed_argument", "unseen_target", "fabricated_result"})
"""What an agent that does it once does again: one finding from the first on."""


def by_cause(found: Iterable[Diagnosis]) -> tuple[Diagnosis, ...]:
    """Findings of one kind that began at one step as one, and those of a habit as one from its first step on.

    The evidence is the first one's, with the number of the others; the confidence is the highest.
    """
    groups: dict[tuple[str, str, int | None], list[Diagnosis]] = {}
    for one in found:
        step = None if one.kind in _HABITS else one.origin_step
        groups.setdefault((one.failure, one.kind, step), []).append(one)
    return tuple(_joined(group) for group in groups.values())


def _joined(group: Sequence[Diagnosis]) -> Diagnosis:
    if len(group) == 1:
        return group[0]
    first = min(group, key=lambda one: -1 if one.origin_step is None else one.origin_step)
    steps = {step for one in group for step in (one.origin_step, *one.dependent_steps) if step is not None}
    more = len(group) - 1
    return first.model_copy(
        update={
            "dependent_steps": tuple(sorted(steps - {first.origin_step})),
            "evidence": f"{first.evidence}; and {more} more of the kind",
            "confidence": max(one.confidence for one in group),
        }
    )
