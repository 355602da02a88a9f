"""The tools of a trial's calls: which choices were right, errors of encoding, and the table by tool."""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal, TypeVar

from pydantic import JsonValue

from harness.scoring.arguments import argument_faults, call_keys
from harness.scoring.evidence import Evidence, calls_of, once
from harness.scoring.findings.recovery import recoveries
from harness.scoring.json_values import differences, parsed_json
from harness.scoring.reference_calls import reference_keys
from harness.scoring.scorecard import EncodingFault, ParameterFault, ToolUse
from harness.suite.cases import ReferenceCall
from harness.suite.tools import ToolSpec
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


# Arguments that are correct in substance and wrong in encoding: the first symptom of a change of the base model.
#
# Detected by the tool's schema: a value of another type than declared, which has that type once it is read as JSON,
# written as text, or put into or taken out of a list. Detected by the case's reference, if the schema allows the value:
# a call that differs from one of the reference's in such encodings alone.

_TYPES: Final = {
    type(None): "null", bool: "boolean", str: "string", dict: "object", list: "array", int: "integer", float: "integer"
}  # fmt: skip
_MOST: Final = 40
"""The number of calls of the reference that a call is compared with."""


def _encoding_faults(evidence: Evidence, invalid: Collection[int]) -> Mapping[int, EncodingFault]:
    """The first wrong encoding of each call that has one, by the call's identity. `invalid`: those of the calls whose
    schema refuses them.
    """
    tools = {tool.name: tool for tool in evidence.tools}
    reference = (evidence.case.reference or ())[:_MOST]
    keys, wanted, calls = call_keys(evidence), set(reference_keys(evidence)), calls_of(evidence)
    found: dict[int, EncodingFault] = {}
    for call in calls:
        fault: EncodingFault | None = None
        if id(call) in invalid:
            fault = _by_schema(tools[call.name], call)
        elif reference and keys[id(call)] not in wanted:
            fault = _by_reference(reference, call)
        if fault is not None:
            found[id(call)] = fault
    return found


def _by_schema(tool: ToolSpec, call: ToolCall) -> EncodingFault | None:
    properties = tool.parameters.get("properties")
    if not isinstance(properties, dict):
        return None
    for name, value in (call.arguments or {}).items():
        schema = properties.get(name)
        if isinstance(schema, dict):
            fault = _fault(value, _declared_types(schema))
            if fault is not None:
                return fault
    return None


def _by_reference(reference: Sequence[ReferenceCall], call: ToolCall) -> EncodingFault | None:
    for wanted in reference:
        if wanted.tool == call.name and wanted.arguments.keys() == (call.arguments or {}).keys():
            unlike = differences(wanted.arguments, call.arguments or {})
            if unlike and all(one.encoding for one in unlike):
                return _fault(unlike[0].found, (_type(unlike[0].expected),)) or "json_as_text"
    return None


def _fault(value: JsonValue, declared: Sequence[str]) -> EncodingFault | None:
    if not declared or value is None or _is_of_type(value, declared):
        return None
    opened = _parsed_text(value)
    if opened is not None and _is_of_type(opened, declared):
        return "json_as_text" if isinstance(opened, dict | list) else "value_as_text"
    if isinstance(value, list) and len(value) == 1 and _is_of_type(value[0], declared):
        return "list_of_one"
    if "array" in declared:
        return "one_without_list"
    if "string" not in declared:
        return None
    return "json_for_text" if isinstance(value, dict | list) else "value_for_text"


def _parsed_text(value: JsonValue) -> JsonValue:
    """What a text holds as JSON; None if it is none, or is a text again."""
    if not isinstance(value, str):
        return None
    try:
        opened = parsed_json(value)
    except ValueError:
        return None
    return None if isinstance(opened, str) else opened


def _is_of_type(value: JsonValue, declared: Sequence[str]) -> bool:
    own = _type(value)
    return own in declared or (own == "integer" and "number" in declared)


def _declared_types(schema: Mapping[str, JsonValue]) -> tuple[str, ...]:
    """The names of the types that a schema accepts; empty if it does not declare them directly."""
    declared = schema.get("type")
    if isinstance(declared, str):
        return (declared,)
    if isinstance(declared, list):
        return tuple(one for one in declared if isinstance(one, str))
    branches = schema.get("anyOf")
    if not isinstance(branches, list):
        return ()
    parts = [_declared_types(branch) if isinstance(branch, dict) else () for branch in branches]
    return tuple(one for part in parts for one in part) if all(parts) else ()


def _type(value: JsonValue) -> str:
    if isinstance(value, float) and not value.is_integer():
        return "number"
    return _TYPES[type(value)]


_Kind = TypeVar("_Kind", ParameterFault, EncodingFault)
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
    """What is known of the trial's calls; the first two by the call's identity."""

    faults: Mapping[int, tuple[ParameterFault, str]]
    encodings: Mapping[int, EncodingFault]
    seen: Mapping[str, Observation]
    recovered: frozenset[tuple[int, str]]
    """Step and tool of the errors that the agent got over."""


def _known_faults(evidence: Evidence) -> _Known:
    trajectory = evidence.trial.trajectory
    has_arguments = "arguments" not in trajectory.uncaptured
    faults = argument_faults(evidence) if has_arguments else {}
    return _Known(
        faults=faults,
        encodings=_encoding_faults(evidence, faults) if has_arguments else {},
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
        encodings=_counts_by_kind(known.encodings[id(one.call)] for one in own if id(one.call) in known.encodings),
        errors=len(errors),
        recovered=sum((one.step.index, one.call.name) in known.recovered for one in errors),
        faults=sum(saw.injected is not None for _, saw in observed),
        misses=sum(error.type == "replay_miss" for _, error in failed),
        cost_usd=_cost(own),
    )


def _counts_by_kind(kinds: Iterable[_Kind]) -> dict[_Kind, int]:
    found = list(kinds)  # mostly none
    return dict(sorted(Counter(found).items())) if found else {}


def _cost(own: list[Chosen]) -> float | None:
    costs = [
        one.step.usage.cost_usd / len(one.step.calls)
        for one in own
        if one.step.usage is not None and one.step.usage.cost_usd is not None
    ]
    return sum(costs) if costs else None
