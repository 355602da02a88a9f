"""A program that calls hosts by itself, in a isolated container: recorded once, then replayed without the host."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.serving import Answering, listening
from tests.walks.conftest import Walk, WriteSuite

_AGENT = """
import http.client, json, os, socket, ssl, urllib.error, urllib.request

GATEWAY = os.environ["HARNESS_GATEWAY_URL"]
told = {}


def read(url, **more):
    try:
        with urllib.request.urlopen(urllib.request.Request(url, **more), timeout=20) as answer:
            return json.load(answer)
    except urllib.error.HTTPError as error:
        return error.code


def through(make):
    connection = make("api.example.com", timeout=20)
    connection.request("GET", "/direct")
    return json.load(connection.getresponse())


told["proxied"] = read("https://api.example.com/proxied?n=1")
told["written"] = read("http://api.example.com/written", data=b'{"n": 2}', method="POST")
told["direct TLS"] = through(http.client.HTTPSConnection)
told["direct"] = through(http.client.HTTPConnection)
told["unknown"] = read("http://elsewhere.example.com/")
try:
    socket.create_connection(("elsewhere.example.com", 443), timeout=5)
except OSError:
    told["unknown name"] = "none"
urllib.request.install_opener(urllib.request.build_opener(urllib.request.ProxyHandler({})))
urllib.request.urlopen(urllib.request.Request(
    GATEWAY + "/reply", json.dumps({"message": json.dumps(told, sort_keys=True)}).encode(), method="POST"
))
"""

_CASES = """
- id: one
  task: Call the host.
  nop_passes: true
  limits: {seconds: 30}
"""


_EMPTY_TREE = b"4b825dc642cb6eb9a060e54bf8d69288fbee4904"
_REFS = b"001e# service=git-upload-pack\n0000" + b"003b" + _EMPTY_TREE + b" HEAD\0 agent=x\n" + b"0000"


class _Handler(Answering):
    protocol_version = "HTTP/1.1"
    seen: list[str]

    def do_GET(self) -> None:
        sent = self.sent()
        self.seen.append(f"{self.command} {self.path}")
        if self.path.startswith("/repo.git/info/refs"):
            self.give(200, _REFS, {"Content-Type": "application/x-git-upload-pack-advertisement"})
        else:
            self.give(200, {"path": self.path, "sent": sent.decode()})

    do_POST = do_GET


@pytest.fixture
def outside() -> Iterator[tuple[str, list[str]]]:
    """A host of the outside: its address, and what it was asked."""
    seen: list[str] = []
    with listening(type("Handler", (_Handler,), {"seen": seen})) as address:
        yield address, seen


@pytest.mark.slow
@pytest.mark.docker
def test_a_program_that_knows_nothing_of_the_harness_is_recorded_and_replayed(
    walk: Walk, write_suite: WriteSuite, outside: tuple[str, list[str]]
) -> None:
    url, seen = outside
    write_suite(
        f"hosts:\n  - {{host: api.example.com, base_url: '{url}', disposable: true}}\n", _CASES, {"main.py": _AGENT}
    )
    walk("record", "s")
    asked = list(seen)
    walk("run", "s", "--run-name", "replayed")
    trial = walk.trial("replayed", "one")

    assert ["GET /proxied?n=1", "POST /written", "GET /direct", "GET /direct"] == asked == seen
    assert {
        "proxied": {"path": "/proxied?n=1", "sent": ""},
        "written": {"path": "/written", "sent": '{"n": 2}'},
        "direct TLS": {"path": "/direct", "sent": ""},
        "direct": {"path": "/direct", "sent": ""},
        "unknown": 403,
        "unknown name": "none",
    } == json.loads(trial["trajectory"]["final_output"])
    assert ("finished", {"exact": 4}) == (trial["outcome"], trial["tiers"])


_CLIENTS = Path(__file__).parent / "clients"


@pytest.mark.docker
@pytest.mark.slow
def test_every_client_as_its_users_write_it_is_recorded_and_replayed(
    walk: Walk, write_suite: WriteSuite, outside: tuple[str, list[str]]
) -> None:
    url, seen = outside
    write_suite("", _CASES, {"main.py": (_CLIENTS / "main.py").read_text(encoding="utf-8")})
    suite = walk.folder / "suites/s/suite.yaml"
    agent = '  v1: {command: [python3, "{agent}/main.py"], files: agent, image: clients, answer: stdout}\n'
    hosts = f"hosts:\n  - host: api.example.com\n    base_url: '{url}'\n    reads: ['*git-upload-pack']\n"
    suite.write_text(f"agents:\n{agent}{hosts}", encoding="utf-8")
    image = walk.folder / "images/clients"
    image.mkdir(parents=True)
    for name in ("Dockerfile", "requirements.txt"):
        shutil.copy(_CLIENTS / name, image / name)
    walk("record", "s")
    asked = len(seen)
    walk("run", "s", "--run-name", "replayed")
    trial = walk.trial("replayed", "one")

    hello = {"path": "/hello", "sent": ""}
    told = json.loads(trial["trajectory"]["final_output"])
    assert ["4b825dc642cb6eb9a060e54bf8d69288fbee4904", "HEAD"] == told.pop("git")[:2]
    assert dict.fromkeys(told, hello) == told
    assert 9 == len(told)
    assert (asked, "finished") == (len(seen), trial["outcome"])
    assert {"exact", "exact_reused"} >= set(trial["tiers"])


_PROXIED = """
import urllib.request
print(urllib.request.urlopen("https://api.example.com/hello", timeout=20).read().decode())
"""


def test_without_a_container_the_proxy_variables_lead_to_the_gateway(
    walk: Walk, write_suite: WriteSuite, outside: tuple[str, list[str]]
) -> None:
    url, seen = outside
    write_suite("", _CASES, {"main.py": _PROXIED})
    agent = '  v1: {command: [python3, "{agent}/main.py"], files: agent, answer: stdout}\n'
    suite = f"agents:\n{agent}hosts:\n  - {{host: api.example.com, base_url: '{url}'}}\n"
    (walk.folder / "suites/s/suite.yaml").write_text(suite, encoding="utf-8")
    walk("run", "s", "--sandbox", "local", "--live", "tools", "--run-name", "live")

    assert ["GET /hello"] == seen
    final = walk.trial("live", "one")["trajectory"]["final_output"]
    assert {"path": "/hello", "sent": ""} == json.loads(final)
