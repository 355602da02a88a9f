"""Whether a release is worse than those before it, tested after each of its runs; `trend.py` uses it."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from harness.score import Scorecard
from harness.stats import fisher_greater, holm, level_of_look, sign_test_greater

_SAME = 1e-9

Test = Literal["sign test over the same cases", "Fisher's exact test over cases"]

Values = dict[str, list[float]]
"""Case -> the figure in each of its measured trials."""

Figure = tuple[str, Literal["metric", "failure"], bool, Callable[[Scorecard], float | None]]


Line = tuple[Figure, list[Values]]
"""A figure, and its values in each run."""

Tested = dict[str, object]
"""What a test adds to a `TrendPoint`."""


@dataclass(frozen=True, kw_only=True)
class RunCards:
    """The scorecards of a run."""

    release: str
    cards: tuple[Scorecard, ...]


def tests_of(lines: Sequence[Line], runs: Sequence[RunCards], releases: Sequence[str], number: int) -> list[Tested]:
    """The last of `releases` after each run of it, and of the earlier ones since it began; by line."""
    now: list[Values] = [{} for _ in lines]
    before: list[Values] = [{} for _ in lines]
    kept: list[Tested] = [{} for _ in lines]
    look, begun = 0, False
    for place, run in enumerate(runs):
        if run.release not in releases:
            continue
        is_own = run.release == releases[-1]
        for (_, by_run), own, earlier in zip(lines, now, before, strict=True):
            extend(own if is_own else earlier, by_run[place])
        begun = begun or is_own
        if begun:
            look += 1
            found = _look(lines, now, before, level_of_look(number, look))
            kept = [_kept(old, new, look) for old, new in zip(kept, found, strict=True)]
    return [one | {"looks": look} if one else one for one in kept]


def _kept(old: Tested, new: Tested, look: int) -> Tested:
    """Selects the first flagged test, else the newest test."""
    return old if old.get("spike") or not new else new | {"look": look}


def _look(lines: Sequence[Line], now: Sequence[Values], before: Sequence[Values], level: float) -> list[Tested]:
    """Tests all figures once, with correction; empty if nothing can be compared."""
    pairs = [_equally_many(own, earlier) for own, earlier in zip(now, before, strict=True)]
    tested = [_tested(figure, *pair) for (figure, _), pair in zip(lines, pairs, strict=True)]
    figures = sum(p is not None for p, _ in tested)
    found: list[Tested] = []
    for (_, test), p, (own, earlier) in zip(tested, holm([p for p, _ in tested]), pairs, strict=True):
        if p is None or test is None:
            found.append({})
            continue
        sizes = _sizes(test, own, earlier)
        power = {"level": level, "cases": sizes[0], "flags_from": _flags_from(test, sizes, level / figures)}
        found.append({"p": p, "test": test, "spike": p <= level, **power})
    return found


def _equally_many(now: Values, before: Values) -> tuple[Values, Values]:
    """The latest trials of each case: as many now as before. Of cases that do not come twice, as many of each."""
    if _mostly_shared(now, before):
        most = {case: min(len(own), len(before[case])) for case, own in now.items() if case in before}
    else:
        fewest = min((len(own) for side in (now, before) for own in side.values()), default=0)
        most = dict.fromkeys({*now, *before}, fewest)
    return _latest(now, most), _latest(before, most)


def _latest(values: Values, most: Mapping[str, int]) -> Values:
    return {case: own[-most[case] :] if case in most else own for case, own in values.items()}


def _mostly_shared(now: Values, before: Values) -> bool:
    return 2 * sum(case in before for case in now) >= len(now)


def extend(values: Values, more: Values) -> None:
    for case, own in more.items():
        values.setdefault(case, []).extend(own)


def _sizes(test: Test, now: Values, before: Values) -> tuple[int, int, int]:
    """Cases that the test uses; of Fisher's also the cases before, and those of them with the failure."""
    if test == "sign test over the same cases":
        return sum(case in before for case in now), 0, 0
    return len(now), len(before), sum(_mean(own) > 0 for own in before.values())


def _flags_from(test: Test, sizes: tuple[int, int, int], level: float) -> int | None:
    """The fewest worse cases with a p-value that even the first step of Holm's correction flags."""
    cases, earlier, earlier_with = sizes
    for worse in range(1, cases + 1):
        if test == "sign test over the same cases":
            p = sign_test_greater(worse, 0)
        else:
            p = fisher_greater(worse, cases - worse, earlier_with, earlier - earlier_with)
        if p is not None and p <= level:
            return worse
    return None


def _tested(figure: Figure, now: Values, before: Values) -> tuple[float | None, Test | None]:
    _, kind, less, _ = figure
    shared = [case for case in now if case in before]
    if not now or not before:
        return None, None
    if _mostly_shared(now, before):
        steps = [_mean(now[case]) - _mean(before[case]) for case in shared]
        up, down = sum(step > _SAME for step in steps), sum(step < -_SAME for step in steps)
        return sign_test_greater(*((up, down) if less else (down, up))), "sign test over the same cases"
    if kind != "failure":
        return None, None
    with_now, with_before = (sum(_mean(own) > 0 for own in one.values()) for one in (now, before))
    p = fisher_greater(with_now, len(now) - with_now, with_before, len(before) - with_before)
    return p, "Fisher's exact test over cases"


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)
