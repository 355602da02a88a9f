"""A Turing test of simulated users: pairs, questions, the answers of people, and figures."""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import combinations
from pathlib import Path
from typing import Final, Literal

from pydantic import Field, model_validator

from harness.judging.labels import Annotator, append_line, read_lines
from harness.judging.verdicts import Judgement
from harness.scoring.statistics.agreement import weighted_kappa
from harness.scoring.statistics.intervals import Interval, effective_n, wilson
from harness.traces.trial import Trial
from harness.users.log import log_of_trajectory
from harness.values import Frozen, digest_of

# Pairs of a real and a simulated conversation, as an annotator sees them.

_LEAST: Final = 2
"""The number of user messages that a conversation needs: in a shorter one the simulator wrote none."""
_SIGNAL: Final = re.compile(r"\[\[\s*END[^\]\n]{0,60}\]\]|</?finished>|#{2,3}\s*[A-Z][A-Z-]+\s*#{2,3}")
"""The signals by which simulators end a conversation: they would reveal the simulated one."""


class ShownConversation(Frozen):
    """One conversation without anything that would reveal its source."""

    run: str
    case_id: str
    attempt: int
    trajectory: str
    """Digest of the trajectory."""
    plan: str = ""
    """The user's plan; shown only when the user's adherence to it is rated."""
    turns: tuple[tuple[str, str], ...]
    """The user's message, and what the agent said to it."""


class TuringPair(Frozen):
    """Two conversations, one of a person."""

    real: ShownConversation
    simulated: ShownConversation

    def real_is_first(self, annotator: str) -> bool:
        """Whether the real one is shown first: pseudo-random, and the same when the page is opened again."""
        return int(digest_of([annotator, self.real.trajectory, self.simulated.trajectory])[-1], 16) % 2 == 0


def conversations_of(run: str, trials: Iterable[Trial], plans: dict[str, str]) -> list[ShownConversation]:
    """The conversations of a run's trials with two messages of the user or more; equal ones once."""
    found: dict[str, ShownConversation] = {}
    for trial in trials:
        log = log_of_trajectory(trial.trajectory, {})
        turns = () if log is None else tuple((_plain(turn.user), _plain(turn.agent)) for turn in log.turns)
        turns = tuple(turn for turn in turns if any(turn))
        if len(turns) >= _LEAST:
            digest = trial.trajectory.digest
            found.setdefault(
                digest,
                ShownConversation(
                    run=run,
                    case_id=trial.case_id,
                    attempt=trial.attempt,
                    trajectory=digest,
                    plan=plans.get(trial.case_id, ""),
                    turns=turns,
                ),
            )
    return list(found.values())


def pairs_of(real: Sequence[ShownConversation], simulated: Sequence[ShownConversation]) -> list[TuringPair]:
    """Pairs each simulated conversation with a real one, of the same case if possible; a real one is used once."""
    waiting: dict[str, list[ShownConversation]] = defaultdict(list)
    for one in real:
        waiting[one.case_id].append(one)
    real_by_case: dict[str, ShownConversation] = {}
    for one in simulated:
        if waiting[one.case_id]:
            real_by_case[one.trajectory] = waiting[one.case_id].pop(0)
    left = iter([one for case in sorted(waiting) for one in waiting[case]])
    pairs = []
    for one in simulated:
        other = real_by_case.get(one.trajectory) or next(left, None)
        if other is not None:
            pairs.append(TuringPair(real=other, simulated=one))
    return pairs


def _plain(text: str) -> str:
    return _SIGNAL.sub("", text).strip()


# The answers of people in a Turing test: one JSON line for each answer, in the suite's folder of labels.

TakenForReal = Literal["real", "simulated", "unsure"]


class TuringAnswer(Frozen):
    """One line: which of two conversations was taken for a person's, or how well a user kept to its plan."""

    annotator: Annotator
    run: str
    """The case of the simulated conversation."""
    case_id: str
    attempt: int
    simulated: str
    """Digest of its trajectory."""
    real: str | None = None
    """Digest of the person's conversation in the pair; None: the answer is a rating."""
    taken_for_real: TakenForReal | None = None
    """Which of the pair the annotator took for the person's."""
    intent: int | None = Field(default=None, ge=1, le=5)
    """How well the user followed its plan: 1 not at all, 5 throughout."""
    time: str
    """ISO 8601, UTC."""

    @model_validator(mode="after")
    def _is_one_of_both(self) -> "TuringAnswer":
        if (self.real is None) != (self.taken_for_real is None) or (self.real is None) != (self.intent is not None):
            raise ValueError("an answer has `real` and `taken_for_real`, or `intent`")
        return self


