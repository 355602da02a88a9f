"""Defines when two calls are the same call.

The *key* names the call: its tool and its canonical arguments. What has happened before is its *state*: see
`harness.cassette.state`.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from harness.case import Effect, ToolSpec, without_volatile
from harness.cassette.redaction.redaction import Redactor
from harness.values import JsonObject, JsonValue, canonical_json

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
    text = canonical_json(redactor.value(kept))
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
    match value, schema.get("properties"), schema.get("items"):
        case dict(), dict() as properties, _:
            filled = {name: _inner(properties.get(name), item) for name, item in value.items()}
            for name, inner in properties.items():
                if name not in filled and isinstance(inner, dict) and "default" in inner:
                    filled[name] = inner["default"]
            return filled
        case list(), _, dict() as items:
            return [_with_defaults(items, item) for item in value]
        case _:
            return value


def _inner(schema: JsonValue, value: JsonValue) -> JsonValue:
    return _with_defaults(schema, value) if isinstance(schema, dict) else value
