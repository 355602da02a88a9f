"""Finds operations that answer more slowly than ever before."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from statistics import quantiles

from harness.drift.comparing.profile import LatencySample, OperationProfile
from harness.drift.observations import CallObservations
from harness.drift.operation_index import OperationIndex
from harness.results import DriftFinding

_SESSIONS = 2
_CALLS = 5
_TIMES = 2.0
_MORE_MS = 500.0


def times_of(day: date, took_ms: Sequence[float]) -> LatencySample:
    """The median and the slow end of at least two times."""
    cuts = quantiles(took_ms, n=20, method="inclusive")
    return LatencySample(day=day, calls=len(took_ms), p50_ms=round(cuts[9], 1), p95_ms=round(cuts[18], 1))


def slower_findings(observations: Iterable[CallObservations], operations: OperationIndex) -> Iterator[DriftFinding]:
    """Findings where half of at least five calls took twice as long as in any of at least two sessions, and half a
    second more than all but the slowest calls did."""
    own: defaultdict[tuple[str, str], list[CallObservations]] = defaultdict(list)
    for observation in observations:
        own[observation.tool, observation.operation].append(observation)
    for (tool, operation), found in sorted(own.items()):
        known = operations.profile(tool).operations.get(operation) or OperationProfile()
        took = [one for observation in found for one in observation.took_ms]
        if len(known.latency) < _SESSIONS or len(took) < _CALLS:
            continue
        now = times_of(date.min, took)
        usual, slow = max(one.p50_ms for one in known.latency), max(one.p95_ms for one in known.latency)
        if now.p50_ms > _TIMES * usual and now.p50_ms > slow + _MORE_MS:
            yield DriftFinding(
                tool=tool,
                operation=operation,
                change="latency",
                severity="info",
                path="",
                old_kind="usual time",
                new_kind="slower",
                before={"p50_ms": usual, "p95_ms": slow},
                after={"p50_ms": now.p50_ms, "p95_ms": now.p95_ms},
                cases=tuple(sorted({case for observation in found for case in observation.cases})),
                samples=len(took),
            )
