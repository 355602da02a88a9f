"""A host of the outside, and a client that asks it by each of a session's routes."""

import contextlib
import http.client
import json
import socket
import ssl
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from harness.gateway.contract import SessionRequest
from harness.gateway.gateway import Gateway
from harness.gateway.session import TrialSession
from harness.suite.cases import Case
from harness.suite.hosts import HostSpec
from harness.suite.suites import Suite
from tests.gateway.web.hostile import HOST, Outside, running


class Browser:
    """Asks one host through one of the routes, over one kept connection."""

    def __init__(self, path: Path, route: str, host: str = HOST) -> None:
        self.path = path
        self._route = route
        self.host = host
        link = socket.socket(socket.AF_UNIX)
        link.settimeout(20)
        link.connect(str(path))
        if "tunnel" in route:
            port = 80 if route == "plain tunnel" else 443
            link.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
            self.tunnel = _until(link, b"\r\n\r\n")
        if route in {"tunnel", "transparent TLS"}:
            context = ssl.create_default_context(cafile=str(path.parent / "ca.pem"))
            link = context.wrap_socket(link, server_hostname=host)
        self._link = link
        self._connection = http.client.HTTPConnection(host)
        self._connection.sock = link

    def ask_raw(
        self, method: str, target: str, body: object = None, **headers: str
    ) -> tuple[int, dict[str, str], bytes]:
        url = f"http://{self.host}{target}" if self._route == "proxy" else target
        sent = body if isinstance(body, bytes) or body is None else json.dumps(body).encode()
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if isinstance(body, dict | list):
            named.setdefault("Content-Type", "application/json")
        self._connection.request(method, url, sent, named)
        response = self._connection.getresponse()
        return response.status, {name.lower(): value for name, value in response.getheaders()}, response.read()

    def ask(self, method: str, target: str, body: object = None, **headers: str) -> tuple[int, Any]:
        status, _, answer = self.ask_raw(method, target, body, **headers)
        return status, json.loads(answer) if answer else None

    def close(self) -> None:
        self._link.close()


def _until(link: socket.socket, end: bytes) -> bytes:
    got = b""
    while not got.endswith(end) and (piece := link.recv(1)):
        got += piece
    return got


@pytest.fixture
def host(shop) -> HostSpec:
    return HostSpec(host=HOST, base_url=shop.url, disposable=True)


@pytest.fixture
def browse(suite: Suite, host: HostSpec, case: Case, tmp_path: Path, shop) -> Callable[..., Any]:
    """Runs one trial: `play(browser)` for a browser at one of the routes; gives the session's record."""

    def run_trial(mode: str, play: Callable[[Browser], Any], route: str = "tunnel", **more: Any) -> Any:
        changed = {"hosts": (more.pop("host", host),), "probes": (), **more.pop("suite", {})}
        chosen = suite.model_copy(update=changed)
        with Gateway(
            chosen, mode, cassettes=tmp_path / "cassettes", services=shop, **more.pop("options", {})
        ) as gateway:
            request = SessionRequest(trial_id="t", case=more.pop("case", case), attempt=1, agent="a", version="v1")
            with gateway.open(request) as session, contextlib.closing(Browser(session.socket, route)) as browser:
                play(browser)
                return session.end()

    return run_trial


def order_an_egg(browser: Browser) -> None:
    assert (200, {"found": ["egg"]}) == browser.ask("GET", "/items?q=egg")
    assert (200, {"lines": []}) == browser.ask("GET", "/order")
    assert (200, {"lines": 1}) == browser.ask("POST", "/order", {"item": "egg"})
    assert (200, {"lines": [{"item": "egg"}]}) == browser.ask("GET", "/order")
    assert (404, {"detail": "no such item"}) == browser.ask("GET", "/nothing")


@pytest.fixture
def outside() -> Iterator[tuple[Outside, str]]:
    """A host that misbehaves by path, and its address."""
    host = Outside()
    with running(host) as address:
        yield host, address


@pytest.fixture
def started(
    suite: Suite, case: Case, outside, tmp_path: Path
) -> Callable[..., contextlib.AbstractContextManager[TrialSession]]:
    """Opens a session that reaches the misbehaving host."""

    @contextlib.contextmanager
    def start(mode: str = "live", steps: int = 50, timeout_s: float = 20) -> Iterator[TrialSession]:
        host = HostSpec(host=HOST, base_url=outside[1], disposable=True, timeout_s=timeout_s)
        chosen = suite.model_copy(update={"hosts": (host,), "probes": (), "servers": {}, "tools": ()})
        limited = case.model_copy(update={"limits": case.limits.model_copy(update={"steps": steps})})
        request = SessionRequest(trial_id="t", case=limited, attempt=1, agent="a")
        with Gateway(chosen, mode, cassettes=tmp_path / "cassettes") as gateway, gateway.open(request) as session:
            yield session

    return start
