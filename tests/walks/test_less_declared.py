"""What a suite may leave out or ask for: an agent without files, and a tool that is asked by HEAD."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.walks.conftest import Walk, WriteSuite

LOCAL = ("s", "--sandbox", "local")


def test_an_agent_whose_program_is_there_already_needs_no_files(walk: Walk, write_suite: WriteSuite) -> None:
    write_suite(
        "", "- {id: a, task: Say it., checks: [{name: said, verifier: final_answer, with: {equals: it}}]}\n", {}
    )
    suite = walk.folder / "suites" / "s" / "suite.yaml"
    suite.write_text("agents: {v1: {command: [python3, -c, 'print(\"it\")'], answer: stdout}}\n")

    walk("run", *LOCAL, "--run-name", "r")

    assert "finished" == walk.trial("r", "a")["outcome"]
    suite.write_text("agents: {v1: {command: [x], prompts: [p.txt]}}\n")
    assert "`prompts`" in walk("run", *LOCAL, status=2).stderr


class Counting(BaseHTTPRequestHandler):
    """A collection that tells its size to HEAD, and has no body for it."""

    asked: list[str] = []

    def do_HEAD(self) -> None:
        self.asked.append(self.path)
        self.send_response(200 if self.path == "/records" else 404)
        self.send_header("Total-Records", "7")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def address() -> Iterator[str]:
    Counting.asked = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Counting) as server:
        threading.Thread(target=server.serve_forever).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


AGENT = """
import json, os, urllib.error, urllib.request
def call(name):
    request = urllib.request.Request(os.environ["HARNESS_GATEWAY_URL"] + "/tools/" + name, b"{}", method="POST")
    try:
        return json.load(urllib.request.urlopen(request))
    except urllib.error.HTTPError as error:
        return json.load(error)["error"]["type"]
counted = call("count")
print(counted["status"], counted["headers"]["total-records"], "date" in counted["headers"], call("gone"))
"""


def test_a_tool_asked_by_head_answers_with_status_and_headers_live_and_replayed(
    walk: Walk, write_suite: WriteSuite, address: str
) -> None:
    rest = (
        f"servers: {{api: {{base_url: '{address}'}}}}\n"
        "tools:\n"
        "  - {name: count, server: api, effect: read, http: {method: HEAD, path: /records}}\n"
        "  - {name: gone, server: api, effect: read, http: {method: HEAD, path: /gone}}\n"
    )
    check = "{name: counted, verifier: final_answer, with: {equals: 200 7 False tool_error}}"
    write_suite(rest, f"- {{id: a, task: Count., checks: [{check}]}}\n", {"main.py": AGENT})
    suite = walk.folder / "suites" / "s" / "suite.yaml"
    suite.write_text(suite.read_text().replace("files: agent}", "files: agent, answer: stdout}"))

    walk("run", *LOCAL, "--live", "tools,record", "--run-name", "recorded")
    asked = ["/", "/records", "/gone"]  # the first is the sign of life that a live run asks for
    assert asked == Counting.asked
    walk("run", *LOCAL, "--run-name", "replayed")

    assert asked == Counting.asked
    card = (walk.folder / "runs/replayed/trials/a/1/scorecard.json").read_text()
    assert '"success": true' in card or '"success":true' in card
