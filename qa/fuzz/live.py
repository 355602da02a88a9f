"""A real gateway, with agents that send anything and servers that answer anything.

Every try has a session of its own, and ends it: a session that the gateway itself has failed in says so. A second
session is asked after each: it must be answered as ever.
"""

import atexit
import json
import shutil
import socket
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import lru_cache, partial
from pathlib import Path
from tempfile import mkdtemp

from harness.drift.github import GithubTracker, RequestPace
from harness.drift.issue import TrackerOptions
from harness.gateway.contract import SessionRequest
from harness.gateway.gateway import Gateway
from harness.gateway.session import TrialSession
from harness.suite.agents import AgentVersion
from harness.suite.cases import Case
from harness.suite.hosts import HostSpec
from harness.suite.models import ModelSpec
from harness.suite.suites import McpServer, Suite, ToolServer
from harness.suite.tools import HttpRoute, ToolSpec
from qa.fuzz.answering import AnsweringServer, http
from qa.fuzz.reader import Reader
from qa.fuzz.wires import MODELS

_CASE = Case(id="c", task="One egg, please.")
_PARAMETERS = {"type": "object", "properties": {"q": {"type": "string"}}}
_LOST = (OSError, TimeoutError)


def readers() -> list[Reader]:
    answers = [http(body, kind) for body in (b'{"found": [1]}', b"null") for kind in ("application/json", "text/plain")]
    results = [http(_RESULT), http(b"event: message\ndata: " + _RESULT + b"\n\n", "text/event-stream")]
    models = [http(said) for _, said, _ in MODELS.values()]
    streams = [http(streamed, "text/event-stream") for _, _, streamed in MODELS.values()]
    listed = [http(_ISSUES, more='Link: <http://127.0.0.1:1/x>; rel="last"\r\n')]
    return [
        Reader(name="agents' bytes on the gateway's socket", syntax="text", seeds=_requests, read=_agent, cost=10),
        Reader(name="agents' JSON to the gateway", syntax="json", seeds=_bodies, read=_agents_json, cost=10),
        Reader(name="tools' answers over HTTP", syntax="text", seeds=lambda: answers, read=_tool, cost=20),
        Reader(
            name="MCP results over HTTP", syntax="text", seeds=lambda: results, read=partial(_mcp, b"call"), cost=20
        ),
        Reader(name="MCP results, JSON", syntax="json", seeds=lambda: [_RESULT], read=_mcp_json, cost=20),
        Reader(name="MCP handshakes", syntax="json", seeds=lambda: [_GREETING], read=_handshake, cost=20),
        Reader(name="MCP over stdio", syntax="lines", seeds=lambda: [_RESULT], read=_stdio, cost=50),
        Reader(name="models' answers over HTTP", syntax="text", seeds=lambda: models + streams, read=_model, cost=20),
        Reader(name="GitHub's answers over HTTP", syntax="text", seeds=lambda: listed, read=_github, cost=20),
        Reader(name="GitHub's answers, JSON", syntax="json", seeds=lambda: [_ISSUES], read=_github_json, cost=20),
    ]


class _World:
    """A gateway in front of an answering server."""

    def __init__(self) -> None:
        self.server = AnsweringServer()
        self.folder = Path(mkdtemp(prefix="fuzz-"))
        look = ToolSpec(name="look", server="shop", effect="read", http=HttpRoute(path="/look"), parameters=_PARAMETERS)
        tools = [look, *(look.model_copy(update={"name": n, "server": n, "source": "mcp", "http": None}) for n in _MCP)]
        self.gateway = Gateway(
            Suite(
                name="fuzzed",
                folder=self.folder,
                agents={"a": AgentVersion(command=("agent",), files="agent")},
                servers={
                    "shop": ToolServer(base_url=self.server.url),
                    "over_http": ToolServer(base_url=self.server.url, mcp=McpServer()),
                    "over_stdio": ToolServer(
                        mcp=McpServer(command=(sys.executable, "-S", "-c", _PROGRAM, str(self.said)))
                    ),
                },
                tools=tuple(tools),
                model=ModelSpec(base_url=self.server.url, timeout_s=5),
                hosts=(HostSpec(host="api.example.com", base_url=self.server.url),),
                cases=(_CASE,),
                digest="0" * 64,
            ),
            "live",
            model_mode="live",
            cassettes=self.folder / "cassettes",
        )
        self.gateway.__enter__()
        self.number = 0
        self.neighbour = self.open()

    @property
    def said(self) -> Path:
        """What the MCP server over stdio says."""
        return self.folder / "said"

    def open(self) -> TrialSession:
        self.number += 1
        asked = SessionRequest(trial_id=f"t{self.number}", case=_CASE, attempt=1, agent="a", version="v1")
        return self.gateway.open(asked)

    def close(self) -> None:
        self.neighbour.close()
        self.gateway.__exit__(None, None, None)
        shutil.rmtree(self.folder)


