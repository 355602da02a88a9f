"""How each tool was used in one trial, by the model that called it: the table by tool is the sum of these."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from harness.score.comparison.arguments import argument_faults
from harness.score.comparison.encodings import encoding_faults
from harness.score.evidence import Evidence
from harness.score.failures import recoveries
from harness.score.scorecard import EncodingFault, ParameterFault, ToolUse
from harness.score.selection import Chosen, choices
from harness.trace import Observation, ToolErrorType
from harness.values import digest_of

_Kind = TypeVar("_Kind", ParameterFault, EncodingFault)
_MOST_UNDECLARED: Final = 100
"""Names that the suite does not declare, which an agent chooses, with rows of their own; the rest shares one."""
_OTHERS: Final = "other names"
_NO_ERRORS: frozenset[ToolErrorType] = frozenset({"replay_miss", "limit_reached"})


def tool_use(evidence: Evidence) -> tuple[ToolUse, ...]:
    """By tool and model, in the order of their first call."""
    known = _known(evidence)
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
    """What is known of the trial's calls; the first two by the call's identity."""

    faults: Mapping[int, tuple[ParameterFault, str]]
    encodings: Mapping[int, EncodingFault]
    seen: Mapping[str, Observation]
    recovered: frozenset[tuple[int, str]]
    """Step and tool of the errors that the agent got over."""


def _known(evidence: Evidence) -> _Known:
    trajectory = evidence.trial.trajectory
    has_arguments = "arguments" not in trajectory.uncaptured
    return _Known(
        faults=argument_faults(evidence) if has_arguments else {},
        encodings=encoding_faults(evidence) if has_arguments else {},
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
        invalid=_counted(known.faults[id(one.call)][0] for one in own if id(one.call) in known.faults),
        encodings=_counted(known.encodings[id(one.call)] for one in own if id(one.call) in known.encodings),
        errors=len(errors),
        recovered=sum((one.step.index, one.call.name) in known.recovered for one in errors),
        faults=sum(saw.injected is not None for _, saw in observed),
        misses=sum(error.type == "replay_miss" for _, error in failed),
        cost_usd=_cost(own),
    )


def _counted(kinds: Iterable[_Kind]) -> dict[_Kind, int]:
    found = list(kinds)  # mostly none
    return dict(sorted(Counter(found).items())) if found else {}


def _cost(own: list[Chosen]) -> float | None:
    costs = [
        one.step.usage.cost_usd / len(one.step.calls)
        for one in own
        if one.step.usage is not None and one.step.usage.cost_usd is not None
    ]
    return sum(costs) if costs else None
