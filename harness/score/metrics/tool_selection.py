"""Whether the agent chose the right tools, arguments aside: against the allowed set, and against the reference."""

from typing import ClassVar

from harness.score.evidence import Evidence
from harness.score.selection import Chosen, choices, wanted_tools


class ToolAllowed:
    """Steps all of whose calls are of allowed tools / steps with calls; share, 0 to 1.

    Allowed: the tool exists, the case offers it and does not forbid it. Excluded: calls refused by the step limit. None
    where no tool was called.
    """

    name: ClassVar[str] = "tool_allowed"
    version: ClassVar[str] = "1"

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        made = choices(evidence)
        if not made:
            return None, "no tool was called"
        steps = {one.step.index for one in made}
        allowed = evidence.allowed
        wrong = [one for one in made if one.call.name not in allowed]
        good = len(steps) - len({one.step.index for one in wrong})
        return good / len(steps), f"{good} of {len(steps)} steps called allowed tools only{_named(wrong)}"


class ToolSelection:
    """Right steps / (steps that count + required tools that were never called); share, 0 to 1.

    A step counts where one of its calls does, and is right where all of those are. A call is right where its tool
    exists, is allowed for the case, is not forbidden and, where the case has a reference, is used by the reference or
    required. Calls of a reading tool that is allowed but not in the reference do not count (looking around is neither
    right nor wrong), nor do calls refused by the step limit. Without any step that counts: 0 where a tool is needed
    (the reference or the required tools name one), 1 where the reference says that none is, None without a reference.
    """

    name: ClassVar[str] = "tool_selection"
    version: ClassVar[str] = "2"

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        counted = [one for one in choices(evidence) if one.choice != "neutral"]
        called = {one.call.name for one in choices(evidence)}
        forgotten = sorted(set(evidence.case.required_tools) - called)
        if not counted and not forgotten:
            return self._without_calls(evidence)
        wrong = [one for one in counted if one.choice == "wrong"]
        steps = {one.step.index for one in counted}
        right = len(steps) - len({one.step.index for one in wrong})
        words = f"{right} of {len(steps)} steps chose right tools{_named(wrong)}"
        words += f"; never called: {', '.join(forgotten)}" if forgotten else ""
        return right / (len(steps) + len(forgotten)), words

    def _without_calls(self, evidence: Evidence) -> tuple[float | None, str]:
        if wanted_tools(evidence):
            return 0.0, "no call of a tool that the task needs"
        if evidence.case.reference is None:
            return None, "no tool was called, and no reference says whether one should be"
        return 1.0, "no tool is needed, and none was called needlessly"


def _named(wrong: list[Chosen]) -> str:
    return f"; wrong: {', '.join(sorted({one.call.name for one in wrong}))}" if wrong else ""
