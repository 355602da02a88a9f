"""Two populations of scores side by side: where they differ, and whether their mix explains it.

Compared are success, checks, judged criteria, failure modes, and the means of metrics. A difference is taken apart by
strata of category, length and tools (post-stratification): both are computed again as if the offline suite had the mix
of production. What is left of the difference then is not due to the mix of those three.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from harness.judge import Judgement
from harness.online.scores.facts import ANY_MODE, signals_of_card
from harness.online.trends.days import DayFacts
from harness.score import Scorecard
from harness.stats import Interval, wilson
from harness.trace import MEASURED
from harness.values import Frozen

_METRIC: Final = "metric:"
_LEAST_VALUES: Final = 5
"""Of a metric on one side; fewer have no interval."""
_Z: Final = 1.96
_LENGTHS: Final = (4, 8, 16, 32)
_LEAST: Final = 0.8
"""Of production's weight that must lie in strata which the suite has too; else the mix cannot be compared."""


class SignalValue(Frozen):
    """One signal of one session or trial."""

    stratum: str
    """Category, length and tools."""
    signal: str
    bad: float
    """Of a rate 1 or 0; of a metric its value."""
    weight: float = 1.0


class RateComparison(Frozen):
    """One signal in both populations. Shares are of what is bad; of a metric (`metric:<name>`) they are its means."""

    signal: str
    offline: float
    online: float
    offline_interval: Interval | None
    online_interval: Interval | None
    differs: bool
    """Whether the 95 % intervals do not overlap."""
    offline_at_mix: float | None
    """The offline share at production's mix; None where too little of production has a counterpart."""
    shared_weight: float
    """The share of production in strata that the suite has too."""
    explained: bool | None
    """Whether the share at the same mix lies within the online interval; None where it is not known, or nothing
    differs."""


def online_observations(facts: DayFacts, since: str, until: str) -> list[SignalValue]:
    """Of the sessions received on these days."""
    sessions: dict[str, list[tuple[str, int, str, float, float]]] = defaultdict(list)
    for session, category, steps, signal, value, weight in facts.rows(since, until):
        sessions[session].append((category, steps, signal, value, weight))
    found: list[SignalValue] = []
    for rows in sessions.values():
        category, steps, _, _, _ = rows[0]
        tools = {signal.removeprefix("tool:") for _, _, signal, _, _ in rows if signal.startswith("tool:")}
        stratum = _stratum(category, steps, tools)
        found += [
            SignalValue(stratum=stratum, signal=signal, bad=value, weight=weight)
            for _, _, signal, value, weight in rows
            if _is_compared(signal)
        ]
    return found


def offline_observations(
    cards: Iterable[tuple[Scorecard, int]], judgements: Iterable[Judgement] = ()
) -> list[SignalValue]:
    """Of scorecards, each with the number of steps of its trial, and what a judge found in their trials; trials that
    were not measured are left out.
    """
    found: list[SignalValue] = []
    strata: dict[tuple[str, int], str] = {}
    for card, steps in cards:
        if card.outcome not in MEASURED:
            continue
        stratum = _stratum(card.category, steps, {use.tool for use in card.tool_use})
        strata[card.case_id, card.attempt] = stratum
        found += [SignalValue(stratum=stratum, signal=signal, bad=bad) for signal, bad in signals_of_card(card)]
    answered = [one for one in judgements if one.answer in ("pass", "fail") and (one.case_id, one.attempt) in strata]
    rubrics: dict[str, set[str]] = defaultdict(set)
    for one in answered:
        rubrics[one.criterion].add(one.rubric)
    for one in answered:  # production names the rubric where two of the suite's have the criterion
        names = [f"{one.rubric}/{one.criterion}", *([one.criterion] if len(rubrics[one.criterion]) == 1 else [])]
        stratum, bad = strata[one.case_id, one.attempt], float(one.answer == "fail")
        found += [SignalValue(stratum=stratum, signal=f"criterion:{name}", bad=bad) for name in names]
    return found


