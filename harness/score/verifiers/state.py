"""The world's state at the end is as it should be: what one of the suite's probes read."""

from typing import ClassVar

from pydantic import Field

from harness.case import Suite
from harness.score.comparison.jsonvalue import PointerNotFound, at_pointer, json_contains, json_equal
from harness.score.evidence import Evidence
from harness.score.probing import probe_problem
from harness.score.unmeasured import BY_AGENT, unmeasurable_state
from harness.values import Frozen, JsonObject, JsonValue


class State(Frozen):
    """The probe's answer, or the value in it at `path`, equals or contains a value.

    Without `equals` and `contains` it must equal the case's `expected`. Without an answer of the probe the check is
    undecided.
    """

    version: ClassVar[str] = "1"

    probe: str
    """Name of a probe."""
    path: str = Field(default="", pattern=r"^(/.*)?$")
    """JSON pointer into the probe's answer, such as `/items/0/id`; empty: the whole."""
    equals: JsonValue = None
    """The JSON value that must be there."""
    contains: JsonValue = None
    """Members of an object, elements of a list in any order, a part of a text."""

    def problem_in(self, suite: Suite) -> str | None:
        """In words why this check cannot work in its suite; None where it can."""
        return probe_problem(suite, self.probe)

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        whole = evidence.trial.states.get(self.probe)
        if whole is None:
            return None, f"the probe {self.probe!r} gave nothing", {}
        unmeasurable = unmeasurable_state(whole)
        if unmeasurable is not None:
            return None, f"the probe {self.probe!r} cannot read what the agent left: {unmeasurable}", BY_AGENT
        given = {"equals", "contains"} & self.model_fields_set
        if not given and evidence.case.expected is None:
            return None, "neither the check nor the case says what the state should be", {}
        try:
            actual = at_pointer(whole, self.path)
        except PointerNotFound as absent:
            return False, f"{self.probe}: {absent}", {"state": whole}
        problem = self._problem_with(actual, given, evidence.case.expected)
        place = f"{self.probe}{self.path}"
        return problem is None, f"{place} {problem or 'is as expected'}", {"state": actual}

    def _problem_with(self, actual: JsonValue, given: set[str], expected: JsonValue) -> str | None:
        wanted = self.equals if "equals" in given else expected
        if given != {"contains"} and not json_equal(actual, wanted):
            return "is another value than expected"
        if "contains" in given and not json_contains(actual, self.contains):
            return "does not contain what is expected"
        return None
