"""When two calls are the same call, and what has happened before them.

The *key* names the call: its tool and its canonical arguments. The *state* is a hash chain of the keys of all writes
made so far on the tool's server in this trial: a read after a different write is a different question.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

from harness.case import ToolSpec
from harness.case.tool import Effect
from harness.case.volatile import without_volatile
from harness.cassette.redaction import Redactor
from harness.frozen import JsonObject, JsonValue, canonical_json

_DIGITS = 32


@dataclass(frozen=True, kw_only=True)
class CallKey:
    """A call as a tape knows it; `arguments` is the canonical JSON that the key is taken of, without secrets."""

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
    """The key of a tool and its arguments as canonical JSON: what a tape's file says about itself, recomputed."""
    return _digest("http-tool" if kind == "tool" else kind, tool, arguments)


def complete_arguments(tool: ToolSpec, arguments: JsonObject) -> JsonObject:
    """The arguments with the schema's defaults filled in: what the key is taken of and what the tool is sent.

    Both from one form, so that calls with equal keys are equal requests.
    """
    completed = _with_defaults(tool.parameters, arguments)
    assert isinstance(completed, dict)  # an object stays one
    return completed


WORLD = "world"
"""Stands for all servers together: what is read there may depend on a write to any of them."""


class StateChain:
    """The write state of every tool server within one trial, and of all of them together (`WORLD`)."""

    def __init__(self) -> None:
        self._states: dict[str, str] = {}
        self._writes: dict[str, int] = {}

    def state(self, server: str) -> str:
        if server == WORLD and self._states:
            return _digest(WORLD, *(part for name in sorted(self._states) for part in (name, self._states[name])))
        return self._states.get(server) or initial_state(server)

    def writes(self, server: str) -> int:
        """How many writes have been made on that server."""
        if server == WORLD:
            return sum(self._writes.values())
        return self._writes.get(server, 0)

    def advance(self, call: CallKey) -> None:
        """A write was made, whatever came of it: even a refused or lost one may have changed something."""
        self._states[call.server] = next_state(self.state(call.server), call.key)
        self._writes[call.server] = self.writes(call.server) + 1


def initial_state(server: str) -> str:
    """The state of a server that nothing was written to."""
    return _digest("server", server)


def next_state(state: str, key: str) -> str:
    return _digest("after", state, key)


def _digest(*parts: str) -> str:
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
