"""Attributes that stand as a tree (`{"llm": {"input_messages": [{...}]}}`), under their dotted names."""

from typing import Final

from harness.values import JsonObject, JsonValue

_TREES: Final = (
    "openinference",
    "llm",
    "gen_ai",
    "input",
    "output",
    "tool",
    "tool_call",
    "agent",
    "session",
    "metadata",
)
_LISTS: Final = ("input_messages", "output_messages", "tools", "tool_calls", "contents")
_DEEPEST: Final = 12


def flattened(attributes: JsonObject) -> JsonObject:
    """The same attributes where none of the conventions' names stands as a tree; whole values stay whole."""
    if not any(isinstance(attributes.get(name), dict) for name in _TREES):
        return attributes
    found: JsonObject = {}
    for name, value in attributes.items():
        if name in _TREES:
            _put(found, name, value, 0)
        else:
            found[name] = value
    return found


def _put(found: JsonObject, name: str, value: JsonValue, depth: int) -> None:
    match value:
        case dict() if value and depth < _DEEPEST and not name.endswith((".value", ".arguments", ".parameters")):
            for key, item in value.items():
                _put(found, f"{name}.{key}", item, depth + 1)
        case list() if value and name.rpartition(".")[2] in _LISTS and depth < _DEEPEST:
            for place, item in enumerate(value):
                _put(found, f"{name}.{place}", item, depth + 1)
        case _:
            found[name] = value
