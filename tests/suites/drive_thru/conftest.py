"""The real menu service, and a small real gateway in front of it that speaks the agents' protocol over HTTP."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import quote, urlencode

import pytest

from harness.plugins import find_plugin
from harness.scoring.evidence import Evidence
from harness.suite.cases import Case, ReferenceCall
from harness.suite.loading import load_suite
from harness.suite.suites import Suite
from harness.suite.tools import ToolSpec
from harness.traces.trajectory import Observation, Step, ToolCall, ToolFailure, Trajectory
from harness.traces.trial import Trial

PROJECT = Path(__file__).parents[3]
MENU = PROJECT / "images" / "drive_thru" / "menu"
SEED = PROJECT / "images" / "drive_thru" / "seeds" / "menu.sql"

Answer = tuple[int, Any]


@dataclass(frozen=True, kw_only=True)
class MenuService:
    """A running menu service; `database` is the file that it keeps its state in."""

    port: int
    database: Path

    def ask(self, method: str, path: str, body: object = None, session: str | None = None) -> Answer:
        """(status, JSON answer); `body` is sent as it is where it is bytes."""
        content = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        headers = {} if session is None else {"X-Order-Session": session}
        connection = HTTPConnection("127.0.0.1", self.port, timeout=60)
        try:
            connection.request(method, path, content, headers)
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()

    def dump(self) -> str:
        """The canonical dump, by the service's own command."""
        command = [sys.executable, "-m", "menu_service", "--dump", "--database", str(self.database)]
        return subprocess.run(command, cwd=MENU, check=True, capture_output=True, text=True, timeout=120).stdout


