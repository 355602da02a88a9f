"""Conversations through the command line: an agent of each kind serves the same scripted user."""

import pytest

from tests.walks.conftest import Walk

SUITE = """\
agents:
  turns: {command: [python3, "{agent}/turns.py"], files: agent}
  http:
    command: [python3, "{agent}/server.py", "{port}"]
    files: agent
    chat: {path: /v1/say, send: {messages: "{messages}", to: me}, reply: /choices/0/text}
  silent: {command: [python3, -c, "import sys; print('tired'); sys.exit(3)"], files: agent, chat: {}}
checks:
  - {name: sum, verifier: final_answer, with: {equals: "so far: 2, 40; sum 42"}}
"""

CASES = """\
- id: sum
  task: "2"
  conversation:
    turns:
      - {when: {contains: "sum 2"}, say: "40"}
      - {when: {contains: "never"}, say: "0"}
"""

ANSWER = """\
def answer(texts):
    return "so far: " + ", ".join(texts) + "; sum " + str(sum(map(int, texts)))
"""

TURNS = """\
import json, os, urllib.request
from answering import answer
URL = os.environ["HARNESS_GATEWAY_URL"]
texts = []
while True:
    with urllib.request.urlopen(URL + "/turn") as response:
        if response.status == 204:
            break
        texts.append(json.load(response)["message"])
    said = json.dumps({"message": answer(texts)}).encode()
    urllib.request.urlopen(urllib.request.Request(URL + "/reply", said, method="POST"))
"""

SERVER = """\
import json, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from answering import answer

class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.give({"status": "ok"})
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        assert (asked["to"], self.path) == ("me", "/v1/say")
        texts = [one["content"] for one in asked["messages"] if one["role"] == "user"]
        self.give({"choices": [{"text": answer(texts)}]})
    def give(self, value):
        body = json.dumps(value).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

HTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
"""


@pytest.fixture
def talking(walk: Walk) -> Walk:
    folder = walk.folder / "suites" / "s"
    (folder / "agent").mkdir(parents=True)
    files = {"turns.py": TURNS, "server.py": SERVER, "answering.py": ANSWER}
    for name, text in files.items():
        (folder / "agent" / name).write_text(text)
    (folder / "suite.yaml").write_text(SUITE)
    (folder / "cases.yaml").write_text(CASES)
    return walk


@pytest.mark.parametrize("agent", ["turns", "http"])
@pytest.mark.parametrize("sandbox", ["local", pytest.param("docker", marks=[pytest.mark.docker, pytest.mark.slow])])
def test_each_kind_of_agent_serves_the_same_conversation(talking: Walk, agent: str, sandbox: str) -> None:
    summary = talking.summary("run", "s", "--agent", agent, "--sandbox", sandbox, "--run-name", "r")
    assert 1 == summary["success"]["successes"]
    trial = talking.trial("r", "sum")
    spoken = [(step["source"], step["message"]) for step in trial["trajectory"]["steps"] if step["message"]]
    assert [
        ("user", "2"),
        ("agent", "so far: 2; sum 2"),
        ("user", "40"),
        ("agent", "so far: 2, 40; sum 42"),
    ] == spoken
    assert 1 == len(trial["unsaid_turns"])


@pytest.mark.slow
def test_an_agent_that_does_not_answer_as_agreed_has_failed_and_says_why(talking: Walk) -> None:
    talking("run", "s", "--agent", "silent", "--sandbox", "local", "--run-name", "r", status=1)
    trial = talking.trial("r", "sum")
    assert "agent_failed" == trial["outcome"]
    assert "ended with status 3 before it listened" in trial["exit"]["stderr"]
