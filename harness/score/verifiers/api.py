"""An API answers as it should at the end: status, and parts of its body by JSONPath."""

from typing import ClassVar, Literal

from pydantic import Field, field_validator, model_validator

from harness.case import Suite
from harness.score.comparison.jsonvalue import json_contains, json_equal
from harness.score.evidence import Evidence
from harness.score.probing import probe_problem
from harness.score.unmeasured import BY_AGENT, unmeasurable_state
from harness.validation import found_at
from harness.values import Frozen, JsonObject, JsonValue, canonical_json


class PathRule(Frozen):
    """A rule about the values at a JSONPath (RFC 9535). All given parts must hold; with only `path`, there must be a
    value.

    A path can select many values. `equals` and `contains` apply to the only selected value, or with `all: true` to the
    list of all.
    """

    path: str
    """JSONPath (RFC 9535) into the body."""
    all: bool = False
    """Whether `equals` and `contains` are about the list of all values."""
    equals: JsonValue = None
    """The JSON value that must be there."""
    contains: JsonValue = None
    """Members of an object, elements of a list in any order, a part of a text."""
    count: int | None = Field(default=None, ge=0)
    """How many values the path leads to."""
    exists: bool = True
    """False requires that no value is there."""

    @field_validator("path")
    @classmethod
    def _compiles(cls, value: str) -> str:
        import jsonpath

        try:
            jsonpath.compile(value)
        except (jsonpath.JSONPathError, OverflowError, RecursionError) as error:
            raise ValueError(f"invalid JSONPath: {error}") from None
        return value

    @model_validator(mode="after")
    def _agrees(self) -> "PathRule":
        if not self.exists and {"equals", "contains", "count"} & self.model_fields_set:
            raise ValueError("what does not exist equals and contains nothing, and is not counted")
        return self

    def problem(self, body: JsonValue) -> str | None:
        """In words what does not hold; None where all does."""
        found = _found(self.path, body)
        if not self.exists:
            return f"{self.path} leads to something" if found else None
        if self.count is not None and len(found) != self.count:
            return f"{self.path} leads to {len(found)} values, not {self.count}"
        if not found and self.count is None and not self.all:
            return f"{self.path} leads to nothing"
        return self._problem_with(found)

    def _problem_with(self, found: list[JsonValue]) -> str | None:
        given = {"equals", "contains"} & self.model_fields_set
        if given and not self.all and len(found) != 1:
            return f"{self.path} leads to {len(found)} values: `all: true` compares the list of them"
        actual: JsonValue = found if self.all else next(iter(found), None)
        if "equals" in given and not json_equal(actual, self.equals):
            return f"{self.path} is {_short(actual)}, not {_short(self.equals)}"
        if "contains" in given and not json_contains(actual, self.contains):
            return f"{self.path} is {_short(actual)}, which does not contain {_short(self.contains)}"
        return None


class Api(Frozen):
    """What a probe with `api` was answered."""

    version: ClassVar[str] = "1"

    probe: str
    """Name of a probe with `api`."""
    status: int | Literal["any"] = Field(default=200)
    """HTTP status that the answer must have; `any`: every status is right."""
    body: tuple[PathRule, ...] = ()
    """Parts of the JSON body, each of which must hold."""

    def problem_in(self, suite: Suite) -> str | None:
        """In words why this check cannot work in its suite; None where it can."""
        return probe_problem(suite, self.probe, "api")

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        got = evidence.trial.states.get(self.probe)
        unmeasurable = unmeasurable_state(got)
        if unmeasurable is not None:
            return None, f"the probe {self.probe!r} cannot read what the agent left: {unmeasurable}", BY_AGENT
        if not isinstance(got, dict) or "status" not in got:
            return None, f"the probe {self.probe!r} gave no answer", {}
        if self.status not in ("any", got["status"]):
            return False, f"{self.probe}: the status is {got['status']}, not {self.status}", got
        problems = [problem for rule in self.body if (problem := rule.problem(got.get("body"))) is not None]
        return not problems, f"{self.probe}: {problems[0] if problems else 'the answer is as expected'}", got


def _found(path: str, body: JsonValue) -> list[JsonValue]:
    """A text, a number and null have no parts."""
    return found_at(path, body, field="with.body.path") if isinstance(body, dict | list) else []


def _short(value: JsonValue, most: int = 160) -> str:
    text = canonical_json(value)
    return text if len(text) <= most else f"{text[: most - 3]}..."
