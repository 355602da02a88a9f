"""Tool hallucination, the two kinds that a call itself shows: a tool or a parameter that does not exist.

`invented_tool` counts: a call to a name that is none of the declared tools, or that whoever ran the tools did not know.
Does not count: a declared tool that the case does not allow (that is selection), or any name where no tool is declared
or where a tool that an import does not declare answered (its list is incomplete): there only a refusal counts.

`invented_parameter` counts: a top-level argument that the tool's schema does not have, where the schema lists its
properties and does not open itself (`additionalProperties`, `patternProperties`, or a composition). Does not count: a
wrong type, a missing argument, arguments that are not JSON (those are invalid, not invented), or a call of an invented
tool, whose parameters nobody declared.

Origin: the first such call of that name. Dependent steps: the later ones. See `claims` for the other two kinds.
"""

from typing import ClassVar, Final

from harness.case import IMPORTED_SERVER, ToolSpec
from harness.score.diagnosis import Diagnosis, Kind
from harness.score.evidence import Evidence
from harness.score.failures.signals.acts import Act
from harness.score.failures.signals.reading import Reading, read

VERSION: Final = "4"
_OPENING = ("patternProperties", "allOf", "anyOf", "oneOf", "$ref", "if", "propertyNames")


def invented_tools(reading: Reading) -> tuple[Diagnosis, ...]:
    """One finding a name."""
    names = _declared_names(reading)
    by_name: dict[str, list[Act]] = {}
    for act in reading.acts:
        refused = act.seen is not None and act.seen.error is not None and act.seen.error.type == "unknown_tool"
        if refused or (names and act.call.name not in names):
            by_name.setdefault(act.call.name, []).append(act)
    return tuple(
        _diagnosis(
            acts,
            kind="invented_tool",
            evidence=f"there is no tool {name!r}" + (f"; called {len(acts)} times" if len(acts) > 1 else ""),
        )
        for name, acts in by_name.items()
    )


def invented_parameters(reading: Reading) -> tuple[Diagnosis, ...]:
    """One finding a tool and parameter."""
    found: dict[tuple[str, str], list[Act]] = {}
    for act in reading.acts:
        declared = None if act.tool is None else _declared(act.tool)
        if declared is None or act.call.arguments is None:
            continue
        for name in act.call.arguments:
            if name and name not in declared:
                found.setdefault((act.call.name, name), []).append(act)
    return tuple(
        _diagnosis(acts, kind="invented_parameter", evidence=f"{tool} has no parameter {name!r}")
        for (tool, name), acts in found.items()
    )


def _declared_names(reading: Reading) -> frozenset[str]:
    """Empty where an imported list of tools lacks one that answered: it is incomplete, and only a refusal says more."""
    tools = reading.evidence.tools
    names = frozenset(tool.name for tool in tools)
    if any(tool.server != IMPORTED_SERVER for tool in tools):
        return names
    names &= reading.evidence.allowed  # a tool that another record of the file declares
    answered = {act.call.name for act in reading.acts if act.seen is not None and not act.failed}
    return names if answered <= names else frozenset()


def _declared(tool: ToolSpec) -> frozenset[str] | None:
    """None: the schema is open."""
    schema = tool.parameters
    properties = schema.get("properties")
    closed = schema.get("additionalProperties", False) is False and not any(key in schema for key in _OPENING)
    return frozenset(properties) if closed and isinstance(properties, dict) else None


def _diagnosis(acts: list[Act], *, kind: Kind, evidence: str) -> Diagnosis:
    steps = list(dict.fromkeys(act.step for act in acts))
    return Diagnosis(
        failure="tool_hallucination",
        kind=kind,
        origin_step=steps[0],
        dependent_steps=tuple(steps[1:]),
        evidence=evidence,
        confidence=1.0,
        version=VERSION,
    )


class ToolHallucination:
    """Tools and parameters that do not exist."""

    name: ClassVar[str] = "tool_hallucination"
    version: ClassVar[str] = VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        reading = read(evidence)
        return (*invented_tools(reading), *invented_parameters(reading))
