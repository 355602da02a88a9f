"""Calls that flood each channel of the gateway, and one call of each kind by a neighbour."""

import json
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from harness.gateway.session import TrialSession
from harness.sandbox.browser import ActResult
from harness.suite.builtin_tools import CLICK, SHELL
from harness.suite.suites import ToolServer
from harness.suite.tools import ToolSpec
from tests.gateway.conftest import Agent, parameters, tool

_BUSY_S = 8
_NESTED = r"^(a|a)+$"
_CATASTROPHE = "a" * 60 + "!"
_PAIRS = json.dumps({"of": [{"n": number} for number in range(20_000)]}).encode()
"""Compared with each other they take minutes."""
_SPAN = {"traceId": "0" * 31 + "1", "spanId": "1" * 16, "name": "x"}
_SPANS = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": [_SPAN] * 4000}]}]}).encode()


class Services(dict[str, str]):
    """The shop, and a database that answers at once."""

    @contextmanager
    def open(self, trial_id: str, snapshot: str | None = None) -> Iterator["Services"]:
        yield self

    def check(self) -> None: ...

    def tails(self) -> dict[str, str]:
        return {}

    def rows(self, name: str, query: str, timeout_s: float) -> list[Any]:
        return []

    def tables(self, name: str, wanted: Any, timeout_s: float) -> dict[str, Any]:
        return {}


class Page:
    """A browser whose page is as slow as it is asked to be."""

    def act(self, do: str, arguments: Mapping[str, Any], within_s: float) -> ActResult:
        time.sleep(float(arguments["target"]))
        return ActResult(status=200, said={})


def _inside(name: str, server: str, source: str, **properties: str) -> ToolSpec:
    schema = parameters(**{key: {"type": kind} for key, kind in properties.items()})
    return ToolSpec(name=name, server=server, source=source, effect="read", timeout_s=60, parameters=schema)


TOOLS = (
    tool("order", "GET /order"),
    tool("busy", "GET /busy", timeout_s=60),
    tool("rated", "GET /order", rate_limit="1/0.2s", timeout_s=60),
    tool("unique", "GET /order", parameters=parameters(of={"type": "array", "uniqueItems": True})),
    tool("nested", "GET /order", parameters=parameters(of={"type": "string", "pattern": _NESTED})),
    _inside(SHELL, "box", "sandbox", command="string"),
    _inside(CLICK, "page", "browser", target="string"),
)
SERVERS = {
    "box": ToolServer(sandbox=True),
    "page": ToolServer(browser=True),
}
TALK = {"turns": [{"say": "And ham.", "when": {"regex": _NESTED}}, {"say": "Go on."}, {"say": "Go on."}]}


class Floods:
    """Each sends many calls at once; they last until their trial is closed."""

    def shell(self, agent: Agent) -> None:
        agent.call(SHELL, command=f"sleep {_BUSY_S}")

    def click(self, agent: Agent) -> None:
        agent.call(CLICK, target=f"{_BUSY_S}")

    def slow_server(self, agent: Agent) -> None:
        agent.call("busy")

    def rate_limit(self, agent: Agent) -> None:
        agent.call("rated")

    def pairs(self, agent: Agent) -> None:
        agent.ask("POST", "/tools/unique", _PAIRS)

    def expressions(self, agent: Agent) -> None:
        agent.call("nested", of=_CATASTROPHE)

    def replies(self, agent: Agent) -> None:
        agent.ask("POST", "/reply", {"message": _CATASTROPHE})
        agent.ask("GET", "/turn")

    def thoughts(self, agent: Agent) -> None:
        agent.ask("POST", "/thought", {"text": "x" * 900_000})

    def spans(self, agent: Agent) -> None:
        agent.ask("POST", "/v1/traces", _SPANS, _JSON)


_JSON = {"Content-Type": "application/json"}
CONNECTIONS = {"slow_server": 300, "pairs": 2}


class Neighbour:
    """One call of each kind."""

    def __init__(self, session: TrialSession, agent: Agent) -> None:
        self._session = session
        self._agent = agent

    def seconds(self) -> dict[str, float]:
        call = self._agent.call
        acts: dict[str, Callable[[], Any]] = {
            "shell": lambda: call(SHELL, command="echo"),
            "click": lambda: call(CLICK, target="0"),
            "http": lambda: call("order"),
            "rated": lambda: call("rated"),
            "unique": lambda: call("unique", of=[1, 2]),
            "nested": lambda: call("nested", of="a"),
            "spans": lambda: self._agent.ask("POST", "/v1/traces", {"resourceSpans": []}, _JSON),
            "reply": lambda: self._agent.ask("POST", "/reply", {"message": "What else?"}),
            "turn": lambda: self._agent.ask("GET", "/turn"),
            "probe": self._session.end,
        }
        return {kind: _duration(kind, act) for kind, act in acts.items()}


def _duration(kind: str, act: Callable[[], Any]) -> float:
    began = time.monotonic()
    answer = act()
    assert kind == "probe" or answer[0] in (200, 204), (kind, answer)
    return time.monotonic() - began
