"""The tools that had to be called were, and those that must not be were not."""

from typing import ClassVar

from harness.case import Suite
from harness.score.evidence import Evidence
from harness.values import Frozen, JsonObject


class RequiredTools(Frozen):
    """Each of `tools`, or of the case's `required_tools`, was called; with `answered`, once without an error.

    Calls that the step limit rejected do not count. Without a required tool the check is undecided.
    """

    version: ClassVar[str] = "1"

    tools: tuple[str, ...] | None = None
    """None: the case's."""
    answered: bool = False
    """Whether a call counts only if it was answered without an error."""

    def problem_in(self, suite: Suite) -> str | None:
        """In words why this check cannot work in its suite; None where it can."""
        return _unknown(self.tools, suite)

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        wanted = evidence.case.required_tools if self.tools is None else self.tools
        if not wanted:
            return None, "neither the check nor the case requires a tool", {}
        seen = evidence.trial.trajectory.observations
        good = {
            call.name
            for call in evidence.made_calls
            if not self.answered or (call.id in seen and seen[call.id].error is None)
        }
        missing = sorted(set(wanted) - good)
        how = "answered without an error" if self.answered else "called"
        return not missing, f"never {how}: {', '.join(missing)}" if missing else f"all were {how}", {}


class ForbiddenTools(Frozen):
    """None of `tools`, or of the case's `forbidden_tools`, was called, whatever came back.

    Without a forbidden tool the check is undecided.
    """

    version: ClassVar[str] = "1"

    tools: tuple[str, ...] | None = None
    """None: the case's."""

    def problem_in(self, suite: Suite) -> str | None:
        """In words why this check cannot work in its suite; None where it can."""
        return _unknown(self.tools, suite)

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        unwanted = evidence.case.forbidden_tools if self.tools is None else self.tools
        if not unwanted:
            return None, "neither the check nor the case forbids a tool", {}
        called = sorted({call.name for call in evidence.trial.trajectory.calls} & set(unwanted))
        return not called, f"called: {', '.join(called)}" if called else "none was called", {}


def _unknown(tools: tuple[str, ...] | None, suite: Suite) -> str | None:
    known = {tool.name for tool in suite.tools}
    unknown = sorted(set(tools or ()) - known)
    return f"with.tools: {', '.join(unknown)} is none of the suite's tools" if unknown and known else None
