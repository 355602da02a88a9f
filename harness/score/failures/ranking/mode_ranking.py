"""The failure modes that a trial's findings and hints point at, the likeliest first, without a probability.

No probability is stated, because none held on a source that was left out: how often people give a mode differs between
sources more than it does between kinds. What was counted on labelled runs stands with each mode instead.

The order is by a noisy-or. Of each kind it is counted how many of the runs in which it stood people gave its mode
(`Fitted.findings`): a source's share, drawn towards the mode's rate at large in these sources as if `_WEIGHT` further
runs had that rate `b`. With p_k the share of a kind, a mode's weight is 1 - (1 - b) * prod((1 - p_k) / (1 - b)), over
the kinds with p_k > b. A kind that no labelled source has, and a judge's finding, joins them with its own confidence.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import prod
from typing import Final

from harness.score.diagnosis import Diagnosis, Failure, Kind, OwnKind
from harness.score.failures.ranking.fitted import Fitted, Seen, fitted
from harness.values import Frozen

_WEIGHT: Final = 10


class RankedMode(Frozen):
    """One mode of one trial."""

    failure: Failure
    weight: float
    """What the order is by, from 0 to 1: how strongly the trial points at the mode, as a rank. It is not a
    probability. A mode that is not listed has 0.
    """
    kinds: tuple[Kind | OwnKind, ...]
    """The kinds of its findings and hints."""
    counted: dict[str, dict[str, Seen]] = {}
    """Kind -> source -> what people gave the labelled runs in which it stands; a missing kind stands in none."""


def ranked_modes(diagnoses: Sequence[Diagnosis], numbers: Fitted | None = None) -> tuple[RankedMode, ...]:
    """The modes of which something was found, the likeliest first. `diagnoses`: findings and hints."""
    numbers = fitted() if numbers is None else numbers
    counts = {str(kind): seen for kind, seen in numbers.findings.items()}
    by_mode: dict[Failure, list[Diagnosis]] = {}
    for one in diagnoses:
        if one.failure not in ("other", "wrong_outcome"):
            by_mode.setdefault(one.failure, []).append(one)
    weights = {mode: _weight(some, counts) for mode, some in by_mode.items()}
    return tuple(
        RankedMode(
            failure=mode,
            weight=round(weights[mode], 4),
            kinds=kinds,
            counted={kind: counts[kind] for kind in kinds if kind in counts},
        )
        for mode in sorted(weights, key=lambda mode: (-weights[mode], mode))
        for kinds in [tuple(sorted({one.kind for one in by_mode[mode]}))]
    )


def _weight(found: Sequence[Diagnosis], counts: Mapping[str, Mapping[str, Seen]]) -> float:
    kinds = {one.kind: one.confidence for one in sorted(found, key=lambda one: one.confidence)}
    counted = [counts[kind] for kind in kinds if kind in counts]
    none = prod(1 - confidence for kind, confidence in kinds.items() if kind not in counts)
    if counted:
        rate = _rate(counted)
        shares = [_share(seen.values(), rate) for seen in counted]
        none *= (1 - rate) * prod((1 - share) / (1 - rate) for share in shares if share > rate)
    return 1 - none


def _rate(known: Iterable[Mapping[str, Seen]]) -> float:
    """The mode's rate among all labelled runs of the sources in which one of the kinds stands."""
    sources = {source: one for seen in known for source, one in seen.items()}
    labelled = sum(one.labelled for one in sources.values())
    return (labelled + 1) / (sum(one.runs for one in sources.values()) + 2)


def _share(seen: Iterable[Seen], rate: float) -> float:
    counted = list(seen)
    right = sum(one.right for one in counted)
    return (right + rate * _WEIGHT) / (sum(one.cases for one in counted) + _WEIGHT)
