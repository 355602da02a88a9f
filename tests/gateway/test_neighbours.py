"""One trial floods a channel of the gateway; calls of another trial, of every kind, take no longer than alone."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from harness.gateway.contract import SessionRequest
from harness.gateway.gateway import Gateway
from harness.gateway.session import TrialSession
from harness.sandbox.browser import ActResult
from harness.sandbox.local import LocalSandboxProvider
from harness.sandbox.provider import SandboxSpec
from harness.sandbox.snapshot import Snapshot
from harness.suite.builtin_tools import CLICK, SHELL
from harness.suite.cases import Case, Limits, SqlProbe, StateProbe
from harness.suite.conversations import Conversation
from harness.suite.suites import Suite, ToolServer
from harness.suite.tools import ToolSpec
from tests.gateway.conftest import Agent, parameters, tool

_BUSY_S = 8
_BOUND_S = 5.0
_AT_ONCE = 40
_BLOCKING = """
import time
from harness.api import Frozen, ToolResult

class Blocking(Frozen):
    def open(self, context):
        return self

    async def call(self, tool, arguments):
        time.sleep(arguments["busy_s"])
        return ToolResult(value={})

    async def close(self):
        pass
"""
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
    _inside("blocking", "plugged", "tool_source", busy_s="number"),
)
SERVERS = {
    "box": ToolServer(sandbox=True),
    "page": ToolServer(browser=True),
    "plugged": ToolServer(tool_source="blocking.py:Blocking", disposable=True),
}
TALK = {"turns": [{"say": "And ham.", "when": {"regex": _NESTED}}, {"say": "Go on."}, {"say": "Go on."}]}


class Floods:
    """Each sends many calls at once; they last until their trial is closed."""

    def shell(self, agent: Agent) -> None:
        agent.call(SHELL, command=f"sleep {_BUSY_S}")

    def click(self, agent: Agent) -> None:
        agent.call(CLICK, target=f"{_BUSY_S}")

    def blocking(self, agent: Agent) -> None:
        agent.call("blocking", busy_s=_BUSY_S / 8)

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
_CONNECTIONS = {"slow_server": 300, "pairs": 2, "blocking": 16}


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
            "blocking": lambda: call("blocking", busy_s=0),
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


@pytest.fixture
def trials(
    suite: Suite, case: Case, shop: Any, agent: Callable[[Path], Agent], tmp_path: Path
) -> Iterator[Callable[[str], tuple[TrialSession, Agent]]]:
    """Opens trials of one gateway, each with a sandbox and a browser."""
    (tmp_path / "blocking.py").write_text(_BLOCKING)
    probe = StateProbe(name="rows", sql=SqlProbe(service="db", query="select"))
    case = case.model_copy(update={"conversation": Conversation.model_validate(TALK), "limits": Limits(steps=10_000)})
    servers = suite.servers | SERVERS
    changed = {"folder": tmp_path, "servers": servers, "tools": TOOLS, "probes": (probe,), "cases": (case,)}
    services = Services(shop=shop.url, db="")
    with (
        Gateway(suite.model_copy(update=changed), "live", cassettes=tmp_path, services=services) as gateway,
        ExitStack() as stack,
    ):
        sandboxes = LocalSandboxProvider(run="r")
        stack.callback(sandboxes.close)

        def opened(name: str) -> tuple[TrialSession, Agent]:
            session = stack.enter_context(gateway.open(SessionRequest(trial_id=name, case=case, attempt=1, agent="a")))
            sandbox = sandboxes.start(
                SandboxSpec(trial_id=name, limits=case.limits), Snapshot(name="n", environment="base", image="i")
            )
            stack.callback(sandbox.close)
            session.attach(sandbox)
            session.attach_browser(Page)
            client = agent(session.socket)
            assert 200 == client.ask("GET", "/turn")[0]
            return session, client

        yield opened


_FLOODS = [name for name in vars(Floods) if not name.startswith("_")]


@pytest.mark.parametrize(
    "flood", [pytest.param(one, marks=[] if one in ("shell", "pairs") else pytest.mark.slow) for one in _FLOODS]
)
def test_a_neighbours_calls_take_no_longer_than_alone(
    trials: Callable[[str], tuple[TrialSession, Agent]], flood: str
) -> None:
    alone = Neighbour(*trials("alone")).seconds()
    greedy, neighbour = [trials("greedy")[0] for _ in range(2)], trials("neighbour")
    connections = _CONNECTIONS.get(flood, _AT_ONCE)
    clients = [Agent(greedy[number % 2].socket) for number in range(connections)]
    with ThreadPoolExecutor(connections) as pool:
        over = threading.Event()

        def send(client: Agent) -> None:
            with suppress(OSError, json.JSONDecodeError):
                while not over.is_set():
                    getattr(Floods(), flood)(client)

        sent = [pool.submit(send, client) for client in clients]
        time.sleep(0.5)
        beside = Neighbour(*neighbour).seconds()
        under_way = sum(not one.done() for one in sent)
        over.set()
        for session in greedy:
            session.close()
        for client in clients:
            client.close()
    print({kind: (round(alone[kind], 3), round(beside[kind], 3)) for kind in alone}, under_way)
    late = {kind: (alone[kind], beside[kind]) for kind in alone if beside[kind] > 10 * alone[kind] + _BOUND_S}
    assert {} == late
