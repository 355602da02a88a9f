"""Two populations of scores side by side: where they differ, and whether their mix explains it.

A difference of rates is taken apart by strata of category, length and tools (post-stratification): both rates are
computed again as if the offline suite had the mix of production. What is left of the difference then is not due to the
mix of those three.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Final

from harness.online.trends.days import DayFacts
from harness.score import Scorecard
from harness.stats import Interval, wilson
from harness.trace import MEASURED
from harness.values import Frozen

_LENGTHS: Final = (4, 8, 16, 32)
_LEAST: Final = 0.8
"""Of production's weight that must lie in strata which the suite has too; else the mix cannot be compared."""


class Observation(Frozen):
    """One signal of one session or trial."""

    stratum: str
    """Category, length and tools."""
    signal: str
    bad: float
    weight: float = 1.0


class RateComparison(Frozen):
    """One signal in both populations. Shares are of what is bad."""

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


def online_observations(facts: DayFacts, since: str, until: str) -> list[Observation]:
    """Of the sessions received on these days."""
    rows = facts.rows(since, until)
    tools: dict[str, set[str]] = defaultdict(set)
    for session, _, _, signal, _, _ in rows:
        if signal.startswith("tool:"):
            tools[session].add(signal.removeprefix("tool:"))
    return [
        Observation(stratum=_stratum(category, steps, tools[session]), signal=signal, bad=value, weight=weight)
        for session, category, steps, signal, value, weight in rows
        if _is_rate(signal)
    ]


def offline_observations(cards: Iterable[tuple[Scorecard, int]]) -> list[Observation]:
    """Of scorecards, each with the number of steps of its trial; unmeasured trials are left out."""
    found: list[Observation] = []
    for card, steps in cards:
        if card.outcome not in MEASURED:
            continue
        stratum = _stratum(card.category, steps, {use.tool for use in card.tool_use})
        rates = {f"check:{one.check}": float(not one.passed) for one in card.verdicts if one.passed is not None}
        if card.success is not None:
            rates["success"] = float(not card.success)
        rates["any_failure_mode"] = float(bool(card.diagnoses))
        found += [Observation(stratum=stratum, signal=signal, bad=bad) for signal, bad in rates.items()]
    return found


def compare_populations(offline: Sequence[Observation], online: Sequence[Observation]) -> list[RateComparison]:
    """Every signal that both have."""
    names = sorted({one.signal for one in offline} & {one.signal for one in online})
    return [
        _compared(name, [one for one in offline if one.signal == name], [one for one in online if one.signal == name])
        for name in names
    ]


def _compared(signal: str, offline: Sequence[Observation], online: Sequence[Observation]) -> RateComparison:
    off_rate, on_rate = _rate(offline), _rate(online)
    off_interval, on_interval = wilson(off_rate, _effective(offline)), wilson(on_rate, _effective(online))
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


def _at_mix(offline: Sequence[Observation], online: Sequence[Observation]) -> tuple[float | None, float]:
    known: dict[str, list[Observation]] = defaultdict(list)
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


def _rate(observations: Sequence[Observation]) -> float:
    return sum(one.bad * one.weight for one in observations) / sum(one.weight for one in observations)


def _effective(observations: Sequence[Observation]) -> float:
    return sum(one.weight for one in observations) ** 2 / sum(one.weight**2 for one in observations)


def _is_rate(signal: str) -> bool:
    return signal in ("success", "any_failure_mode") or signal.startswith(("check:", "criterion:"))


def _stratum(category: str, steps: int, tools: set[str]) -> str:
    length = sum(steps > most for most in _LENGTHS)
    return f"{category}|{length}|{','.join(sorted(tools))}"
