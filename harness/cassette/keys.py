"""Defines when two calls are the same call.

The *key* names the call: its tool and its canonical arguments. What has happened before is its *state*: see
`harness.cassette.state`.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from harness.case import Effect, ToolSpec, without_volatile
from harness.cassette.redaction.redaction import Redactor
from harness.values import JsonObject, JsonValue

_DIGITS = 32


@dataclass(frozen=True, kw_only=True)
class CallKey:
    """A call in the form of a cassette key; `arguments` is the canonical JSON that is hashed, without secrets."""

    server: str
    tool: str
    effect: Effect
    arguments: str
    key: str


def call_key(tool: ToolSpec, arguments: JsonObject, redactor: Redactor) -> CallKey:
    """The key of a call whose `arguments` are complete (see `complete_arguments`).

    Raises OutOfTime where a pattern of `ignore_arguments` takes too long.
    """
    return key_of_kept(tool, without_volatile(tool, arguments), redactor)


def key_of_kept(tool: ToolSpec, kept: JsonObject, redactor: Redactor) -> CallKey:
    """The key of a call whose arguments are complete, and without what is volatile."""
    text = redactor.canonical(kept)
    return CallKey(
        server=tool.server, tool=tool.name, effect=tool.effect, arguments=text, key=key_digest(tool.name, text)
    )


def key_digest(tool: str, arguments: str, kind: str = "tool") -> str:
    """The key of a tool and its arguments as canonical JSON: recomputed to check the key in a cassette's file."""
    return chained_digest("http-tool" if kind == "tool" else kind, tool, arguments)


def complete_arguments(tool: ToolSpec, arguments: JsonObject) -> JsonObject:
    """The arguments with the schema's defaults filled in: the input of the key, and what is sent to the tool.

    Both use one form, so that calls with equal keys are equal requests.
    """
    completed = _with_defaults(tool.parameters, arguments)
    assert isinstance(completed, dict)  # an object stays one
    return completed


def chained_digest(*parts: str) -> str:
    """The first 32 hexadecimal digits of a SHA-256 over the parts."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:_DIGITS]


def _with_defaults(schema: Mapping[str, JsonValue], value: JsonValue) -> JsonValue:
    if isinstance(value, dict):
        properties = schema.get("properties")
        return _filled(properties, value) if isinstance(properties, dict) else value
    if isinstance(value, list):
        items = schema.get("items")
        return [_with_defaults(items, item) for item in value] if isinstance(items, dict) else value
    return value


def _filled(properties: JsonObject, value: JsonObject) -> JsonObject:
    filled = value.copy()
    for name, inner in properties.items():
        if not isinstance(inner, dict):
            continue
        if name not in value:
            if "default" in inner:
                filled[name] = inner["default"]
        elif isinstance(value[name], dict | list):
            filled[name] = _with_defaults(inner, value[name])
    return filled
