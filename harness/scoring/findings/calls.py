"""Facts of single calls: tools and parameters that do not exist, values from nowhere or copied wrongly, ignored errors.

A value that later calls depend on makes a cascading error of the fact: a call depends on it if the value is among its
arguments, or an identifier that first stood in the answer of a call that depends on it.
"""

from collections.abc import Iterator, Sequence

from harness.scoring.findings.reading import Act, Reading, hands_in, identifiers, is_hand_over, opened
from harness.scoring.scorecard import Diagnosis, Failure, Kind, fact
from harness.suite.tools import IMPORTED_SERVER, ToolSpec

_OPENING = frozenset({"patternProperties", "allOf", "anyOf", "oneOf", "$ref", "if", "propertyNames"})
_MOST = 24
"""Values from nowhere that are examined in one trial: past these, nothing new is learnt."""


def facts_of_calls(reading: Reading) -> Iterator[Diagnosis]:
    """In any order."""
    if reading.acts:
        yield from _invented_tools(reading)
        yield from _invalid_parameters(reading)
        yield from _forbidden(reading)
        yield from _values(reading)
        yield from _ignored_errors(reading)


def _invented_tools(reading: Reading) -> Iterator[Diagnosis]:
    """One finding a name."""
    names = _declared_names(reading)
    by_name: dict[str, list[Act]] = {}
    for act in reading.acts:
        refused = act.seen is not None and act.seen.error is not None and act.seen.error.type == "unknown_tool"
        if refused or (names and act.call.name not in names):
            by_name.setdefault(act.call.name, []).append(act)
    for name, acts in by_name.items():
        yield _of(acts, "tool_hallucination", "invented_tool", f"there is no tool {name!r}")


def _declared_names(reading: Reading) -> frozenset[str]:
    """Empty if an imported list of tools lacks one that answered: it is incomplete, and only a refusal says more."""
    tools = reading.evidence.tools
    names = frozenset(tool.name for tool in tools)
    if any(tool.server != IMPORTED_SERVER for tool in tools):
        return names
    names &= reading.evidence.allowed  # a tool that another record of the file declares
    answered = {act.call.name for act in reading.acts if act.seen is not None and not act.failed}
    return names if answered <= names else frozenset()


def _invalid_parameters(reading: Reading) -> Iterator[Diagnosis]:
    """One finding a tool and parameter."""
    found: dict[tuple[str, str], list[Act]] = {}
    for act in reading.acts:
        if act.tool is None:
            continue
        if act.call.arguments is None:
            found.setdefault((act.call.name, "its arguments are no JSON object"), []).append(act)
            continue
        declared = _declared(act.tool)
        for name in () if declared is None else act.call.arguments.keys() - declared:
            found.setdefault((act.call.name, f"there is no parameter {name!r}"), []).append(act)
    for (tool, problem), acts in found.items():
        yield _of(acts, "tool_hallucination", "invalid_parameter", f"{tool}: {problem}")


def _declared(tool: ToolSpec) -> frozenset[str] | None:
    """None: the schema is open."""
    schema = tool.parameters
    properties = schema.get("properties")
    closed = schema.get("additionalProperties", False) is False and _OPENING.isdisjoint(schema)
    return frozenset(properties) if closed and isinstance(properties, dict) else None


def _forbidden(reading: Reading) -> Iterator[Diagnosis]:
    case = reading.evidence.case
    if case.tools is None and not case.forbidden_tools:
        return
    by_name: dict[str, list[Act]] = {}
    for act in reading.acts:
        if act.tool is not None and act.call.name not in reading.evidence.allowed:
            by_name.setdefault(act.call.name, []).append(act)
    for name, acts in by_name.items():
        how = "forbids" if name in case.forbidden_tools else "does not offer"
        yield _of(acts, "goal_drift", "forbidden_call", f"the case {how} {name!r}")


def _of(acts: Sequence[Act], mode: Failure, kind: Kind, evidence: str) -> Diagnosis:
    steps = list(dict.fromkeys(act.step for act in acts))
    many = f"; called {len(acts)} times" if len(acts) > 1 else ""
    return fact(mode, kind, steps[0], f"{evidence}{many}", later=steps[1:])


# Values from nowhere: identifiers in calls that nothing given to the agent had contained.


def _values(reading: Reading) -> Iterator[Diagnosis]:
    users: dict[str, list[Act]] = {}
    for act in reading.acts:
        if act.tool is not None and not hands_in(act.call.name):
            for value in act.identifiers:
                users.setdefault(value, []).append(act)
    given = reading.given
    for value in given.unknown({value: acts[0].moment for value, acts in users.items()})[:_MOST]:
        first = users[value][0]
        alike = given.lookalike(value, first.moment)
        harmful = first.told_error is not None or (first.writes and not reading.evidence.success)
        later = _dependents(reading, first, {value})
        if alike is not None and (harmful or later):
            evidence = f"{first.call.name} was called with {value!r}; what had been given is {alike!r}"
            yield _carried("miscopied_value", first, evidence, later)
        elif alike is None and (harmful or (later and not _confirmed(value, first))):
            evidence = f"{first.call.name} was called with {value!r}, which stands nowhere before"
            yield _carried("unfounded_value", first, evidence, later)


def _carried(kind: Kind, first: Act, evidence: str, later: Sequence[int]) -> Diagnosis:
    if not later:
        return fact("premature_commitment", kind, first.step, evidence)
    return fact("cascading_error", kind, first.step, f"{evidence}; {len(later)} later steps depend on it", later=later)


def _confirmed(value: str, act: Act) -> bool:
    return not act.failed and act.answer is not None and value.casefold() in act.answer.casefold()


def _dependents(reading: Reading, origin: Act, values: set[str]) -> list[int]:
    """The steps of later calls, but for equal ones, that depend on the values."""
    steps: dict[int, None] = {}
    given = reading.given
    for act in reading.acts[origin.number :]:
        if act is not origin:
            if act.step == origin.step or act.key == origin.key or values.isdisjoint(act.identifiers):
                continue
            steps[act.step] = None
        if act.seen is not None and not act.failed:
            told = list(identifiers(opened(act.seen.content)))[:_MOST]
            values = values | given.first_given(told, act.moment + 1)
    return list(steps)


# Errors that were ignored: a call about something failed, no answer ever showed it, and a write went on with it.


def _ignored_errors(reading: Reading) -> Iterator[Diagnosis]:
    failed: dict[str, Act] = {}
    for act in reading.acts if reading.errors else ():
        if act.told_error is not None:
            for value in act.identifiers:
                failed.setdefault(value, act)
            continue
        for value in [one for one in act.identifiers if one in failed]:
            first = failed.pop(value)
            if not act.writes or act.step == first.step or is_hand_over(act.call.name):
                continue
            if not any(_confirmed(value, one) for one in reading.acts[: act.number]):
                evidence = f"{first.call.name} failed on {value!r}, and {act.call.name} went on with it"
                yield fact("cascading_error", "ignored_error", first.step, evidence, later=[act.step])
