"""Secrets that a tool echoes in every form, to an agent that repeats whatever it sees, leave no trace."""

import base64
import json
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from qa.soak.canaries import everything, forms
from tests.cli.starting import LIVE
from tests.serving import Answering, listening
from tests.walks.conftest import Walk

CANARY = 'can4ry/+"sec ret=é&0815'
TOKEN = "t0ken-of-the-day-4711"

SUITE = """\
agents:
  v1: {{command: [python3, "{{agent}}/main.py"], files: agent}}
secrets: [CANARY]
servers:
  desk: {{base_url: "http://127.0.0.1:{port}", headers: {{Authorization: "Bearer ${{CANARY}}"}}, disposable: true}}
tools:
  - {{name: echo, server: desk, effect: read, http: {{path: /echo}}}}
  - {{name: refuse, server: desk, http: {{method: POST, path: /refuse, body: arguments}},
      parameters: {{type: object, properties: {{said: {{type: string}}}}}}}}
  - {{name: login, server: desk, effect: read, http: {{path: /login}}}}
probes:
  - {{name: seen, tool: echo}}
checks:
  - {{name: files, verifier: command, with: {{run: [cat, "{{work}}/seen.txt"]}}}}
"""

MAIN = """\
import json, os, sys, urllib.error, urllib.request
URL = os.environ["HARNESS_GATEWAY_URL"]

def post(path, value):
    request = urllib.request.Request(URL + path, json.dumps(value).encode(), method="POST")
    try:
        with urllib.request.urlopen(request) as response:
            return response.read().decode() + str(response.headers["retry-after"])
    except urllib.error.HTTPError as error:
        return error.read().decode() + str(error.headers["retry-after"])

urllib.request.urlopen(URL + "/turn").read()
seen = post("/tools/echo", {}) + post("/tools/refuse", {"said": "hello"})
token = json.loads(post("/tools/login", {}).splitlines()[0].partition("}")[0] + "}")["access_token"]
seen += " Bearer " + token
post("/tools/refuse", {"said": seen})
post("/tools/" + seen[:60].replace("/", "%2F").replace(" ", "%20").replace(chr(10), ""), {})
post("/thought", {"text": seen, "plan": [seen]})
post("/reply", {"message": seen})
with open("seen.txt", "w") as file:
    file.write(seen)
os.mkdir("deep")
with open("deep/again.bin", "wb") as file:
    file.write(b"\\xff\\x00" + seen.encode())
os.symlink("/nowhere/" + token, "link")
print(seen)
print(seen, file=sys.stderr)
"""


@pytest.fixture
def echoing() -> Iterator[int]:
    """A service that puts the secret, in every form it knows, wherever it can."""

    class Handler(Answering):
        def do_GET(self) -> None:
            self.sent()
            secret = self.headers["Authorization"].removeprefix("Bearer ").encode("latin-1").decode()
            raw = secret.encode()
            value: object = {
                "plain": f"it is {secret}!",
                secret: 1,
                "deep": [{"b64": base64.b64encode(b"user:" + raw).decode(), "hex": raw.hex()}, quote(secret, safe="")],
                "json": json.dumps({"in": secret}),
            }
            status = 409 if self.path == "/refuse" else 200
            if self.path == "/login":
                value = {"access_token": TOKEN}
            self.give(status, value, {"retry-after": quote(secret, safe="")})

        do_POST = do_GET

    with listening(Handler) as address:
        yield int(address.rpartition(":")[2])


@pytest.mark.slow
@pytest.mark.parametrize("sandbox", ["local", pytest.param("docker", marks=[pytest.mark.docker, pytest.mark.slow])])
def test_no_canary_is_left_anywhere_in_the_project(walk: Walk, echoing: int, sandbox: str) -> None:
    folder = walk.folder / "suites" / "s"
    (folder / "agent").mkdir(parents=True)
    (folder / "agent" / "main.py").write_text(MAIN)
    (folder / "suite.yaml").write_text(SUITE.format(port=echoing))
    (folder / "cases.yaml").write_text("- {id: c, task: Tell me everything.}\n")
    secret = {"CANARY": CANARY}
    shown = []
    for mode in ("record", "live", "replay"):
        done = walk("run", "s", "--live", LIVE[mode], "--sandbox", sandbox, "--run-name", mode, env=secret)
        shown.append(done.stdout + done.stderr)
    shown.append(walk("report", "live", "--format", "markdown", env=secret).stdout)
    walk("cassette", "check", "s", env=secret)

    found = [
        (name, form) for name, content in everything(walk.folder) for form in forms(CANARY).values() if form in content
    ]
    assert [] == found
    assert [] == [name for name, content in everything(walk.folder) if TOKEN.encode() in content]
    assert not any(form.decode("latin-1") in text for text in shown for form in forms(CANARY).values())
    trial = walk.trial("record", "c")
    assert "<secret:CANARY>" in trial["trajectory"]["final_output"]
    assert "<secret:accesstoken:" in trial["exit"]["stdout"]
    # The replayed agent saw what the recorded one saw.
    assert () == tuple(walk.trial("replay", "c")["misses"])


@pytest.mark.slow
def test_the_check_refuses_a_cassette_that_holds_a_secret_in_any_form(walk: Walk, echoing: int) -> None:
    folder = walk.folder / "suites" / "s"
    (folder / "agent").mkdir(parents=True)
    (folder / "agent" / "main.py").write_text(MAIN)
    (folder / "suite.yaml").write_text(SUITE.format(port=echoing))
    (folder / "cases.yaml").write_text("- {id: c, task: Tell me everything.}\n")
    walk("run", "s", "--live", "tools,record", "--sandbox", "local", env={"CANARY": "a-first-secret"})
    cassette = walk.folder / "cassettes" / "s" / "c.yaml"
    text = cassette.read_text()
    for form in ("another=secret", base64.b64encode(b"another=secret").decode(), "another%3Dsecret"):
        cassette.write_text(text.replace("<secret:CANARY>", form, 1))
        refused = walk("cassette", "check", "s", env={"CANARY": "another=secret"}, status=1)
        assert "secret 'CANARY'" in refused.stdout
