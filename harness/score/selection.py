"""Which calls chose a right tool, arguments aside; judged once, for the metric and for the table by tool."""

from dataclasses import dataclass
from typing import Literal

from harness.score.evidence import Evidence
from harness.trace import Step, ToolCall

Choice = Literal["right", "wrong", "neutral"]


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """One call that was made; `neutral`: an allowed reading tool that the reference does not use."""

    step: Step
    call: ToolCall
    choice: Choice


def wanted_tools(evidence: Evidence) -> frozenset[str]:
    """Tools that the reference uses or that the case requires."""
    return frozenset({call.tool for call in evidence.case.reference or ()} | set(evidence.case.required_tools))


def choices(evidence: Evidence) -> tuple[Chosen, ...]:
    """Every call that was made, in order; those that the step limit refused are none."""
    return evidence.once(_choices)


def decisions(evidence: Evidence) -> tuple[Step, ...]:
    """The steps in which a tool was called: a model's reply with all its parallel calls, or one call."""
    return tuple(step for step in evidence.trial.trajectory.steps if step.calls and step.source == "agent")


def _choices(evidence: Evidence) -> tuple[Chosen, ...]:
    wanted, allowed = wanted_tools(evidence), evidence.allowed
    reads = {tool.name for tool in evidence.tools if tool.effect == "read"}
    made = {id(call) for call in evidence.made_calls}

    def choice(name: str) -> Choice:
        if name not in allowed:
            return "wrong"
        if evidence.case.reference is None or name in wanted:
            return "right"
        return "neutral" if name in reads else "wrong"

    steps = evidence.trial.trajectory.steps
    return tuple(
        Chosen(step=step, call=call, choice=choice(call.name))
        for step in steps
        for call in step.calls
        if id(call) in made
    )
