"""A mutant of a passing trial, and what the mutants of a suite are made of."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from harness.case import Case, FedCall, Intervention, Invocation, ToolSpec
from harness.score import fed_calls
from harness.trace import Trial
from harness.values import Frozen, JsonValue, canonical_json

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
    """One wrong thing, and where it stands."""

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