@contextmanager
def running_menu(database: Path, seed: Path = SEED) -> Iterator[MenuService]:
    """The service as its own process on a free port."""
    command = [sys.executable, "-m", "menu_service", "--port", "0", "--seed", str(seed), "--database", str(database)]
    with subprocess.Popen(command, cwd=MENU, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            yield MenuService(port=int(process.stdout.readline().rpartition(":")[2]), database=database)
        finally:
            process.terminate()


@dataclass(kw_only=True)
class Served:
    """What one guest's visit left: every call, the last reply, the order."""

    calls: list[tuple[str, dict[str, Any], Answer]] = field(default_factory=list)
    replies: list[str] = field(default_factory=list)
    thoughts: list[str] = field(default_factory=list)
    order: Any = None

    def evidence(self, case: Case, tools: tuple[ToolSpec, ...]) -> Evidence:
        """The visit as a trial."""
        steps = tuple(_step(index, *call) for index, call in enumerate(self.calls))
        final = self.replies[-1] if self.replies else None
        trajectory = Trajectory(trace_id="0", agent="test", steps=steps, final_output=final)
        trial = Trial(
            case_id=case.id, attempt=1, outcome="finished", trajectory=trajectory, states={"order": self.order}
        )
        return Evidence(case=case, trial=trial, tools=tools)


def _step(index: int, name: str, arguments: dict[str, Any], answer: Answer) -> Step:
    status, content = answer
    error = None if status == 200 else ToolFailure(type="tool_error", message=str(content))
    call_id = f"call-{index}"
    return Step(
        index=index,
        source="agent",
        calls=(ToolCall(id=call_id, name=name, arguments=arguments),),
        observations=(Observation(call_id=call_id, content=content, error=error),),
    )


class GuestWindow(ThreadingHTTPServer):
    """One guest with one message; tools are passed on to the menu service under a session of its own."""

    daemon_threads = True

    def __init__(self, menu: MenuService, tools: tuple[ToolSpec, ...], session: str, message: str) -> None:
        self.menu = menu
        self.tools = {tool.name: tool for tool in tools}
        self.session = session
        self.messages = [message]
        self.served = Served()
        super().__init__(("127.0.0.1", 0), _Window)

    def call(self, name: str, arguments: dict[str, Any]) -> Answer:
        """A tool's answer, asked as its declaration in tools.yaml says."""
        route = self.tools[name].http
        query = {key: arguments[argument] for key, argument in route.query.items() if argument in arguments}
        path = quote(route.path) + (f"?{urlencode(query)}" if query else "")
        body = arguments if route.body == "arguments" else None
        answer = self.menu.ask(route.method, path, body, self.session)
        self.served.calls.append((name, arguments, answer))
        return answer


class _Window(BaseHTTPRequestHandler):
    server: GuestWindow
    protocol_version = "HTTP/1.1"
    wbufsize = -1

    def do_GET(self) -> None:
        assert self.path == "/turn"
        if self.server.messages:
            self._send(200, {"message": self.server.messages.pop(0), "system": None, "profile": None})
        else:
            self._send(204, None)

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        match self.path.split("/"):
            case ["", "tools", name] if name in self.server.tools:
                status, answer = self.server.call(name, body)
                failed = {"error": {"type": "tool_error", "message": str(answer), "body": answer}}
                self._send(status, answer if status == 200 else failed)
            case ["", "thought"]:
                self.server.served.thoughts.append(body["text"])
                self._send(204, None)
            case ["", "reply"]:
                self.server.served.replies.append(body["message"])
                self._send(204, None)
            case _:
                self._send(404, {"error": {"type": "unknown_tool", "message": self.path}})

    def _send(self, status: int, content: object) -> None:
        body = b"" if content is None else json.dumps(content).encode()
        self.send_response_only(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@contextmanager
def window(menu: MenuService, tools: tuple[ToolSpec, ...], session: str, message: str) -> Iterator[GuestWindow]:
    """An open window for one guest."""
    with GuestWindow(menu, tools, session, message) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


ServeGuests = Callable[[str, list[str]], list[Served]]
PlayReference = Callable[[str, tuple[ReferenceCall, ...]], Served]


@pytest.fixture(scope="session")
def suite() -> Suite:
    return load_suite(PROJECT, "drive_thru")


@pytest.fixture(scope="session")
def menu(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MenuService]:
    with running_menu(tmp_path_factory.mktemp("menu") / "menu.sqlite") as service:
        yield service


@pytest.fixture(scope="session")
def serve_guests(menu: MenuService, suite: Suite) -> ServeGuests:
    """Runs an agent's program once for each message, without third-party packages; what each guest got, in order."""

    def serve(version: str, message: str, session: str) -> Served:
        agent = suite.folder / suite.agents[version].files
        command = [part.format(agent=agent, work=".") for part in suite.agents[version].command]
        with window(menu, suite.tools, session, message) as server:
            url = f"http://127.0.0.1:{server.server_port}"
            env = {"PATH": os.environ["PATH"], "HARNESS_GATEWAY_URL": url, "PYTHONDONTWRITEBYTECODE": "1"}
            subprocess.run([sys.executable, "-E", "-S", *command[1:]], env=env, check=True, timeout=120)
        server.served.order = menu.ask("GET", "/order", session=session)[1]
        return server.served

    counter = iter(range(1_000_000))

    def serve_all(version: str, messages: list[str]) -> list[Served]:
        sessions = [f"{version}-{next(counter)}" for _ in messages]
        with ThreadPoolExecutor(2) as pool:
            return list(pool.map(serve, [version] * len(messages), messages, sessions))

    return serve_all


@pytest.fixture(scope="session")
def play_reference(menu: MenuService, suite: Suite) -> PlayReference:
    """Makes a reference's calls in their order."""

    def play(session: str, calls: tuple[ReferenceCall, ...]) -> Served:
        with GuestWindow(menu, suite.tools, session, "") as server:
            for call in calls:
                server.call(call.tool, call.arguments)
        server.served.order = menu.ask("GET", "/order", session=session)[1]
        return server.served

    return play


@pytest.fixture(scope="session")
def checks(suite: Suite) -> Any:
    """The suite's checks by name, loaded as the harness loads them."""
    names = [name.rpartition(":")[2] for name in suite.metrics]
    names += [check.verifier.rpartition(":")[2] for check in suite.checks]
    found = {name: find_plugin("metric", f"checks.py:{name}", {}, suite.folder) for name in names}
    return SimpleNamespace(**found, module=sys.modules[next(iter(found.values())).__module__])
