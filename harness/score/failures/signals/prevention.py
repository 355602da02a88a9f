"""What would have stopped a failure before other steps rested on it: a read that exists and was not asked.

Said in words with the tool's name, and only of tools that are declared and that the case allows.
"""

from collections.abc import Iterator, Mapping, Sequence

from harness.case import ToolSpec
from harness.score.failures.signals.acts import Act
from harness.score.failures.signals.grounding import atoms, texts
from harness.score.failures.signals.handing_over import hands_in, is_hand_over
from harness.score.failures.signals.reading import Reading
from harness.values import JsonObject, JsonValue


def check_of(value: str, act: Act, reading: Reading) -> str:
    """What could have told before the call that its argument `value` is wrong."""
    names = _arguments_with(value, act.call.arguments or {})
    asked = _asked_with(value, act, reading)
    tools = [tool for tool in _readers(reading) if tool.name != act.call.name and tool.name not in asked]
    for tool in tools:
        name = next((one for one in _properties(tool) if one in names), None)
        if name is not None:
            return f"a check of {value!r} by {tool.name}({name}), which exists and was not asked about it"
    used = {one.call.name for one in reading.acts if one.number <= act.number}
    unused = [tool.name for tool in tools if tool.name not in used and _takes_text(tool)]
    if len(unused) == 1:
        return f"a check of {value!r} by {unused[0]}, which exists and had not been called"
    if any(step.source == "user" for step in reading.steps):
        return f"asking the user about {value!r} before it was used"
    return f"a call about {value!r} alone before other calls rested on it"


def read_back(act: Act, reading: Reading) -> str:
    """What could have told after a call that it had not done what it was taken to have done."""
    reader = next((tool for tool in _readers(reading) if _shared(tool, act) and tool.name != act.call.name), None)
    if reader is None:
        return f"the same call of {act.call.name} again, and no further step before it had succeeded"
    if act.writes:
        return f"the read after the write, by {reader.name}({_shared(reader, act)})"
    return f"a second look by {reader.name}({_shared(reader, act)})"


def _readers(reading: Reading) -> Iterator[ToolSpec]:
    evidence = reading.evidence
    allowed = evidence.allowed
    for tool in evidence.tools:
        if tool.effect == "read" and tool.name in allowed and not is_hand_over(tool.name) and not hands_in(tool.name):
            yield tool


def _shared(tool: ToolSpec, act: Act) -> str | None:
    """A property that the tool shares with the call's arguments."""
    given = act.call.arguments or {}
    return next((name for name in _properties(tool) if name in given), None)


def _asked_with(value: str, act: Act, reading: Reading) -> set[str]:
    wanted = set(atoms(value))
    return {
        one.call.name
        for one in reading.acts
        if one.number < act.number
        and any(wanted <= set(atoms(text)) for text in texts(one.call.arguments) if len(text) <= _LONGEST)
    }


_LONGEST = 2000
"""A longer text is not an argument that names one thing."""


def _arguments_with(value: str, arguments: JsonObject) -> list[str]:
    wanted = set(atoms(value))
    return [name for name, given in arguments.items() if any(wanted <= set(atoms(text)) for text in texts(given))]


def _properties(tool: ToolSpec) -> Sequence[str]:
    properties = tool.parameters.get("properties")
    return list(properties) if isinstance(properties, Mapping) else []


def _takes_text(tool: ToolSpec) -> bool:
    properties = tool.parameters.get("properties")
    given: Sequence[JsonValue] = list(properties.values()) if isinstance(properties, dict) else []
    return any(isinstance(one, dict) and one.get("type", "string") == "string" for one in given)
