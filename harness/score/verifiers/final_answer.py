"""Checks the final answer: a text, a number, or a JSON value."""

import json
import re
from typing import ClassVar, Literal

from pydantic import Field

from harness.score.comparison.jsonvalue import json_equal, parsed_json
from harness.score.comparison.textrule import TextRule
from harness.score.evidence import Evidence
from harness.values import JsonObject, JsonValue

_NUMBER = re.compile(r"(?<![\w.])[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][-+]?\d+)?(?![\w])")


class FinalAnswer(TextRule):
    """Rules on the last reply. Without any rule it is compared with the case's `expected_output`.

    An `expected_output` that is a text must be the whole answer; a number must be the answer's number; an object or a
    list must be its JSON value. A missing answer fails; without a rule and an expected output the check is undecided.
    """

    version: ClassVar[str] = "1"

    number: float | None = Field(default=None, allow_inf_nan=False)
    """A number that the answer must contain; see `pick` and `tolerance`."""
    tolerance: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Absolute, of `number`."""
    pick: Literal["last", "first", "any"] = "last"
    """Which number of the text counts; thousands may be parted by commas."""
    json_value: JsonValue = Field(default=None, alias="json")
    """The answer as JSON: the text is parsed where it is one."""

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        answer = evidence.trial.trajectory.final_output
        rule = self if self._has_rule else self._expected(evidence.case.expected_output)
        if rule is None:
            return None, "neither the check nor the case says what the answer should be", {}
        if answer is None:
            return False, "the agent gave no final answer", {}
        problem = rule._problem_with(answer)
        return problem is None, "the answer is as expected" if problem is None else problem, {"answer": answer}

    @property
    def _has_rule(self) -> bool:
        return self.demands or self.number is not None or "json_value" in self.model_fields_set

    def _expected(self, expected: JsonValue) -> "FinalAnswer | None":
        options = {"tolerance": self.tolerance, "pick": self.pick, "ignore_case": self.ignore_case}
        match expected:
            case None:
                return None
            case str():
                return FinalAnswer.model_validate({"equals": expected, **options})
            case int() | float() if not isinstance(expected, bool):
                return FinalAnswer.model_validate({"number": expected, **options})
            case _:
                return FinalAnswer.model_validate({"json": expected, **options})

    def _problem_with(self, answer: JsonValue) -> str | None:
        text = answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False, sort_keys=True)
        wrong = self.problem(text) if self.demands else None
        if wrong is not None:
            return f"the answer {wrong}"
        if self.number is not None and not self._number_fits(text):
            return f"the answer's number is not {self.number:g}" + (f" ± {self.tolerance:g}" if self.tolerance else "")
        if "json_value" in self.model_fields_set and not json_equal(_parsed(answer), self.json_value):
            return "the answer is another JSON value than expected"
        return None

    def _number_fits(self, text: str) -> bool:
        found = [float(number.replace(",", "")) for number in _NUMBER.findall(text)]
        match self.pick:
            case "last":
                found = found[-1:]
            case "first":
                found = found[:1]
            case "any":
                pass
        slack = self.tolerance + 1e-12 * abs(self.number or 0.0)  # 0.1 + 0.2 must equal 0.3
        return any(abs(number - (self.number or 0.0)) <= slack for number in found)


def _parsed(answer: JsonValue) -> JsonValue:
    if not isinstance(answer, str):
        return answer
    try:
        return parsed_json(answer)
    except ValueError:
        return answer
