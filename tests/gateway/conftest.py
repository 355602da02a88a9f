"""A real service, real sockets, and an agent that speaks plain HTTP."""

import contextlib
import http.client
import json
import socket
import threading
from collections.abc import Callable, Iterator, Mapping
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from harness.gateway.contract import SessionRequest
from harness.gateway.gateway import Gateway
from harness.suite.agents import AgentVersion
from harness.suite.cases import Case, StateProbe
from harness.suite.suites import Suite, ToolServer
from harness.suite.tools import HttpRoute, ToolSpec
from qa.doubles.shop import Shop, ShopHandler


@pytest.fixture(scope="module")
def shop_server() -> Iterator[tuple[ThreadingHTTPServer, type[ShopHandler]]]:
    handler = type("Handler", (ShopHandler,), {})

    class Server(ThreadingHTTPServer):
        daemon_threads = True
        request_queue_size = 512

    with Server(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server, handler
        server.shutdown()
        thread.join()


@pytest.fixture
def shop(shop_server: tuple[ThreadingHTTPServer, type[ShopHandler]]) -> Shop:
    server, handler = shop_server
    handler.shop = Shop(url=f"http://127.0.0.1:{server.server_port}")
    return handler.shop


def parameters(**properties: object) -> dict[str, Any]:
    required = [name for name, schema in properties.items() if "default" not in schema]
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def tool(name: str, route: str, effect: str = "read", **more: Any) -> ToolSpec:
    method, path = route.split(" ")
    http_more = {key: more.pop(key) for key in ("query", "body") if key in more}
    return ToolSpec(
        name=name, server="shop", effect=effect, http=HttpRoute(method=method, path=path, **http_more), **more
    )


TOOLS = (
    tool(
        "look",
        "GET /items",
        query={"q": "q"},
        description="Finds items.",
        parameters=parameters(q={"type": "string"}, limit={"type": "integer", "default": 5}),
    ),
    tool("add", "POST /order", "write", body="arguments", parameters=parameters(item={"type": "string"})),
    tool("order", "GET /order"),
    tool("slow", "GET /slow", timeout_s=0.1),
    tool("reset", "GET /reset"),
    tool("garbled", "GET /garbled"),
    tool("big", "GET /big"),
    tool("answer", "GET /answer"),
    tool("item", "GET /items/{id}", parameters=parameters(id={"type": "string"})),
)


@pytest.fixture
def case() -> Case:
    return Case(id="c1", task="One egg, please.", system="Be quick.", user_profile={"name": "Ann"})


@pytest.fixture
def suite(case: Case) -> Suite:
    return Suite(
        name="breakfast",
        folder=Path(),
        agents={"a": AgentVersion(command=("agent",), files="agent")},
        servers={"shop": ToolServer(service="shop", session_header="X-Order-Session", disposable=True)},
        tools=TOOLS,
        probes=(StateProbe(name="order", tool="order"),),
        cases=(case,),
        digest="0" * 64,
    )


class UnixConnection(http.client.HTTPConnection):
    """A connection through a session's socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("gateway", timeout=120)
        self._path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(30)
        self.sock.connect(str(self._path))


class Agent:
    """Speaks the agent-facing protocol over one kept connection."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._connection = UnixConnection(path)

    def ask(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """Status and decoded answer; bytes are sent as they are."""
        status, _, answer = self.ask_raw(method, path, body, headers)
        return status, json.loads(answer) if answer else None

    def ask_raw(
        self, method: str, path: str, body: object = None, headers: Mapping[str, str] | None = None
    ) -> tuple[int, dict[str, str], bytes]:
        sent = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        self._connection.request(method, path, sent, dict(headers or {}))
        response = self._connection.getresponse()
        answer = response.read()
        return response.status, {name.lower(): value for name, value in response.getheaders()}, answer

    def call(self, name: str, **arguments: Any) -> tuple[int, Any]:
        return self.ask("POST", f"/tools/{name}", arguments)

    def close(self) -> None:
        self._connection.close()


@pytest.fixture
def agent() -> Iterator[Callable[[Path], Agent]]:
    """Makes agents, and closes their connections."""
    with contextlib.ExitStack() as stack:

        def make(path: Path) -> Agent:
            made = Agent(path)
            stack.callback(made.close)
            return made

        yield make


@pytest.fixture
def run(suite: Suite, case: Case, shop: Shop, tmp_path: Path, agent: Callable[[Path], Agent]) -> Callable[..., Any]:
    """Runs one trial in a gateway of its own: `play(agent)` while it is open; gives the session's record."""
    numbers = iter(range(1, 1000))

    def run_trial(mode: str, play: Callable[[Agent], Any], **more: Any) -> Any:
        chosen_suite, chosen_case = more.pop("suite", suite), more.pop("case", case)
        variant = more.pop("variant", None)
        with Gateway(chosen_suite, mode, cassettes=tmp_path / "cassettes", services=shop, **more) as gateway:
            trial = f"trial-{next(numbers)}"
            request = SessionRequest(
                trial_id=trial, case=chosen_case, attempt=1, agent="a", version="v1", variant=variant
            )
            with gateway.open(request) as session:
                play(agent(session.socket))
                return session.end()

    return run_trial
