"""What a suite may leave out or ask for: an agent without files, and a tool that is asked by HEAD."""

from collections.abc import Iterator

import pytest

from tests.serving import Answering, listening
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


@pytest.mark.parametrize(
    ("program", "first", "status"),
    [
        ("raise KeyError('SHOP_KEY')", "KeyError: 'SHOP_KEY'", 1),
        ("", "no gate is set: this run cannot fail; set `gates:", 0),
        ("while True: pass", "no gate is set: this run cannot fail; set `gates:", 0),
    ],
)
def test_an_agent_that_does_nothing_is_told_in_the_first_line(
    walk: Walk, write_suite: WriteSuite, program: str, first: str, status: int
) -> None:
    case = "- {id: a, task: Say it., checks: [{name: said, verifier: final_answer, with: {equals: it}}]}\n"
    write_suite("limits: {seconds: 2}\n", case, {"main.py": program})

    said = walk("run", *LOCAL, status=status).stderr.splitlines()

    assert first in said[2], said  # the first two say what is run, and where


class Counting(Answering):
    """A collection that tells its size to HEAD, and has no body for it."""

    asked: list[str] = []

    def do_HEAD(self) -> None:
        self.asked.append(self.path)
        self.give(200 if self.path == "/records" else 404, b"", {"Total-Records": "7"})


@pytest.fixture
def address() -> Iterator[str]:
    Counting.asked = []
    with listening(Counting) as address:
        yield address


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
