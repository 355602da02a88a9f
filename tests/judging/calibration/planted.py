"""A calibration whose truth is known: defects planted in evidence, and doubles that follow rules to the letter.

The judge follows only the rules that its prompt contains, the reflector adds one rule at a time. Neither is a language
model, and nothing here says how good one would be.
"""

import random
from collections.abc import Sequence

from harness.judging.calibration_questions import JudgeAnswer, Question
from qa.doubles.rule_reflector import CalibrationRuleReflector

SEED_PROMPT = "You judge one criterion. {criterion} {evidence}"
MISSING = "Rule: an item that was named and never added is missing."
APPROVED = "Rule: a substitution that the guest approved counts as what was ordered."
LENIENT = "Rule: pass whatever is not certain to be wrong."
GREETING = "Rule: a greeting may come in any words."
CASES = 60


def questions() -> list[Question]:
    """Two criteria of sixty cases: substituted orders are right and look wrong, missing items the other way round."""
    found = []
    for number in range(CASES):
        missing, substituted = number % 5 == 0, number % 5 in (1, 2)
        order = " missing" if missing else " substituted" if substituted else " plain"
        found.append(_question(number, "complete", "fail" if missing else "pass", order, critical=True))
        found.append(_question(number, "polite", "fail" if number % 4 == 0 else "pass", " odd", critical=False))
    return found


def _question(number: int, criterion: str, right: str, planted: str, *, critical: bool) -> Question:
    case_id = f"case-{number:02}"
    return Question.model_validate(
        {
            "id": f"{case_id}/{criterion}",
            "case_id": case_id,
            "criterion": criterion,
            "domain": criterion,
            "statement": f"canary-{case_id}{planted}",
            "critical": critical,
            "right": right,
        }
    )


class RuleJudge:
    """Without rules it fails what looks wrong and passes the rest. `noise`: share of answers turned over at random,
    and always to the same side."""

    def __init__(self, noise: float = 0.0) -> None:
        self.noise = noise
        self.asked: list[tuple[str, str]] = []

    def answers(self, prompt: str, questions: Sequence[Question]) -> list[JudgeAnswer]:
        self.asked += [(prompt, one.id) for one in questions]
        return [self._answer(prompt, one) for one in questions]

    def _answer(self, prompt: str, question: Question) -> JudgeAnswer:
        passed = self._rules(prompt, question)
        if random.Random(f"{prompt}|{question.id}").random() < self.noise:
            passed = not passed
        return JudgeAnswer(answer="pass" if passed else "fail", rationale="by the rules", shown=question.statement)

    def _rules(self, prompt: str, question: Question) -> bool:
        if question.criterion == "polite":
            return question.right == "pass" or GREETING not in prompt
        if question.statement.endswith(" missing"):
            return MISSING not in prompt or LENIENT in prompt
        if question.statement.endswith(" substituted"):
            return APPROVED in prompt or LENIENT in prompt
        return True


class Listening:
    """A reflector that keeps what it was asked."""

    def __init__(self, *rules: str) -> None:
        self._reflector = CalibrationRuleReflector({"*": rules})
        self.requests: list[str] = []

    def __call__(self, request: str) -> str:
        self.requests.append(request)
        return self._reflector(request)
