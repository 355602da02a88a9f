"""Measures how often a judge contradicts itself: the same questions are sent repeatedly, without a cache."""

from collections import Counter
from collections.abc import Sequence
from itertools import combinations

from harness.judge.lab.calibration.question import JudgeAnswer, PromptedJudge, Question
from harness.judge.rubric import Rubric
from harness.values import Frozen


class StabilityRow(Frozen):
    """One criterion, or all criteria."""

    name: str
    items: int
    """Items that were judged at least twice."""
    flip_rate: float | None
    """Share of pairs of answers to the same question that differ, the mean over items; None: no pair. Two more answers
    of this judge differ with this probability."""
    flipped_items: int
    """Items whose answers are not all the same."""
    judge_failed: int
    """Failed answers, which are in no pair."""


class Stability(Frozen):
    """The agreement of a judge with itself."""

    samples: int
    overall: StabilityRow
    criteria: tuple[StabilityRow, ...]
    flipped: tuple[tuple[str, dict[str, int]], ...]
    """The questions with several answers, and the number of each answer; the least certain first."""


def stability(
    judge: PromptedJudge, prompt: str, questions: Sequence[Question], rubric: Rubric, samples: int
) -> Stability:
    """Sends every question `samples` times; raises the judge's errors."""
    rounds = [judge.answers(prompt, questions, sample) for sample in range(1, samples + 1)]
    answers = {
        question.id: answers_by_item
        for question, answers_by_item in zip(questions, zip(*rounds, strict=True), strict=True)
    }
    by_criterion: dict[str, list[Question]] = {one.id: [] for one in rubric.criteria}
    for question in questions:
        known = rubric.criterion(question.criterion)
        if known is not None:
            by_criterion[known.id].append(question)
    counted = {id: Counter(one.answer for one in answers_by_item) for id, answers_by_item in answers.items()}
    flipped = [(id, dict(count)) for id, count in counted.items() if len(count.keys() - {"judge_failed"}) > 1]
    return Stability(
        samples=samples,
        overall=_row("all", [answers[one.id] for one in questions]),
        criteria=tuple(_row(name, [answers[one.id] for one in asked]) for name, asked in by_criterion.items() if asked),
        flipped=tuple(sorted(flipped, key=lambda one: max(one[1].values()))),
    )


def _row(name: str, answers_by_item: Sequence[Sequence[JudgeAnswer]]) -> StabilityRow:
    decided = [[one.answer for one in answers if one.answer != "judge_failed"] for answers in answers_by_item]
    rates = [rate for answers in decided if (rate := _flips(answers)) is not None]
    return StabilityRow(
        name=name,
        items=len(rates),
        flip_rate=sum(rates) / len(rates) if rates else None,
        flipped_items=sum(rate > 0 for rate in rates),
        judge_failed=sum(len(answers) for answers in answers_by_item) - sum(map(len, decided)),
    )


def _flips(answers: Sequence[str]) -> float | None:
    pairs = [one != other for one, other in combinations(answers, 2)]
    return sum(pairs) / len(pairs) if pairs else None
