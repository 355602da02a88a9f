"""The figures of one prompt on one part of the questions."""

from collections.abc import Sequence

from harness.judge.lab.calibration.question import JudgeAnswer, Question
from harness.stats import AnswerPair as Pair
from harness.stats import BinaryAgreement, binary_agreement, cohen_kappa
from harness.values import Frozen


class AgreementFigures(Frozen):
    """Figures over pass, fail and "not eligible" together; a failed judge agrees with no answer."""

    questions: int
    agreement: float
    kappa: float | None
    verdict: BinaryAgreement
    """The agreement on verdicts, where both people and judge state that the criterion applies."""
    false_passes: int
    """Failures that were judged a pass."""
    critical_false_passes: int
    """False passes of critical criteria; of all criteria, where the rubric has no critical one."""
    judge_failed: int


def figures(questions: Sequence[Question], answers: Sequence[JudgeAnswer]) -> AgreementFigures:
    """The figures of at least one question."""
    pairs = list(zip(questions, answers, strict=True))
    lenient = [question for question, answer in pairs if is_false_pass(question, answer)]
    some_critical = any(question.critical for question in questions)
    return AgreementFigures(
        questions=len(questions),
        agreement=sum(score(question, answer) for question, answer in pairs) / len(questions),
        kappa=cohen_kappa([(question.right, answer.answer) for question, answer in pairs]),
        verdict=binary_agreement(
            [
                Pair(question.case_id, question.right == "pass", answer.answer == "pass")
                for question, answer in pairs
                if question.right in ("pass", "fail") and answer.answer in ("pass", "fail")
            ]
        ),
        false_passes=len(lenient),
        critical_false_passes=sum(question.critical or not some_critical for question in lenient),
        judge_failed=sum(answer.answer == "judge_failed" for _, answer in pairs),
    )


def score(question: Question, answer: JudgeAnswer) -> float:
    """1 where the judge's answer is correct, else 0."""
    return float(answer.answer == question.right)


def is_false_pass(question: Question, answer: JudgeAnswer) -> bool:
    """Whether the judge passed a failure: the most costly error."""
    return question.right == "fail" and answer.answer == "pass"
