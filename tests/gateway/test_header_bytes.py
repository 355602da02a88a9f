"""Headers with any bytes in them, from agents and from servers: no trial is broken by one, and none is split by one."""

import json
import socket
from collections.abc import Iterator

import pytest

from harness.gateway.contract import SessionRequest
from harness.gateway.gateway import Gateway
from harness.suite.agents import AgentVersion
from harness.suite.cases import Case
from harness.suite.hosts import HostSpec
from harness.suite.models import ModelSpec
from harness.suite.suites import Suite, ToolServer
from harness.suite.tools import HttpRoute, ToolSpec
from harness.traces.projection import trajectory_from
from tests.serving import Answering, listening

HOST = "api.example.com"
CHAT = json.dumps({"model": "small-1", "messages": [{"role": "user", "content": "Hi"}]}).encode()
ROUTES = {
    "tool": (b"POST /tools/item", b'{"id": "egg"}'),
    "mcp": (b"POST /mcp", b'{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}'),
    "model": (b"POST /v1/chat/completions", CHAT),
    "spans": (b"POST /v1/traces", b'{"resourceSpans": []}'),
    "host": (f"POST http://{HOST}/x".encode(), b"{}"),
    "turn": (b"GET /turn", b""),
}
HEADERS = (b"X-Stainless-Lang", b"User-Agent", b"Content-Type", b"traceparent", b"Cookie")
NO_UTF_8 = (b"\xff", b"caf\xe9", b"\xed\xa0\x80", b"\xc3")
SPLITTING = (b"a\rX-Injected: b", b"a\nX-Injected: b", b"a\x00b", b"a\r\n X-Injected: b")


class _Told(Answering):
    """Answers everything with a header that is not UTF-8, and keeps the headers that came."""

    came: list[dict[str, str]]
    paths: list[str]

    def do_GET(self) -> None:
        self.sent()
        if self.command != "HEAD":
            self.came.append({name.lower(): value for name, value in self.headers.items()})
            self.paths.append(self.path)
        choice = {"message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop", "index": 0}
        self.give(200, {"id": "m", "object": "chat.completion", "choices": [choice]}, {"X-Said": "caf\xe9 \xff"})

    do_POST = do_HEAD = do_GET


@pytest.fixture
def server() -> Iterator[tuple[str, type[_Told]]]:
    handler = type("Handler", (_Told,), {"came": [], "paths": []})
    with listening(handler) as address:
        yield address, handler


@pytest.fixture
def ended(server, tmp_path):
    """Sends requests as bytes in a live or a recorded trial: the answers, and the trial's record."""
    url, _ = server
    parameters = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    tool = ToolSpec(
        name="item", server="s", effect="read", http=HttpRoute(method="GET", path="/items/{id}"), parameters=parameters
    )
    case = Case(id="c", task="Hi")
    suite = Suite(
        name="s",
        folder=tmp_path,
        agents={"a": AgentVersion(command=("agent",), files="agent")},
        servers={"s": ToolServer(base_url=f"{url}/base", disposable=True)},
        tools=(tool,),
        hosts=(HostSpec(host=HOST, base_url=url, disposable=True),),
        model=ModelSpec(base_url=url),
        cases=(case,),
        digest="0" * 64,
    )

    def play(mode: str, *requests: bytes):
        request = SessionRequest(trial_id="t", case=case, attempt=1, agent="a", version="v1")
        opened = Gateway(suite, mode, model_mode=mode, cassettes=tmp_path / "cassettes")
        with opened as gateway, gateway.open(request) as session:
            answers = [_sent(session, one) for one in requests]
            return answers, session.end()

    return play


def _sent(session, request: bytes) -> bytes:
    answer = b""
    with socket.socket(socket.AF_UNIX) as link:
        link.settimeout(30)
        link.connect(str(session.socket))
        link.sendall(request)
        while part := link.recv(65536):
            answer += part
    return answer


def _request(route: str, header: bytes = b"X-A", value: bytes = b"b") -> bytes:
    line, body = ROUTES[route]
    kind = b"" if header == b"Content-Type" else b"Content-Type: application/json\r\n"
    head = line + b" HTTP/1.1\r\nHost: " + HOST.encode() + b"\r\nConnection: close\r\n" + kind
    return head + header + b": " + value + b"\r\nContent-Length: %d\r\n\r\n" % len(body) + body


@pytest.mark.parametrize("route", ROUTES)
@pytest.mark.parametrize("mode", ["live", "record"])
def test_bytes_of_an_agent_that_are_no_text_are_refused_and_end_no_trial(ended, route: str, mode: str) -> None:
    """Recorded, they could be written nowhere, and the trial was the harness's failure."""
    hostile = [_request(route, header, value) for header in HEADERS for value in NO_UTF_8]
    answers, record = ended(mode, *hostile, _request(route))

    assert {b"HTTP/1.1 400"} == {answer[:12] for answer in answers[:-1]}
    assert all(b"not UTF-8" in answer for answer in answers[:-1])
    assert answers[-1].startswith(b"HTTP/1.1 200")
    trajectory_from(record.spans)


@pytest.mark.parametrize("mode", ["live", "record"])
def test_headers_of_a_server_that_are_no_text_pass_as_latin_1(ended, mode: str) -> None:
    answers, _ = ended(mode, _request("tool"), _request("host"), _request("model"))
    assert {b"HTTP/1.1 200"} == {answer[:12] for answer in answers}
    assert "caf\xe9 \xff".encode() in answers[1]


@pytest.mark.parametrize("route", ["tool", "model", "host"])
def test_no_header_that_an_agent_sends_becomes_two(ended, server, route: str) -> None:
    ended("live", *(_request(route, header, value) for header in HEADERS for value in SPLITTING))
    assert not any("x-injected" in headers for headers in server[1].came)
