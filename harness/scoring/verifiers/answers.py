"""Checks of the final answer: text, number, JSON value, JSON Schema, a reward of a foreign run, a criterion of a
rubric.
"""

import json
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field, JsonValue, PrivateAttr, field_validator, model_validator

from harness.errors import UsageError
from harness.plugins import find_object
from harness.scoring.evidence import BY_AGENT, Evidence, probe_problem, unmeasurable_state
from harness.scoring.json_values import ProseRule, answered_json, json_equal, parsed_json
from harness.scoring.texts import number_fits, numbers_in
from harness.scoring.verifiers.files import written_path
from harness.suite.schemas import Schema
from harness.suite.suites import Suite
from harness.traces.trajectory import Content
from harness.traces.trial import REWARD
from harness.values import Frozen, JsonObject


class FinalAnswer(ProseRule):
    """Rules on the last reply, and a function. Without either it is compared with the case's `expected_output`.

    An `expected_output` that is a text must be the whole answer; a number must be the answer's number; an object or a
    list must be its JSON value. The function is called with the answer and the case's `expected_output`, and gives a
    truth value, or one with a reason; rules beside it must hold too. A missing answer fails; without a rule, a function
    and an expected output the check is undecided.
    """

    version: ClassVar[str] = "2"
    reads: ClassVar[frozenset[Content]] = frozenset({"answer"})

    number: int | Annotated[float, Field(allow_inf_nan=False)] | None = None
    """A number that the answer must contain; see `pick` and `tolerance`."""
    tolerance: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Absolute, of `number`."""
    pick: Literal["last", "first", "any"] = "last"
    """Which number of the text counts. Fractions and the thousands of any locale are read. Dates, times and `24/7` are
    no numbers, and a range is neither of its ends."""
    json_value: JsonValue = Field(default=None, alias="json")
    """The answer as JSON: the text is parsed if it is JSON, or has it in its only code fence."""
    function: str | None = Field(default=None, pattern=r"^.+:[A-Za-z_]\w*$")
    """`file.py:name` in the suite's folder, or `module:name`; None applies only the rules."""
    _loaded: Callable[..., Any] | None = PrivateAttr(default=None)

    def problem_in(self, suite: Suite) -> str | None:
        """Explains why this check cannot work in its suite; None if it can. Loads the function."""
        if self.function is None:
            return None
        try:
            found = find_object("answer check", self.function, {}, folder=suite.folder)
        except UsageError as error:
            return f"with.function: {error.message}"
        if not callable(found):
            return f"with.function: {self.function!r} is not a function"
        self._loaded = found
        return None

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        answer = evidence.trial.trajectory.final_output
        by_case = not self._has_rule and self.function is None
        rule = self._expected_answer(evidence.case.expected_output) if by_case else self
        if rule is None:
            return None, "neither the check nor the case says what the answer should be", {}
        if answer is None:
            return False, "the agent gave no final answer", {}
        problem = rule._problem_with(answer)
        if problem is None and self.function is not None:
            return self._by_function(evidence)
        return problem is None, "the answer is as expected" if problem is None else problem, {"answer": answer}

    @property
    def _has_rule(self) -> bool:
        return self.demands or self.number is not None or "json_value" in self.model_fields_set

    def _expected_answer(self, expected: JsonValue) -> "FinalAnswer | None":
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
            return f"the answer's number is not {self.number}" + (f" ± {self.tolerance:g}" if self.tolerance else "")
        if "json_value" in self.model_fields_set and not json_equal(_answer_as_json(answer), self.json_value):
            return "the answer is another JSON value than expected"
        return None

    def _number_fits(self, text: str) -> bool:
        found = numbers_in(text)
        match self.pick:
            case "last":
                found = found[-1:]
            case "first":
                found = found[:1]
            case "any":
                pass
        return any(number_fits(one, self.number or 0, self.tolerance) for one in found)

    def _by_function(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        if self._loaded is None:
            return None, f"{self.function} was not loaded: a check is made ready by its suite", {}
        answer = evidence.trial.trajectory.final_output
        found = self._loaded(answer, evidence.case.expected_output)
        passed, reason = found if isinstance(found, tuple) else (found, "")
        if not isinstance(passed, bool | None):
            return None, f"{self.function} gave {type(passed).__name__}, no truth value", {"answer": answer}
        words = "accepts the answer" if passed else "cannot tell" if passed is None else "refuses the answer"
        return passed, str(reason) or f"{self.function} {words}", {"answer": answer}


def _answer_as_json(answer: JsonValue) -> JsonValue:
    if not isinstance(answer, str):
        return answer
    try:
        return answered_json(answer)
    except ValueError:
        return answer


_SHOWN = 300


class JsonSchema(Frozen):
    """`of: answer` (the default), or a `probe`, or a changed `file`, against `schema` (draft 2020-12).

    An answer or a file that is not JSON is invalid. References are followed within the schema alone.
    """

    version: ClassVar[str] = "2"

    of: Literal["answer", "probe", "file"] = "answer"
    """The value that is validated: the final answer, a probe's answer, or a changed file."""
    probe: str | None = None
    """Name of the probe, with `of: probe`."""
    file: str | None = None
    """Relative to /work."""
    schema_: JsonObject = Field(alias="schema")
    """JSON Schema, draft 2020-12."""

    @property
    def reads(self) -> frozenset[Content]:
        return frozenset({"answer"}) if self.of == "answer" else frozenset()

    @field_validator("schema_")
    @classmethod
    def _is_schema(cls, value: JsonObject) -> JsonObject:
        from jsonschema import Draft202012Validator
        from jsonschema.exceptions import SchemaError

        try:
            Draft202012Validator.check_schema(value)
        except SchemaError as error:
            raise ValueError(f"is not a JSON Schema: {error.json_path}: {error.message[:_SHOWN]}") from None
        return value

    @model_validator(mode="after")
    def _names_its_subject(self) -> "JsonSchema":
        for kind in ("probe", "file"):
            if (getattr(self, kind) is not None) != (self.of == kind):
                raise ValueError(f"`of: {kind}` and `{kind}` belong together")
        return self

    def problem_in(self, suite: Suite) -> str | None:
        """Explains why this check cannot work in its suite; None if it can."""
        return None if self.probe is None else probe_problem(suite, self.probe)

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        from referencing.exceptions import Unresolvable

        try:
            value = self._subject(evidence)
        except _Untold as untold:
            return untold.passed, str(untold), untold.evidence
        try:
            found = Schema(self.schema_, field="with.schema").problem(value)
        except Unresolvable as error:
            return None, f"with.schema: {error}", {}
        if found is None:
            return True, f"the {self.of} fits the schema", {}
        return False, f"the {self.of} does not fit: {found.json_path}: {found.message[:_SHOWN]}", {}

    def _subject(self, evidence: Evidence) -> JsonValue:
        if self.probe is not None:
            if self.probe not in evidence.trial.states:
                raise _Untold(f"the probe {self.probe!r} gave nothing", None)
            state = evidence.trial.states[self.probe]
            unmeasurable = unmeasurable_state(state)
            if unmeasurable is not None:
                why = f"the probe {self.probe!r} cannot read what the agent left: {unmeasurable}"
                raise _Untold(why, None, BY_AGENT)
            return state
        if self.file is not None:
            return _json_in_text(f"the file {self.file!r}", self._answer_text(evidence, self.file))
        answer = evidence.trial.trajectory.final_output
        if answer is None:
            raise _Untold("there is no answer", passed=False)
        return _json_in_text("the answer", answer, answered_json) if isinstance(answer, str) else answer

    def _answer_text(self, evidence: Evidence, file: str) -> str:
        from harness.sandbox.endstate import ChangedFileTooLarge, read_changed_file

        if evidence.end_state_archive is None:
            raise _Untold("the content of the changed files was not kept", None)
        try:
            content = read_changed_file(evidence.end_state_archive, written_path(evidence, file), _FILE_BYTES_MAX)
        except ChangedFileTooLarge as problem:
            raise _Untold(str(problem), None, BY_AGENT) from None
        if content is None:
            raise _Untold(f"{file!r} was not written", passed=False)
        return content.decode(errors="replace")


_FILE_BYTES_MAX = 4 * 1024 * 1024
"""As values, JSON takes up to thirty times its bytes."""


class _Untold(Exception):
    """There is no value to validate: a failure, or (with None) an undecided check."""

    def __init__(self, why: str, passed: bool | None, evidence: JsonObject | None = None) -> None:
        super().__init__(why)
        self.passed = passed
        self.evidence = evidence or {}


def _json_in_text(what: str, text: str, reader: Callable[[str], JsonValue] = parsed_json) -> JsonValue:
    try:
        return reader(text)
    except ValueError as error:
        raise _Untold(f"{what} is not JSON: {error}", passed=False) from None


class Reward(Frozen):
    """The imported reward is at least `at_least`. Without a reward in the file the check is undecided."""

    version: ClassVar[str] = "1"
    reads: ClassVar[frozenset[Content]] = frozenset()

    at_least: float = Field(default=1.0, allow_inf_nan=False)
    """The smallest imported reward that passes."""

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        reward = evidence.trial.states.get(REWARD)
        if isinstance(reward, bool) or not isinstance(reward, int | float):
            return None, "the imported file gave no reward", {}
        return reward >= self.at_least, f"the imported reward is {reward:g}", {"reward": reward}


# A criterion of a rubric as a check: decided by a judgement that is stored with the trial, never by asking a judge.


class CriterionMet(Frozen):
    """The judge found the criterion met, in its latest judgement of the trial.

    Judgements are made after a run: `harness judge run RUN --rubric NAME`, and then `harness score RUN`. Until then,
    if the criterion is not eligible, and if the judge failed, the check is undecided. So it is by a judge that has no
    certificate for the criterion: `harness judge agreement RUN --rubric NAME --certify` compares it with people's
    labels. A judgement of another trajectory does not count.
    """

    version: ClassVar[str] = "2"
    reads: ClassVar[frozenset[Content]] = frozenset()

    rubric: str = Field(min_length=1, max_length=200)
    """Name of the rubric, as in its file."""
    criterion: str = Field(min_length=1, max_length=200)
    """Id of the criterion within it."""

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        own = [one for one in evidence.judged if (one.rubric, one.criterion) == (self.rubric, self.criterion)]
        if not own:
            how = f"harness judge run RUN --rubric {self.rubric}, then harness score RUN"
            return None, f"no judgement of {self.criterion!r} is stored: {how}", {}
        last = own[-1]
        said = last.reason or f"the judge answered {last.passed}"
        if last.uncertified is not None:
            return (
                None,
                f"the judge may not decide, it is {last.uncertified}; it answered: {said}",
                {"judge": last.judge},
            )
        return last.passed, said, {"judge": last.judge}
