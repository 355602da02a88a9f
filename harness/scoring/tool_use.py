"""The tools of a trial's calls: which choices were right, and the table by tool."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from harness.scoring.arguments import argument_faults
from harness.scoring.evidence import Evidence, once
from harness.scoring.findings.recovery import recoveries
from harness.scoring.scorecard import ParameterFault, ToolUse
from harness.traces.trajectory import Observation, Step, ToolCall, ToolErrorType
from harness.values import digest_of

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


def decisions(evidence: Evidence) -> tuple[Step, ...]:
    """The steps in which a tool was called: a model's reply with all its parallel calls, or one call. Of a reply whose
    calls crossed in several steps, the first of them.
    """
    first: dict[int, Step] = {}
    for step in evidence.trial.trajectory.steps:
        if step.calls and step.source == "agent":
            first.setdefault(step.index if step.asked_in is None else step.asked_in, step)
    return tuple(first.values())


@once
def choices(evidence: Evidence) -> tuple[Chosen, ...]:
    """Every call that was made, in order; those that the step limit refused are none."""
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


_MOST_UNDECLARED: Final = 100
"""Names that the suite does not declare, which an agent chooses, with rows of their own; the rest shares one."""
_OTHERS: Final = "other names"
_NO_ERRORS: frozenset[ToolErrorType] = frozenset({"replay_miss", "limit_reached"})


def tool_use(evidence: Evidence) -> tuple[ToolUse, ...]:
    """By tool and model, in the order of their first call."""
    known = _known_faults(evidence)
    declared = {tool.name for tool in evidence.tools}
    parts: dict[tuple[str | None, str | None], list[Chosen]] = {}
    undeclared: set[str] = set()
    others: set[str] = set()
    for chosen in choices(evidence):
        name = chosen.call.name
        if name not in declared and name not in undeclared:
            (undeclared if len(undeclared) < _MOST_UNDECLARED else others).add(name)
        key = None if name in others else name, chosen.step.model
        parts.setdefault(key, []).append(chosen)
    return tuple(
        _use(
            own,
            known,
            tool=_OTHERS if name is None else name,
            model=model,
            undeclared=name is None or name in undeclared,
            others=len(others) if name is None else 0,
        )
        for (name, model), own in parts.items()
    )


def models(evidence: Evidence) -> tuple[str, ...]:
    """The models that were seen to answer, each once."""
    return tuple(dict.fromkeys(step.model for step in evidence.trial.trajectory.steps if step.model is not None))


def prompt(evidence: Evidence) -> str | None:
    """The prompts that spans name (`name@version`), else the digest of the system messages; None: neither was seen."""
    named = evidence.trial.trajectory.prompts
    if named:
        return ", ".join(named)
    said = dict.fromkeys(
        step.message for step in evidence.trial.trajectory.steps if step.source == "system" and step.message is not None
    )
    return digest_of(list(said)) if said else None


@dataclass(frozen=True, kw_only=True)
class _Known:
    """What is known of the trial's calls."""

    faults: Mapping[int, tuple[ParameterFault, str]]
    """By the call's identity."""
    seen: Mapping[str, Observation]
    recovered: frozenset[tuple[int, str]]
    """Step and tool of the errors that the agent got over."""


def _known_faults(evidence: Evidence) -> _Known:
    trajectory = evidence.trial.trajectory
    return _Known(
        faults=argument_faults(evidence) if "arguments" not in trajectory.uncaptured else {},
        seen=trajectory.observations,
        recovered=frozenset((one.step, one.tool) for one in recoveries(evidence) if one.recovered),
    )


def _use(own: list[Chosen], known: _Known, *, tool: str, model: str | None, undeclared: bool, others: int) -> ToolUse:
    observed = [(one, known.seen[one.call.id]) for one in own if one.call.id in known.seen]
    failed = [(one, saw.error) for one, saw in observed if saw.error is not None]
    errors = [one for one, error in failed if error.type not in _NO_ERRORS]
    return ToolUse(
        tool=tool,
        model=model,
        undeclared=undeclared,
        others=others,
        calls=len(own),
        wrong=sum(one.choice == "wrong" for one in own),
        invalid=_counts_by_kind(known.faults[id(one.call)][0] for one in own if id(one.call) in known.faults),
        errors=len(errors),
        recovered=sum((one.step.index, one.call.name) in known.recovered for one in errors),
        faults=sum(saw.injected is not None for _, saw in observed),
        misses=sum(error.type == "replay_miss" for _, error in failed),
        cost_usd=_cost(own),
    )


def _counts_by_kind(kinds: Iterable[ParameterFault]) -> dict[ParameterFault, int]:
    found = list(kinds)  # mostly none
    return dict(sorted(Counter(found).items())) if found else {}


def _cost(own: list[Chosen]) -> float | None:
    costs = [
        one.step.usage.cost_usd / len(one.step.calls)
        for one in own
        if one.step.usage is not None and one.step.usage.cost_usd is not None
    ]
    return sum(costs) if costs else None
