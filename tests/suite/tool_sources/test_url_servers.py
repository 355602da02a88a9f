"""MCP servers at an address: sessions that they forget, redirects, and output that is no JSON."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.suite.tool_sources import tiny_server

CALLS = [["http", "note_add", {"text": "egg"}], ["mcp", "note_add", {"text": "ham"}], ["http", "notes", {}]]


class Forgetful(tiny_server.Handler):
    """A server that forgets each session after one call, and has moved to another path."""

    known: str | None = None
    number = 0
    moved_to = "/moved"
    forgets = 404, b""
    failing: tuple[int, str] | None = None
    """The status that requests whose method begins so are answered with, once a tool was called."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        message = json.loads(body)
        fails = self.failing is not None and self.known is not None and message["method"].startswith(self.failing[1])
        if self.path != "/moved":
            self.refuse(307, location=type(self).moved_to)
        elif fails and self.failing is not None:
            self.refuse(self.failing[0])
        elif message["method"] != "initialize" and self.headers.get("mcp-session-id") != type(self).known:
            self.refuse(*type(self).forgets)
        else:
            if message["method"] == "initialize":
                type(self).number += 1
                type(self).known = f"s{self.number}"
            elif message["method"] == "tools/call":
                type(self).known = None
            self.take(message)

    def refuse(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in (headers | {"content-type": "application/json", "content-length": str(len(body))}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def take(self, message: dict[str, Any]) -> None:
        body = json.dumps(tiny_server.answer(message)).encode() if "id" in message else b""
        self.send_response(200 if body else 202)
        self.send_header("content-type", "application/json")
        if self.known is not None:
            self.send_header("mcp-session-id", self.known)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


@pytest.fixture
def forgetful() -> Iterator[tuple[str, type[Forgetful]]]:
    tiny_server.NOTES.clear()
    handler = type("Handler", (Forgetful,), {})
    server = tiny_server.start_http(handler)
    yield f"http://127.0.0.1:{server.server_port}", handler
    server.shutdown()
    server.server_close()


UNKNOWN = b'{"jsonrpc": "2.0", "error": {"code": -32000, "message": "No valid session ID provided"}, "id": null}'


@pytest.mark.parametrize("forgets", [(404, b""), (400, UNKNOWN)])
def test_a_lost_session_is_opened_anew_and_a_redirect_followed(own_project, forgetful, forgets) -> None:
    url, handler = forgetful
    handler.forgets = forgets
    own_project.write([{"mcp": {"base_url": f"{url}/mcp"}, "server": "tiny", "disposable": True}], CALLS)
    own_project.type("tool", "refresh", "s")
    recorded = own_project.run("record", "recorded")
    told = json.loads(recorded["trajectory"]["final_output"])
    assert [200, 200, 200] == [status for status, _ in told]
    assert "egg, ham" == told[2][1]["content"][0]["text"]
    assert handler.number >= 3
    assert {"exact": 3} == own_project.run("replay", "replayed")["tiers"]


@pytest.mark.parametrize(
    ("status", "method", "outcome", "error"),
    [
        (503, "tools/", "harness_failed", "tool_unavailable"),
        (401, "tools/", "harness_failed", "tool_unavailable"),
        (500, "tools/call", "finished", "tool_unavailable"),
        (403, "tools/call", "finished", "tool_error"),
    ],
)
def test_a_server_that_fails_at_every_request_is_an_outage(
    own_project, forgetful, status: int, method: str, outcome: str, error: str
) -> None:
    url, handler = forgetful
    own_project.write([{"mcp": {"base_url": f"{url}/mcp"}, "server": "tiny", "disposable": True}], CALLS[:1])
    own_project.type("tool", "refresh", "s")
    handler.failing = (status, method)
    trial = own_project.run("live", "run", status=3 if outcome == "harness_failed" else 0)
    assert outcome == trial["outcome"], trial["reason"]
    (seen,) = (seen for step in trial["trajectory"]["steps"] for seen in step["observations"])
    assert error == seen["error"]["type"]


def test_a_redirect_to_another_host_is_named_with_what_to_do(own_project, forgetful) -> None:
    url, handler = forgetful
    handler.moved_to = "http://localhost:9/mcp"
    own_project.write([{"mcp": {"base_url": f"{url}/mcp"}, "server": "tiny", "disposable": True}], CALLS)
    said = own_project.type("tool", "refresh", "s", status=3)
    assert "http://localhost:9/mcp" in said
    assert "mcp.base_url" in said


@pytest.mark.parametrize(
    ("text", "named"),
    [(b'"caf\xe9"', "not UTF-8"), (b"NaN", "NaN"), (rb'"\ud800"', "half of a surrogate pair")],
    ids=["latin-1", "nan", "surrogate"],
)
def test_output_that_is_no_json_is_named_as_what_it_is(own_project, text: bytes, named: str) -> None:
    hostile = (
        Path(tiny_server.__file__)
        .read_text(encoding="utf-8")
        .replace("raise SystemExit(3)", "sys.stdout.buffer.write(HOSTILE)")
    )
    frame = b'{"jsonrpc": "2.0", "id": 2, "result": {"content": [], "x": ' + text + b"}}\n"
    (own_project.suite / "hostile.py").write_text(
        hostile.replace("NOTES: list", f"HOSTILE = {frame!r}\nNOTES: list"), encoding="utf-8"
    )
    group = {"mcp": {"command": [sys.executable, "{suite}/hostile.py"]}, "server": "tiny", "disposable": True}
    own_project.write([group], [["http", "fail", {"how": "exit"}]])
    own_project.type("tool", "refresh", "s")
    ((_, told),) = json.loads(own_project.run("live", "run")["trajectory"]["final_output"])
    assert "malformed_result" == told["error"]["type"]
    assert named in told["error"]["message"]
