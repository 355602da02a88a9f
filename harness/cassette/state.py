"""The state before a call: the writes of the trial, as a hash chain.

Servers and hosts that share a backend share one chain: a read after a different write is a different request. For a
server that may share its state with others, without a declaration, the writes to the others are part of the state too:
answers recorded after them are not returned where they were not made.
"""

import asyncio
from collections import defaultdict
from functools import cache

from harness.case import StateNames
from harness.cassette.keys import CallKey, chained_digest

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

    def state(self, server: str) -> str:
        """The state in which a call of the server is made."""
        if server == WORLD and self._states:
            return chained_digest(WORLD, *_pairs(self._states))
        others = self.others(server)
        return chained_digest("elsewhere", self.own(server), *_pairs(others)) if others else self.own(server)

    def own(self, server: str) -> str:
        """The state without the writes to other servers."""
        name = self.names.of(server)
        return self._states.get(name) or initial_state(name)

    def others(self, server: str) -> dict[str, str]:
        """The states of the other servers, by name, that the server may share where the suite does not declare it; only
        those with writes.
        """
        if server not in self.names.undeclared:
            return {}
        return {name: state for name, state in self._states.items() if name != self.names.of(server)}

    def writes(self, server: str) -> int:
        """How many writes have been made to the server's own state."""
        if server == WORLD:
            return sum(self._writes.values())
        return self._writes.get(self.names.of(server), 0)

    def elsewhere(self, server: str) -> int | None:
        """The number of writes to other servers; None: they have no effect."""
        if server not in self.names.undeclared:
            return None
        return sum(self._writes.values()) - self.writes(server)

    def advance(self, call: CallKey) -> None:
        """Adds a write, whatever its result: even a rejected or lost write may have changed something."""
        name = self.names.of(call.server)
        self._states[name] = next_state(self.own(call.server), call.key)
        self._writes[name] = self._writes.get(name, 0) + 1

    def turn(self, server: str) -> asyncio.Lock:
        """A lock held while a call is recorded: the preceding writes are only known where none is in progress."""
        return self._turns["" if server in self.names.undeclared else self.names.of(server)]


@cache
def initial_state(name: str) -> str:
    """The state of that name before anything was written."""
    return chained_digest("server", name)


def next_state(state: str, key: str) -> str:
    """The state after the write of that key."""
    return chained_digest("after", state, key)


def _pairs(states: dict[str, str]) -> tuple[str, ...]:
    return tuple(part for name in sorted(states) for part in (name, states[name]))
