"""How one prompt did on one part of the questions."""

from collections.abc import Sequence

from harness.judge.lab.calibration.question import Answered, Question
from harness.stats import AnswerPair as Pair
from harness.stats import BinaryAgreement, binary_agreement, cohen_kappa
from harness.values import Frozen


class Figures(Frozen):
    """Over pass, fail and "not eligible" together; a judge that failed agrees with nothing."""

    questions: int
    agreement: float
    kappa: float | None
    verdict: BinaryAgreement
    """The agreement on verdicts, where both people and judge state that the criterion applies."""
    false_passes: int
    """Judged a pass, where right is a fail."""
    critical_false_passes: int
    """Of criteria that are critical; of all, where the rubric has none."""
    judge_failed: int


def figures(questions: Sequence[Question], answers: Sequence[Answered]) -> Figures:
    """Of at least one question."""
    asked = list(zip(questions, answers, strict=True))
    lenient = [question for question, said in asked if is_false_pass(question, said)]
    some_critical = any(question.critical for question in questions)
    return Figures(
        questions=len(questions),
        agreement=sum(score(question, said) for question, said in asked) / len(questions),
        kappa=cohen_kappa([(question.right, said.answer) for question, said in asked]),
        verdict=binary_agreement(
            [
                Pair(question.case_id, question.right == "pass", said.answer == "pass")
                for question, said in asked
                if question.right in ("pass", "fail") and said.answer in ("pass", "fail")
            ]
        ),
        false_passes=len(lenient),
        critical_false_passes=sum(question.critical or not some_critical for question in lenient),
        judge_failed=sum(said.answer == "judge_failed" for _, said in asked),
    )


def score(question: Question, said: Answered) -> float:
    """1 where the judge's answer is right, else 0."""
    return float(said.answer == question.right)


def is_false_pass(question: Question, said: Answered) -> bool:
    """Whether the judge let through what should fail: the error that costs most."""
    return question.right == "fail" and said.answer == "pass"
