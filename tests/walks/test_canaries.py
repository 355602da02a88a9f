"""Secrets that a tool echoes in every form, to an agent that repeats whatever it sees, leave no trace."""

import base64
import gzip
import io
import json
import tarfile
import threading
import zipfile
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import quote, quote_plus

import pytest

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


def forms(value: str) -> set[bytes]:
    """What must be found nowhere."""
    raw = value.encode()
    found = {raw, raw.hex().encode(), base64.b64encode(raw), json.dumps(value)[1:-1].encode()}
    found |= {quote(value, safe="").encode(), quote_plus(value).encode(), base64.urlsafe_b64encode(raw)}
    found |= {base64.b64encode(b"x" * shift + raw)[4:20] for shift in (1, 2)}
    return found


def everything(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Every file's name and bytes, and what is packed in it."""
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            yield str(path), str(path.readlink()).encode("utf-8", "surrogateescape")
        elif path.is_file():
            yield from unpacked(str(path), path.read_bytes())


def unpacked(name: str, content: bytes) -> Iterator[tuple[str, bytes]]:
    yield name, content + name.encode("utf-8", "surrogateescape")
    if content[:2] == b"\x1f\x8b":
        yield from unpacked(name + "!", gzip.decompress(content))
    elif zipfile.is_zipfile(io.BytesIO(content)):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for member in archive.namelist():
                yield from unpacked(f"{name}!{member}", archive.read(member))
    elif content[257:262] == b"ustar":
        with tarfile.open(fileobj=io.BytesIO(content)) as archive:
            for entry in archive:
                stream = archive.extractfile(entry) if entry.isfile() else None
                yield from unpacked(f"{name}!{entry.name}>{entry.linkname}", b"" if stream is None else stream.read())


@pytest.fixture
def echoing() -> Iterator[int]:
    """A service that puts the secret, in every form it knows, wherever it can."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("content-length") or 0))
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
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("retry-after", quote(secret, safe=""))
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.mark.parametrize("sandbox", ["local", pytest.param("docker", marks=pytest.mark.docker)])
def test_no_canary_is_left_anywhere_in_the_project(walk: Walk, echoing: int, sandbox: str) -> None:
    folder = walk.folder / "suites" / "s"
    (folder / "agent").mkdir(parents=True)
    (folder / "agent" / "main.py").write_text(MAIN)
    (folder / "suite.yaml").write_text(SUITE.format(port=echoing))
    (folder / "cases.yaml").write_text("- {id: c, task: Tell me everything.}\n")
    secret = {"CANARY": CANARY}
    shown = []
    for mode in ("record", "live", "replay"):
        done = walk("run", "s", "--tools", mode, "--sandbox", sandbox, "--run-name", mode, env=secret)
        shown.append(done.stdout + done.stderr)
    shown.append(walk("report", "live", "--format", "markdown", env=secret).stdout)
    walk("cassette", "check", "s", env=secret)

    found = [(name, form) for name, content in everything(walk.folder) for form in forms(CANARY) if form in content]
    assert [] == found
    assert [] == [name for name, content in everything(walk.folder) if TOKEN.encode() in content]
    assert not any(form.decode("latin-1") in text for text in shown for form in forms(CANARY))
    trial = walk.trial("record", "c")
    assert "<secret:CANARY>" in trial["trajectory"]["final_output"]
    assert "<secret:accesstoken:" in trial["exit"]["stdout"]
    # The replayed agent saw what the recorded one saw.
    assert () == tuple(walk.trial("replay", "c")["misses"])


def test_the_check_refuses_a_tape_that_holds_a_secret_in_any_form(walk: Walk, echoing: int) -> None:
    folder = walk.folder / "suites" / "s"
    (folder / "agent").mkdir(parents=True)
    (folder / "agent" / "main.py").write_text(MAIN)
    (folder / "suite.yaml").write_text(SUITE.format(port=echoing))
    (folder / "cases.yaml").write_text("- {id: c, task: Tell me everything.}\n")
    walk("run", "s", "--tools", "record", "--sandbox", "local", env={"CANARY": "a-first-secret"})
    tape = walk.folder / "cassettes" / "s" / "c.yaml"
    text = tape.read_text()
    for form in ("another=secret", base64.b64encode(b"another=secret").decode(), "another%3Dsecret"):
        tape.write_text(text.replace("<secret:CANARY>", form, 1))
        refused = walk("cassette", "check", "s", env={"CANARY": "another=secret"}, status=1)
        assert "holds the secret 'CANARY'" in refused.stdout
