"""What the agent answered, a probe read, or a file that it left fits a JSON Schema."""

import posixpath
from typing import ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from harness.case import Suite
from harness.score.comparison.jsonvalue import parsed_json
from harness.score.evidence import Evidence
from harness.score.probing import probe_problem
from harness.score.unmeasured import BY_AGENT, unmeasurable_state
from harness.validation import Schema
from harness.values import Frozen, JsonObject, JsonValue

_SHOWN = 300


class JsonSchema(Frozen):
    """`of: answer` (the default), or a `probe`, or a changed `file`, against `schema` (draft 2020-12).

    An answer or a file that is not JSON is invalid. References are followed within the schema alone.
    """

    version: ClassVar[str] = "1"

    of: Literal["answer", "probe", "file"] = "answer"
    """The value that is validated: the final answer, a probe's answer, or a changed file."""
    probe: str | None = None
    """Name of the probe, with `of: probe`."""
    file: str | None = None
    """Relative to /work."""
    schema_: JsonObject = Field(alias="schema")
    """JSON Schema, draft 2020-12."""

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
        """In words why this check cannot work in its suite; None where it can."""
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
            return _parsed(f"the file {self.file!r}", self._content(evidence, self.file))
        answer = evidence.trial.trajectory.final_output
        if answer is None:
            raise _Untold("there is no answer", passed=False)
        return _parsed("the answer", answer) if isinstance(answer, str) else answer

    def _content(self, evidence: Evidence, file: str) -> str:
        from harness.sandbox import ChangedFileTooLarge, read_changed_file

        if evidence.end_state_archive is None:
            raise _Untold("the content of the changed files was not kept", None)
        try:
            content = read_changed_file(evidence.end_state_archive, posixpath.join("/work", file), _FILE_BYTES_MAX)
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


def _parsed(what: str, text: str) -> JsonValue:
    try:
        return parsed_json(text)
    except ValueError as error:
        raise _Untold(f"{what} is not JSON: {error}", passed=False) from None
