"""Recordings as a trial makes them."""

from collections.abc import Callable

import pytest

from harness.cassettes.keys import StateChain, call_key, complete_arguments
from harness.cassettes.recordings import Mark, Recording
from harness.cassettes.redaction import Redactor
from harness.suite.tools import HttpRoute, ToolSpec
from harness.values import JsonObject

LOOK = ToolSpec(
    name="look",
    server="menu",
    effect="read",
    http=HttpRoute(path="/look"),
    parameters={
        "type": "object",
        "properties": {"q": {"type": "string"}, "limit": {"type": "integer", "default": 5}, "nonce": {}},
    },
    ignore=("nonce",),
)
ADD = ToolSpec(name="add", server="menu", effect="write", http=HttpRoute(method="POST", path="/add"))
TOOLS = {"look": LOOK, "add": ADD}

Call = tuple[str, JsonObject, bytes]
Record = Callable[..., list[Recording]]


def recordings_of(*calls: Call, secrets: dict[str, str] | None = None) -> list[Recording]:
    """The recordings of one trial that made these calls and was given these bodies."""
    redactor, chain = Redactor(secrets or {}), StateChain()
    made: dict[tuple[str, str], int] = {}
    recordings = []
    for name, arguments, body in calls:
        call = call_key(TOOLS[name], complete_arguments(TOOLS[name], arguments), redactor)
        state = chain.state(call.server)
        mark = Mark(
            server=call.server,
            tool=name,
            effect=call.effect,
            key=call.key,
            state=state,
            writes=chain.writes(call.server),
            occurrence=made.get((call.key, state), 0),
        )
        made[call.key, state] = mark.occurrence + 1
        headers = {"content-type": "application/json"}
        recordings.append(
            Recording(mark=mark, arguments=call.arguments, status=200, headers=headers, body=redactor.body(body))
        )
        if call.effect == "write":
            chain.advance(call)
    return recordings


@pytest.fixture
def look() -> ToolSpec:
    return LOOK


@pytest.fixture
def add() -> ToolSpec:
    return ADD


@pytest.fixture
def record() -> Record:
    return recordings_of
