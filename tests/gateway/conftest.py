"""A real service, real sockets, and an agent that speaks plain HTTP."""

import contextlib
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from harness.gateway.contract import SessionRequest
from harness.gateway.gateway import Gateway
from harness.suite.agents import AgentVersion
from harness.suite.cases import Case, StateProbe
from harness.suite.suites import Suite, ToolServer
from harness.suite.tools import HttpRoute, ToolSpec


@dataclass
class Shop:
    """A service that keeps one order a session, and misbehaves on demand."""

    url: str = ""
    orders: dict[str | None, list[Any]] = field(default_factory=dict)
    seen: list[tuple[str, str, dict[str, str], bytes]] = field(default_factory=list)
    """Every request: method, path with query, headers, body."""
    answer: tuple[int, dict[str, str], bytes] = (200, {}, b"{}")
    """What /answer gives."""
    number: int | None = None
    """The id that a new order gets; None: it is answered with the number of its lines."""
    resets: int = 0
    """How many of the next requests for /order get no answer."""
    opened: list[str] = field(default_factory=list)
    snapshots: list[str | None] = field(default_factory=list)
    """Of the openings: the case's own snapshot."""
    closed: list[str] = field(default_factory=list)
    services: Mapping[str, str] | None = None
    """What an opening gives; None: the shop's own address."""

    @contextlib.contextmanager
    def open(self, trial_id: str, snapshot: str | None = None) -> Iterator[Mapping[str, str]]:
        """A ServiceOpener: each opening begins with an empty order."""
        self.opened.append(trial_id)
        self.snapshots.append(snapshot)
        self.orders.clear()
        yield {"shop": self.url} if self.services is None else self.services
        self.closed.append(trial_id)


class ShopHandler(BaseHTTPRequestHandler):
    shop: Shop
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        self.body = self.rfile.read(int(self.headers.get("content-length") or 0))
        self.shop.seen.append((self.command, self.path, dict(self.headers.items()), self.body))
        self.order = self.shop.orders.setdefault(self.headers.get("X-Order-Session"), [])
        routes: dict[str, Callable[[], None]] = {
            "/items": lambda: self.give(200, {"found": parse_qs(urlsplit(self.path).query).get("q", [])}),
            "/order": self.take_order,
            "/slow": self.be_slow,
            "/busy": lambda: self.be_slow(8),
            "/reset": self.reset,
            "/garbled": self.be_garbled,
            "/big": self.be_big,
            "/answer": lambda: self.give_bytes(*self.shop.answer),
        }
        routes.get(urlsplit(self.path).path, lambda: self.give(404, {"detail": "no such item"}))()

    def take_order(self) -> None:
        if self.shop.resets:
            self.shop.resets -= 1
            self.reset()
            return
        if self.command == "POST":
            try:
                self.order.append(json.loads(self.body))
            except ValueError:
                self.give(400, {"detail": "not JSON"})
                return
            number = self.shop.number
            self.give(200, {"lines": len(self.order)} if number is None else {"id": number})
        else:
            self.give(200, {"lines": self.order})

    def be_slow(self, for_s: float = 0.4) -> None:
        time.sleep(for_s)
        with contextlib.suppress(ConnectionError):
            self.give(200, {})

    def reset(self) -> None:
        self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True

    def be_garbled(self) -> None:
        self.wfile.write(b"this is not http\r\n\r\n")
        self.close_connection = True

    def be_big(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.close_connection = True
        with contextlib.suppress(ConnectionError):
            for _ in range(20):
                self.wfile.write(b" " * 1024 * 1024)

    do_POST = do_PUT = do_DELETE = do_HEAD = do_GET

    def give(self, status: int, value: object) -> None:
        self.give_bytes(status, {"Content-Type": "application/json"}, json.dumps(value).encode())

    def give_bytes(self, status: int, headers: dict[str, str], body: bytes) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if status != 204:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        pass


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