_MCP = ("over_http", "over_stdio")
_PROGRAM = """
import sys
greeting, *rest = open(sys.argv[1], 'rb').read().split(b'\\n')
for said in (greeting, b'\\n'.join(rest)):
    while b'"id"' not in (line := sys.stdin.buffer.readline()) and line:
        pass
    sys.stdout.buffer.write(said + b'\\n')
    sys.stdout.buffer.flush()
"""


@lru_cache(maxsize=1)
def _world() -> _World:
    world = _World()
    atexit.register(world.close)
    return world


def _sent(session: TrialSession, content: bytes, within_s: float = 30) -> bytes:
    """What comes back until the gateway closes."""
    got = b""
    with socket.socket(socket.AF_UNIX) as connection, suppress(*_LOST):
        connection.settimeout(within_s)
        connection.connect(str(session.socket))
        connection.sendall(content)
        connection.shutdown(socket.SHUT_WR)
        while more := connection.recv(65536):
            got += more
    return got


def _posted(path: str, body: bytes, kind: str = "application/json") -> bytes:
    head = f"POST {path} HTTP/1.1\r\nHost: gateway\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\n"
    return head.encode() + b"Accept: application/json, text/event-stream\r\nConnection: close\r\n\r\n" + body


def _talk(content: bytes, check: Callable[[bytes], None] | None = None) -> None:
    """Without a `check` nobody waits for an answer: half a request has none for ten seconds."""
    world = _world()
    with world.open() as session:
        got = _sent(session, content, 0.3 if check is None else 30)
        if check is not None:
            check(got)
        session.end()  # GatewayError, where the gateway itself failed
    answer = _sent(world.neighbour, b"GET /tools HTTP/1.1\r\nHost: gateway\r\nConnection: close\r\n\r\n")
    assert answer.startswith(b"HTTP/1.1 200 OK"), answer[:200]


def _requests() -> list[bytes]:
    plain = [_posted(path, body) for path, body in _BODIES.items()]
    chunked = (
        b'POST /tools/look HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n7\r\n{"q":1}\r\n0\r\nX: y\r\n\r\n'
    )
    packed = b"POST /tools/look HTTP/1.1\r\nHost: g\r\nContent-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b"
    return [
        *plain,
        chunked,
        packed,
        b"GET /tools HTTP/1.1\r\nHost: gateway\r\n\r\nGET /turn HTTP/1.1\r\nHost: gateway\r\n\r\n",
        b"CONNECT api.example.com:443 HTTP/1.1\r\nHost: api.example.com\r\n\r\n\x16\x03\x01\x00\x05hello",
        b"GET http://api.example.com/a?b=c HTTP/1.1\r\nHost: api.example.com\r\nCookie: a=b\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64),
    ]


def _bodies() -> list[bytes]:
    return [json.dumps({"path": path, "body": json.loads(body)}).encode() for path, body in _BODIES.items()]


def _agent(content: bytes, folder: Path) -> None:
    del folder
    _world().server.answer = lambda request: http(b'{"found": 1}')
    _talk(content)


def _agents_json(content: bytes, folder: Path) -> None:
    """The body alone is changed, so that more of it gets past HTTP."""
    del folder
    path = next((path for path in _BODIES if path.encode() in content), "/tools/look")
    body = content.partition(b'"body":')[2].rstrip()[:-1]
    _world().server.answer = lambda request: http(b'{"found": 1}')
    _talk(_posted(path, body))