def compare_populations(offline: Sequence[SignalValue], online: Sequence[SignalValue]) -> list[RateComparison]:
    """Every signal that both have. A failure mode that only one of them has is compared with its absence."""
    modes = {one.signal for one in (*offline, *online) if one.signal.startswith("mode:")}
    sides = [_by_signal(side, modes) for side in (offline, online)]
    return [_compared(name, sides[0][name], sides[1][name]) for name in sorted(sides[0].keys() & sides[1].keys())]


def _by_signal(observations: Sequence[SignalValue], modes: set[str]) -> dict[str, list[SignalValue]]:
    """With the sessions in which a mode was not found, which have no row of it."""
    found: dict[str, list[SignalValue]] = defaultdict(list)
    for one in observations:
        found[one.signal].append(one)
    searched = found.get(ANY_MODE, [])
    for mode in modes if searched else ():
        absent: dict[tuple[str, float], int] = defaultdict(int)
        for one in searched:
            absent[one.stratum, one.weight] += 1
        for one in found.get(mode, []):
            absent[one.stratum, one.weight] -= 1
        found[mode] += [
            SignalValue(stratum=stratum, signal=mode, bad=0.0, weight=weight)
            for (stratum, weight), count in sorted(absent.items())
            for _ in range(max(0, count))
        ]
    return found


def _compared(signal: str, offline: Sequence[SignalValue], online: Sequence[SignalValue]) -> RateComparison:
    off_rate, on_rate = _rate(offline), _rate(online)
    off_interval, on_interval = _interval(signal, offline), _interval(signal, online)
    differs = (
        off_interval is not None
        and on_interval is not None
        and (off_interval.high < on_interval.low or on_interval.high < off_interval.low)
    )
    mixed, shared = _at_mix(offline, online)
    explained = None
    if differs and mixed is not None and on_interval is not None:
        explained = on_interval.low <= mixed <= on_interval.high
    return RateComparison(
        signal=signal,
        offline=off_rate,
        online=on_rate,
        offline_interval=off_interval,
        online_interval=on_interval,
        differs=differs,
        offline_at_mix=mixed,
        shared_weight=shared,
        explained=explained,
    )


def _at_mix(offline: Sequence[SignalValue], online: Sequence[SignalValue]) -> tuple[float | None, float]:
    known: dict[str, list[SignalValue]] = defaultdict(list)
    for one in offline:
        known[one.stratum].append(one)
    weights: dict[str, float] = defaultdict(float)
    for one in online:
        weights[one.stratum] += one.weight
    total = sum(weights.values())
    shared = {stratum: weight for stratum, weight in weights.items() if stratum in known}
    share = sum(shared.values()) / total if total else 0.0
    if share < _LEAST:
        return None, share
    return sum(weight * _rate(known[stratum]) for stratum, weight in shared.items()) / sum(shared.values()), share


def _rate(observations: Sequence[SignalValue]) -> float:
    return sum(one.bad * one.weight for one in observations) / sum(one.weight for one in observations)


def _effective(observations: Sequence[SignalValue]) -> float:
    return sum(one.weight for one in observations) ** 2 / sum(one.weight**2 for one in observations)


def _interval(signal: str, observations: Sequence[SignalValue]) -> Interval | None:
    """95 %, by the effective number of sessions: Wilson's of a rate, the normal one of a mean."""
    effective, mean = _effective(observations), _rate(observations)
    if not signal.startswith(_METRIC):
        return wilson(min(1.0, max(0.0, mean)), effective)
    if len(observations) < _LEAST_VALUES:
        return None
    total = sum(one.weight for one in observations)
    variance = sum(one.weight * (one.bad - mean) ** 2 for one in observations) / total
    half = _Z * math.sqrt(variance / max(1.0, effective - 1))
    return Interval(low=mean - half, high=mean + half)


def _is_compared(signal: str) -> bool:
    return signal in ("success", ANY_MODE) or signal.startswith(("check:", "criterion:", "mode:", _METRIC))


def _stratum(category: str, steps: int, tools: set[str]) -> str:
    length = sum(steps > most for most in _LENGTHS)
    return f"{category}|{length}|{','.join(sorted(tools))}"
