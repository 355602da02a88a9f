"""The figures of a Turing test: how often a simulated user passed, and how people and a judge rate its intent."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from typing import Final

from harness.judge.judgement import Judgement
from harness.judge.lab.turing.answers import TuringAnswer
from harness.stats import Interval, effective_n, weighted_kappa, wilson
from harness.values import Frozen

INTENT_RUBRIC: Final = "intent_consistency"
"""The template whose criteria `at_least_2` to `at_least_5` give a judge's point of the scale."""
_LEVELS: Final = tuple(f"at_least_{point}" for point in range(2, 6))


class RaterFigures(Frozen):
    """The agreement of two raters of intent consistency on conversations that both have rated."""

    raters: tuple[str, str]
    conversations: int
    same: float | None
    """Share of equal points."""
    within_one: float | None
    """Share of points that differ by one at most."""
    kappa: float | None
    """Cohen's kappa with quadratic weights; None where it is not defined."""


class TuringReport(Frozen):
    """The figures of a suite's simulated users."""

    pairs: int
    """The number of answers about a pair."""
    passed: int
    """The number of pairs in which the simulated user was taken for the person."""
    unsure: int
    """Pairs that could not be determined; each counts as half a pass."""
    pass_rate: float | None
    """0.5 is chance: the two cannot be distinguished."""
    interval: Interval | None
    """The 95 % Wilson interval; answers to one conversation count as correlated."""
    intent: dict[str, float]
    """Rater -> the mean rating; `judge` is a model."""
    people: tuple[RaterFigures, ...]
    judge: tuple[RaterFigures, ...]
    """The judge compared with each person."""
    left_out: tuple[str, ...] = ()
    """Malformed lines of the file."""


def turing_report(
    answers: Sequence[TuringAnswer], judgements: Iterable[Judgement] = (), left_out: tuple[str, ...] = ()
) -> TuringReport:
    """The report of the answers; `judgements` are those of a judge by the rubric `intent_consistency`."""
    identified = [one for one in answers if one.taken_for_real is not None]
    by_conversation: dict[str, list[float]] = defaultdict(list)
    for one in identified:
        by_conversation[one.simulated].append(_PASSES[one.taken_for_real or "real"])
    values = [value for ratings in by_conversation.values() for value in ratings]
    rate = sum(values) / len(values) if values else None
    points: dict[str, dict[str, int]] = defaultdict(dict)
    for one in answers:
        if one.intent is not None:
            points[one.annotator][one.simulated] = one.intent
    judged = judged_points(judgements)
    return TuringReport(
        pairs=len(identified),
        passed=sum(one.taken_for_real == "simulated" for one in identified),
        unsure=sum(one.taken_for_real == "unsure" for one in identified),
        pass_rate=rate,
        interval=None if rate is None else wilson(rate, effective_n(by_conversation)),
        intent={
            rater: sum(ratings.values()) / len(ratings)
            for rater, ratings in (*sorted(points.items()), ("judge", judged))
            if ratings
        },
        people=tuple(_figures(one, other, points) for one, other in combinations(sorted(points), 2)),
        judge=tuple(_figures("judge", person, {**points, "judge": judged}) for person in sorted(points) if judged),
        left_out=left_out,
    )


_PASSES: Final = {"simulated": 1.0, "unsure": 0.5, "real": 0.0}


def judged_points(judgements: Iterable[Judgement]) -> dict[str, int]:
    """Trajectory -> a judge's point: 1, and one more for each level in a row that is met; only of complete answers."""
    met: dict[str, dict[str, bool]] = defaultdict(dict)
    for one in judgements:
        if one.rubric == INTENT_RUBRIC and one.passed is not None:
            met[one.trajectory][one.criterion] = one.passed
    found = {}
    for trajectory, levels in met.items():
        if all(level in levels for level in _LEVELS):
            missed = [place for place, level in enumerate(_LEVELS) if not levels[level]]
            found[trajectory] = 1 + (missed[0] if missed else len(_LEVELS))
    return found


def _figures(one: str, other: str, points: Mapping[str, Mapping[str, int]]) -> RaterFigures:
    both = sorted(points[one].keys() & points[other].keys())
    pairs = [(points[one][place], points[other][place]) for place in both]
    return RaterFigures(
        raters=(one, other),
        conversations=len(pairs),
        same=_share([a == b for a, b in pairs]),
        within_one=_share([abs(a - b) <= 1 for a, b in pairs]),
        kappa=weighted_kappa(pairs),
    )


def _share(held: Sequence[bool]) -> float | None:
    return sum(held) / len(held) if held else None
