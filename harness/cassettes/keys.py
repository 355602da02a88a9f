"""Defines when two calls are the same call: their arguments, and the writes before them as a hash chain."""

import asyncio
import hashlib
import json
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache

from pydantic import JsonValue

from harness.cassettes.redaction import Redactor
from harness.suite.suites import StateNames
from harness.suite.tools import Effect, ToolSpec, without_volatile
from harness.values import JsonObject, canonical_json

# The *key* names the call: its tool and its canonical arguments. What has happened before is its *state*.

_DIGITS = 32
VARY = "vary"
"""The member of a request's arguments with the headers that an answer's `Vary` named."""


@dataclass(frozen=True, kw_only=True)
class CallKey:
    """A call in the form of a cassette key; `arguments` is the canonical JSON that is hashed, without secrets."""

    server: str
    tool: str
    effect: Effect
    arguments: str
    key: str
    noise: Mapping[str, JsonValue] = field(default_factory=dict, compare=False)
    """Headers that do not choose the answer, unless the answer says so."""


def varied(call: CallKey, names: Iterable[str]) -> CallKey:
    """The call if the named headers choose its answer, too; `*`: all that are noise otherwise."""
    vary = {name: dict(call.noise) if name == "*" else call.noise.get(name, "") for name in names}
    if not vary:
        return call
    text = canonical_json(json.loads(call.arguments) | {VARY: vary})
    return replace(call, arguments=text, key=key_digest(call.tool, text, "http"))


def varying(arguments: str) -> tuple[str, tuple[str, ...]] | None:
    """The arguments without the headers that an answer's `Vary` named, and their names; None: it named none."""
    if f'"{VARY}":{{' not in arguments:
        return None
    asked = json.loads(arguments)
    vary = asked.pop(VARY, None)
    return (canonical_json(asked), tuple(vary)) if isinstance(vary, dict) else None


def call_key(tool: ToolSpec, arguments: JsonObject, redactor: Redactor) -> CallKey:
    """The key of a call whose `arguments` are complete (see `complete_arguments`).

    Raises OutOfTime if an expression of `ignore` takes too long.
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
        return _with_default_values(properties, value) if isinstance(properties, dict) else value
    if isinstance(value, list):
        items = schema.get("items")
        return [_with_defaults(items, item) for item in value] if isinstance(items, dict) else value
    return value


def _with_default_values(properties: JsonObject, value: JsonObject) -> JsonObject:
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


# Servers and hosts that share a backend share one chain: a read after a different write is a different request. For a
# server that may share its state with others, without a declaration, the writes to the others are part of the state
# too: answers recorded after them are not returned if they were not made.

WORLD = "world"
"""Represents all servers together: a read there may depend on a write to any of them."""


class StateChain:
    """The write states of one trial: one for each state that the suite names, and one of all together (`WORLD`)."""

    def __init__(self, names: StateNames | None = None) -> None:
        """With `names` None, every server has a state of its own, which writes to other servers do not change."""
        self.names = StateNames() if names is None else names
        self._states: dict[str, str] = {}
        self._writes: dict[str, int] = {}
        self._turns: defaultdict[str, asyncio.Lock] = defaultdict(asyncio.Lock)

    def name_of(self, server: str) -> str:
        """The name of the server's state."""
        return self.names.names.get(server, server)

    def state(self, server: str) -> str:
        """The state in which a call of the server is made."""
        if server == WORLD and self._states:
            return chained_digest(WORLD, *_names_and_states(self._states))
        others = self.others(server)
        return chained_digest("elsewhere", self.own(server), *_names_and_states(others)) if others else self.own(server)

    def own(self, server: str) -> str:
        """The state without the writes to other servers."""
        name = self.name_of(server)
        return self._states.get(name) or initial_state(name)

    def others(self, server: str) -> dict[str, str]:
        """The states of the other servers, by name, that the server may share if the suite does not declare it; only
        those with writes.
        """
        if server not in self.names.undeclared:
            return {}
        return {name: state for name, state in self._states.items() if name != self.name_of(server)}

    def writes(self, server: str) -> int:
        """How many writes have been made to the server's own state."""
        if server == WORLD:
            return sum(self._writes.values())
        return self._writes.get(self.name_of(server), 0)

    def elsewhere(self, server: str) -> int | None:
        """The number of writes to other servers; None: they have no effect."""
        if server not in self.names.undeclared:
            return None
        return sum(self._writes.values()) - self.writes(server)

    def advance(self, call: CallKey) -> None:
        """Adds a write, whatever its result: even a rejected or lost write may have changed something."""
        name = self.name_of(call.server)
        self._states[name] = next_state(self.own(call.server), call.key)
        self._writes[name] = self._writes.get(name, 0) + 1

    def turn(self, server: str) -> asyncio.Lock:
        """A lock held while a call is recorded: the preceding writes are only known if none is in progress."""
        return self._turns["" if server in self.names.undeclared else self.name_of(server)]


@cache
def initial_state(name: str) -> str:
    """The state of that name before anything was written."""
    return chained_digest("server", name)


def next_state(state: str, key: str) -> str:
    """The state after the write of that key."""
    return chained_digest("after", state, key)


def _names_and_states(states: dict[str, str]) -> tuple[str, ...]:
    return tuple(part for name in sorted(states) for part in (name, states[name]))