def turing_path(project: Path, suite: str) -> Path:
    """`suites/<suite>/labels/turing.jsonl`."""
    return project / "suites" / suite / "labels" / "turing.jsonl"


class TuringFile:
    """Reads and adds answers."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, answer: TuringAnswer) -> None:
        """Adds one line and flushes it to disk. Raises InvalidDocument if the file cannot be written."""
        append_line(self.path, answer)

    def answers(self) -> tuple[list[TuringAnswer], tuple[str, ...]]:
        """The last answer of each annotator to each question, and descriptions of malformed lines."""
        last: dict[tuple[str, str, str | None], TuringAnswer] = {}
        wrong: list[str] = []
        for number, line in self._lines():
            if isinstance(line, str):
                wrong.append(f"{self.path.name}, line {number} {line}")
            else:
                last[line.annotator, line.simulated, line.real] = line
        return list(last.values()), tuple(wrong)

    def _lines(self) -> Iterator[tuple[int, TuringAnswer | str]]:
        return read_lines(self.path, TuringAnswer)


# The questions of one annotator: all pairs first, since the ratings that follow name the simulated conversation.

SCALE: Final = {
    1: "does something else",
    2: "pursues little of it",
    3: "pursues some of it",
    4: "pursues nearly all of it",
    5: "keeps to it throughout",
}
"""The five points of intent consistency."""


class PairQuestion(Frozen):
    """Which of two conversations is a person's?"""

    pair: TuringPair
    real_is_first: bool

    @property
    def shown(self) -> tuple[ShownConversation, ShownConversation]:
        """The two conversations in the order of display."""
        pair = self.pair
        return (pair.real, pair.simulated) if self.real_is_first else (pair.simulated, pair.real)

    def answer(self, key: str, annotator: str) -> TuringAnswer | None:
        """The answer of a key: `a` the first, `b` the second, `u` cannot be determined; None for any other key."""
        if key not in ("a", "b", "u"):
            return None
        first = key == "a"
        return _answer(
            self.pair.simulated,
            annotator,
            real=self.pair.real.trajectory,
            taken_for_real="unsure" if key == "u" else "real" if first == self.real_is_first else "simulated",
        )


class IntentQuestion(Frozen):
    """How well does the user follow its plan?"""

    conversation: ShownConversation

    def answer(self, key: str, annotator: str) -> TuringAnswer | None:
        """The answer of a key from 1 to 5; None for any other."""
        if key not in {str(point) for point in SCALE}:
            return None
        return _answer(self.conversation, annotator, intent=int(key))


def questions_of(
    pairs: Sequence[TuringPair], answered: Sequence[TuringAnswer], annotator: str
) -> list[PairQuestion | IntentQuestion]:
    """The questions that the annotator has not answered. Conversations without a plan are not rated."""
    answered_pairs = {(one.simulated, one.real) for one in answered if one.annotator == annotator}
    of_pairs: list[PairQuestion | IntentQuestion] = [
        PairQuestion(pair=pair, real_is_first=pair.real_is_first(annotator))
        for pair in pairs
        if (pair.simulated.trajectory, pair.real.trajectory) not in answered_pairs
    ]
    rated = {pair.simulated.trajectory: pair.simulated for pair in pairs if pair.simulated.plan}
    return of_pairs + [
        IntentQuestion(conversation=one) for digest, one in rated.items() if (digest, None) not in answered_pairs
    ]


def _answer(
    about: ShownConversation,
    annotator: str,
    *,
    real: str | None = None,
    taken_for_real: TakenForReal | None = None,
    intent: int | None = None,
) -> TuringAnswer:
    return TuringAnswer(
        annotator=annotator,
        run=about.run,
        case_id=about.case_id,
        attempt=about.attempt,
        simulated=about.trajectory,
        real=real,
        taken_for_real=taken_for_real,
        intent=intent,
        time=datetime.now(UTC).isoformat(timespec="seconds"),
    )


# The figures of a Turing test: how often a simulated user passed, and how people and a judge rate its intent.

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
    """Cohen's kappa with quadratic weights; None if it is not defined."""


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
