"""Mutants of a passing trial: one thing is done wrong at the gateway, and the agent goes on as it is."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from pydantic import JsonValue

from harness.cassettes.keys import complete_arguments
from harness.scoring.evidence import fed_calls
from harness.suite.cases import Case
from harness.suite.interventions import CallEdit, FedCall, Intervention, Invocation
from harness.suite.schemas import Schema
from harness.suite.tools import ToolSpec
from harness.traces.trial import Trial
from harness.values import Frozen, JsonObject, canonical_json

Operator = Literal[
    "call_dropped",
    "call_doubled",
    "sibling_tool",
    "argument_changed",
    "write_added",
    "number_changed",
    "read_added",
    "read_skipped",
    "stopped_early",
    "policy_step_left_out",
]
OPERATORS: tuple[Operator, ...] = get_args(Operator)


class Mutant(Frozen):
    """One wrong thing, and its place."""

    case_id: str
    operator: Operator
    at: int
    """Number of the call at which the trial goes wrong, in the calls of the mutated trial; past the last one, the
    agent's answer.
    """
    step: int
    """The step of the passing trial at which it is made."""
    single: bool = True
    """Whether exactly one step is wrong."""
    intervention: Intervention


@dataclass(frozen=True, kw_only=True)
class Pool:
    """Values and calls of a whole suite, from which mutants take others than their own."""

    values: dict[tuple[str, str], tuple[JsonValue, ...]]
    """(tool, parameter) -> the values that calls gave it, in their first order."""
    reads: tuple[Invocation, ...]
    writes: tuple[Invocation, ...]


def pool_of(trials: Sequence[Trial], cases: Sequence[Case], tools: Sequence[ToolSpec]) -> Pool:
    """What the passing trials and the references of a suite call its tools with."""
    effects = {tool.name: tool.effect for tool in tools}
    calls = [Invocation(tool=one.tool, arguments=one.arguments) for case in cases for one in case.reference or ()]
    for trial in trials:
        made = (one for one in fed_calls(trial) if one.arguments is not None and one.error is None)
        calls += [Invocation(tool=one.tool, arguments=one.arguments or {}) for one in made]
    values: dict[tuple[str, str], list[JsonValue]] = {}
    first: dict[str, Invocation] = {}
    for call in calls:
        first.setdefault(canonical_json(call), call)
        for name, value in call.arguments.items():
            known = values.setdefault((call.tool, name), [])
            if value not in known:
                known.append(value)
    return Pool(
        values={key: tuple(found) for key, found in values.items()},
        reads=tuple(one for one in first.values() if effects.get(one.tool) == "read"),
        writes=tuple(one for one in first.values() if effects.get(one.tool) == "write"),
    )


@dataclass(frozen=True, kw_only=True)
class Mutating:
    """What the mutants of one passing trial are made of."""

    case: Case
    trial: Trial
    tools: tuple[ToolSpec, ...]
    pool: Pool

    @property
    def calls(self) -> tuple[FedCall, ...]:
        return fed_calls(self.trial)

    def spec(self, tool: str) -> ToolSpec | None:
        return next((one for one in self.tools if one.name == tool), None)

    def is_read(self, call: FedCall) -> bool:
        spec = self.spec(call.tool)
        return spec is not None and spec.effect == "read"

    def allowed(self) -> frozenset[str]:
        names = {tool.name for tool in self.tools}
        return frozenset(names if self.case.tools is None else names & set(self.case.tools))


# Every operator is a rule over the calls of a passing trial, the suite's tools, and values that other calls of the
# suite have in the same parameter. What it makes is valid for the tool's schema, so that a check has to notice it, and
# not the gateway.

_NUMBER = re.compile(r"\d+")
_OTHER_VALUES = 2
"""The number of other values that each argument is given."""


def mutants(subject: Mutating, most: int | None = None) -> list[Mutant]:
    """Mutants in a fixed order; with `most`, taken from the operators in turn, so that none is left out first."""
    by_operator = {name: list(_MAKERS[name](subject)) for name in OPERATORS}
    chosen: list[Mutant] = []
    seen: set[str] = set()
    turn = 0
    while any(turn < len(made) for made in by_operator.values()):
        for made in by_operator.values():
            if turn < len(made):
                key = canonical_json(made[turn].intervention.model_copy(update={"words": ""}))
                if key not in seen:
                    seen.add(key)
                    chosen.append(made[turn])
        turn += 1
    return chosen if most is None else chosen[:most]


def _mutant(subject: Mutating, operator: Operator, at: int, intervention: Intervention, single: bool = True) -> Mutant:
    return Mutant(
        case_id=subject.case.id,
        operator=operator,
        at=at,
        step=intervention.step or 0,
        single=single,
        intervention=intervention,
    )


def _drop(call: FedCall, number: int) -> CallEdit:
    return CallEdit(at=number, kind="drop", content=call.content, error=call.error, message=call.message)


def _dropped(subject: Mutating) -> Iterator[Mutant]:
    for number, call in enumerate(subject.calls):
        if not subject.is_read(call):
            words = f"{call.tool} is not called, and the agent is answered as if it were"
            intervention = Intervention(step=call.step, words=words, edits=(_drop(call, number),))
            yield _mutant(subject, "call_dropped", number, intervention)


def _skipped(subject: Mutating) -> Iterator[Mutant]:
    policy = set(subject.case.required_tools)
    for number, call in enumerate(subject.calls):
        if subject.is_read(call) and call.tool not in policy:
            intervention = Intervention(step=call.step, words=f"{call.tool} is not read", edits=(_drop(call, number),))
            yield _mutant(subject, "read_skipped", number, intervention)


def _policy(subject: Mutating) -> Iterator[Mutant]:
    """Every call of a required tool that reads: what the case demands on the way, not in the end."""
    calls = subject.calls
    for tool in subject.case.required_tools:
        places = [number for number, call in enumerate(calls) if call.tool == tool and subject.is_read(call)]
        if places:
            intervention = Intervention(
                step=calls[places[0]].step,
                words=f"{tool} is left out, which the case requires",
                edits=tuple(_drop(calls[number], number) for number in places),
            )
            yield _mutant(subject, "policy_step_left_out", places[0], intervention, single=len(places) == 1)


def _doubled(subject: Mutating) -> Iterator[Mutant]:
    for number, call in enumerate(subject.calls):
        if call.arguments is not None and not subject.is_read(call):
            again = Invocation(tool=call.tool, arguments=call.arguments)
            last = number + 1 == len(subject.calls)
            intervention = Intervention(
                step=call.step,
                words=f"{call.tool} is called twice",
                edits=() if last else (CallEdit(at=number + 1, kind="before", calls=(again,)),),
                at_end=(again,) if last else (),
            )
            yield _mutant(subject, "call_doubled", number + 1, intervention)


def _sibling_mutants(subject: Mutating) -> Iterator[Mutant]:
    for number, call in enumerate(subject.calls):
        own = subject.spec(call.tool)
        if own is None or call.arguments is None:
            continue
        for tool in subject.tools:
            shared = {name: value for name, value in call.arguments.items() if name in _parameters(tool)}
            if (
                tool.name != own.name
                and tool.name in subject.allowed()
                and tool.effect == own.effect
                and shared
                and _is_valid(tool, shared)
            ):
                edit = CallEdit(at=number, kind="replace", calls=(Invocation(tool=tool.name, arguments=shared),))
                words = f"{tool.name} is called instead of {call.tool}"
                yield _mutant(subject, "sibling_tool", number, Intervention(step=call.step, words=words, edits=(edit,)))


def _value_mutants(subject: Mutating) -> Iterator[Mutant]:
    for number, call in enumerate(subject.calls):
        spec = subject.spec(call.tool)
        if spec is None or call.arguments is None:
            continue
        for name, value in complete_arguments(spec, call.arguments).items():
            for other in _other_values(subject, spec, call.arguments, name, value):
                changed = {**call.arguments, name: other}
                edit = CallEdit(at=number, kind="replace", calls=(Invocation(tool=spec.name, arguments=changed),))
                words = f"{spec.name}: {name} is {canonical_json(other)} instead of {canonical_json(value)}"
                intervention = Intervention(step=call.step, words=words[:300], edits=(edit,))
                yield _mutant(subject, "argument_changed", number, intervention)


def _other_values(
    subject: Mutating, spec: ToolSpec, arguments: JsonObject, name: str, value: JsonValue
) -> list[JsonValue]:
    """Other values that the schema allows: of the enumeration, of other calls, or the next number; at most two."""
    schema = _parameters(spec).get(name)
    choices: list[JsonValue] = []
    listed = schema.get("enum") if isinstance(schema, dict) else None
    choices += listed if isinstance(listed, list) else []
    choices += subject.pool.values.get((spec.name, name), ())
    if isinstance(value, bool):
        choices.append(not value)
    elif isinstance(value, int):
        choices += [value + 1, value - 1]
    found: list[JsonValue] = []
    known = {canonical_json(value)}
    for choice in choices:
        key = canonical_json(choice)
        if key not in known and _is_valid(spec, {**arguments, name: choice}):
            known.add(key)
            found.append(choice)
        if len(found) == _OTHER_VALUES:
            break
    return found


def _added_write(subject: Mutating) -> Iterator[Mutant]:
    """A write after the last one, with what another case of the suite writes."""
    own = {canonical_json(Invocation(tool=call.tool, arguments=call.arguments or {})) for call in subject.calls}
    others = [one for one in subject.pool.writes if one.tool in subject.allowed() and canonical_json(one) not in own]
    step = subject.trial.trajectory.steps[-1].index if subject.trial.trajectory.steps else 0
    tools = dict.fromkeys(one.tool for one in others)
    for tool in tools:
        call = next(one for one in others if one.tool == tool)
        words = f"{call.tool} is called once more, after the last call"
        intervention = Intervention(step=step, words=words, at_end=(call,))
        yield _mutant(subject, "write_added", len(subject.calls), intervention)


def _added_read(subject: Mutating) -> Iterator[Mutant]:
    own = {canonical_json(Invocation(tool=call.tool, arguments=call.arguments or {})) for call in subject.calls}
    for call in subject.pool.reads:
        if subject.calls and call.tool in subject.allowed() and canonical_json(call) not in own:
            edit = CallEdit(at=0, kind="before", calls=(call,))
            intervention = Intervention(
                step=subject.calls[0].step, words=f"{call.tool} is read without need", edits=(edit,)
            )
            yield _mutant(subject, "read_added", 0, intervention)
            return


def _number_mutants(subject: Mutating) -> Iterator[Mutant]:
    answer = subject.trial.trajectory.final_output
    found = _NUMBER.search(answer) if isinstance(answer, str) else None
    if found is None or not isinstance(answer, str):
        return
    changed = f"{answer[: found.start()]}{int(found[0][:15]) + 1}{answer[found.end() :]}"
    steps = subject.trial.trajectory.steps
    intervention = Intervention(
        step=steps[-1].index if steps else 0,
        words=f"the answer says {int(found[0][:15]) + 1} instead of {found[0]}",
        final_answer=changed,
    )
    yield _mutant(subject, "number_changed", len(subject.calls), intervention)


def _stopped(subject: Mutating) -> Iterator[Mutant]:
    """Nothing is done from the middle on, and the agent reports success all the same."""
    calls = subject.calls
    half = (len(calls) + 1) // 2
    if len(calls) >= 2:
        edits = tuple(_drop(calls[number], number) for number in range(half, len(calls)))
        intervention = Intervention(
            step=calls[half].step, words=f"nothing is called from step {calls[half].step} on", edits=edits
        )
        yield _mutant(subject, "stopped_early", half, intervention, single=len(edits) == 1)


def _parameters(tool: ToolSpec) -> JsonObject:
    properties = tool.parameters.get("properties")
    return properties if isinstance(properties, dict) else {}


def _is_valid(tool: ToolSpec, arguments: JsonObject) -> bool:
    return Schema(tool.parameters, field=tool.name).problem(arguments) is None


_MAKERS = {
    "call_dropped": _dropped,
    "call_doubled": _doubled,
    "sibling_tool": _sibling_mutants,
    "argument_changed": _value_mutants,
    "write_added": _added_write,
    "number_changed": _number_mutants,
    "read_added": _added_read,
    "read_skipped": _skipped,
    "stopped_early": _stopped,
    "policy_step_left_out": _policy,
}
