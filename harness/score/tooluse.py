"""How each tool was used in one trial, by the model that called it: the table by tool is the sum of these."""

from collections import Counter
from collections.abc import Iterable, Mapping
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
    known = "arguments" not in evidence.trial.trajectory.uncaptured
    faults, encodings = (argument_faults(evidence), encoding_faults(evidence)) if known else ({}, {})
    seen = evidence.trial.trajectory.observations
    recovered = {(one.step, one.tool) for one in recoveries(evidence) if one.recovered}
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
    uses = [_use(model, own, faults, encodings, seen, recovered) for (_, model), own in parts.items()]
    facts = [(name in undeclared, 0) if name is not None else (True, len(others)) for name, _ in parts]
    return tuple(
        use.model_copy(update={"undeclared": is_undeclared, "others": count, **({"tool": _OTHERS} if count else {})})
        for use, (is_undeclared, count) in zip(uses, facts, strict=True)
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


def _use(
    model: str | None,
    own: list[Chosen],
    faults: Mapping[int, tuple[ParameterFault, str]],
    encodings: Mapping[int, EncodingFault],
    seen: Mapping[str, Observation],
    recovered: set[tuple[int, str]],
) -> ToolUse:
    observed = [(one, seen[one.call.id]) for one in own if one.call.id in seen]
    failed = [(one, saw.error) for one, saw in observed if saw.error is not None]
    errors = [one for one, error in failed if error.type not in _NO_ERRORS]
    return ToolUse(
        tool=own[0].call.name,
        model=model,
        calls=len(own),
        wrong=sum(one.choice == "wrong" for one in own),
        invalid=_counted(faults[id(one.call)][0] for one in own if id(one.call) in faults),
        encodings=_counted(encodings[id(one.call)] for one in own if id(one.call) in encodings),
        errors=len(errors),
        recovered=sum((one.step.index, one.call.name) in recovered for one in errors),
        faults=sum(saw.injected is not None for _, saw in observed),
        misses=sum(error.type == "replay_miss" for _, error in failed),
        cost_usd=_cost(own),
    )


def _counted(kinds: Iterable[_Kind]) -> dict[_Kind, int]:
    return dict(sorted(Counter(kinds).items()))


def _cost(own: list[Chosen]) -> float | None:
    costs = [
        one.step.usage.cost_usd / len(one.step.calls)
        for one in own
        if one.step.usage is not None and one.step.usage.cost_usd is not None
    ]
    return sum(costs) if costs else None
