"""How long a trial was: decisions, and turns of the conversation."""

from typing import ClassVar

from harness.score.evidence import Evidence
from harness.score.selection import decisions


class Steps:
    """Decisions in which tools were called: a model's reply with all its parallel calls, or one call; a count.

    Its mean by category and over the run is the mean number of steps a task takes. Nothing is excluded and it is never
    unknown: none is 0.
    """

    name: ClassVar[str] = "steps"
    version: ClassVar[str] = "1"
    lower_is_better: ClassVar[bool] = True

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        steps = decisions(evidence)
        return float(len(steps)), f"{len(steps)} steps, {sum(len(step.calls) for step in steps)} calls"


class Turns:
    """Times that the agent spoke to the user: steps of the agent with a message and without a call; a count.

    A message beside calls is a remark, not a turn, and what a sub-agent says is heard by its caller alone. None where
    there was neither a message nor an answer.
    """

    name: ClassVar[str] = "turns"
    version: ClassVar[str] = "2"
    lower_is_better: ClassVar[bool] = True

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        steps = evidence.trial.trajectory.steps
        spoken = sum(
            step.source == "agent" and step.parent is None and step.message is not None and not step.calls
            for step in steps
        )
        if not spoken and not evidence.answered:
            return None, "the agent said nothing"
        return float(max(spoken, 1)), f"{max(spoken, 1)} messages to the user"