def _tool(content: bytes, folder: Path) -> None:
    del folder
    _world().server.answer = lambda request: content
    _talk(_posted("/tools/look", b'{"q": "x"}'), _is_json)


def _mcp(what: bytes, content: bytes, folder: Path) -> None:
    del folder
    _world().server.answer = lambda request: content if what in request else _handshaken(request)
    _talk(_posted("/tools/over_http", b'{"q": "x"}'), _is_json)


def _mcp_json(content: bytes, folder: Path) -> None:
    _mcp(b"tools/call", http(content), folder)


def _handshake(content: bytes, folder: Path) -> None:
    _mcp(b"initialize", http(content), folder)


def _handshaken(request: bytes) -> bytes:
    if b'"initialize"' in request:
        return http(_GREETING)
    return (
        http(_RESULT)
        if b"tools/call" in request
        else b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
    )


def _stdio(content: bytes, folder: Path) -> None:
    del folder
    _world().said.write_bytes(_GREETING + b"\n" + content)
    _talk(_posted("/tools/over_stdio", b'{"q": "x"}'), _is_json)


def _model(content: bytes, folder: Path) -> None:
    del folder
    path = next((path for path, (_, _, streamed) in MODELS.items() if streamed[:40] in content), "/v1/chat/completions")
    _world().server.answer = lambda request: content
    _talk(_posted(path, MODELS[path][0]))


def _github(content: bytes, folder: Path) -> None:
    server = _world().server
    server.answer = lambda request: content
    options = TrackerOptions(project=folder, repo="a/b", api_url=server.url, timeout_s=2)
    pace = RequestPace(between_writes_s=0, longest_wait_s=0, first_pause_s=0.001)
    for issue in GithubTracker(options, "token", pace).find():
        assert issue.number is not None


def _github_json(content: bytes, folder: Path) -> None:
    _github(http(content), folder)


def _is_json(got: bytes) -> None:
    """A tool's answer reaches the agent as whole JSON, or as an error in JSON, whatever its service said."""
    head, _, body = got.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 "), got[:200]
    if b" 204 " not in head[:20]:
        json.loads(body)


_BODIES = {
    "/tools/look": b'{"q": "egg"}',
    "/thought": b'{"text": "hm", "plan": ["a", "b"]}',
    "/reply": b'{"message": "done"}',
    "/mcp": b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "look", "arguments": {"q": "x"}}}',
    "/v1/traces": b'{"resourceSpans": [{"scopeSpans": [{"spans": [{"traceId": "0af7651916cd43dd8448eb211c80319c", '
    b'"spanId": "b7ad6b7169203331", "name": "x", "startTimeUnixNano": "5", "attributes": [{"key": "a", "value": '
    b'{"intValue": "5"}}]}]}]}]}',
    **{path: asked for path, (asked, _, _) in MODELS.items()},
}  # fmt: skip

_GREETING = (
    b'{"jsonrpc": "2.0", "id": 1, "result": {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}'
    b', "serverInfo": '
    b'{"name": "s", "version": "1"}}}'
)
_RESULT = (
    b'{"jsonrpc": "2.0", "id": 2, "result": {"content": [{"type": "text", "text": "{}"}], '
    b'"structuredContent": {"a": 1}}}'
)

_ISSUES = json.dumps(
    [
        {
            "number": 1,
            "title": "look answers differently",
            "state": "open",
            "state_reason": None,
            "url": "http://127.0.0.1:1/repos/a/b/issues/1",
            "html_url": "http://127.0.0.1:1/a/b/issues/1",
            "body": 'x\n<!-- harness-drift:v1 key=0123456789ab {"suite":"s"} -->\n',
            "labels": [{"name": "drift"}],
            "user": {"login": "a", "type": "Bot"},
            "author_association": "OWNER",
            "closed_at": "2026-01-01T00:00:00Z",
            "created_at": "2026-01-01T00:00:00Z",
            "pull_request": None,
        }
    ]
).encode()
