"""Values that `harness drift learn` saw change by themselves are translated while a cassette is recorded again."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.drift.conftest import NUMBER, Project, tool
from tests.drift.shop import Shop, open_shop

TOOLS = [
    tool("begin", "read", {"path": "/begin"}),
    tool("look", "read", {"path": "/seats/{seat}"}, seat=NUMBER),
    tool("price", "read", {"path": "/prices/{seat}"}, seat=NUMBER),
]
AGENT = """
import json, os, urllib.request

def ask(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    sent = urllib.request.Request(os.environ["HARNESS_GATEWAY_URL"] + path, data)
    try:
        return json.loads(urllib.request.urlopen(sent).read() or b"null")
    except urllib.error.HTTPError as error:
        return json.loads(error.read())

names = json.loads(ask("/turn")["message"])
seat = ask("/tools/begin", {})["seat"]
ask("/reply", {"message": json.dumps([ask("/tools/" + name, {"seat": seat}) for name in names])})
"""


@pytest.fixture
def shop() -> Iterator[Shop]:
    """A service whose seats have running numbers under a name that tells nothing; only the newest one is known."""
    numbers = itertools.count(701)
    with open_shop({}) as opened:

        def begin() -> dict[str, Any]:
            number = next(numbers)
            for asked in [one for one in opened.answers if one != "GET /begin"]:
                del opened.answers[asked]
            opened.answers |= {f"GET /seats/{number}": {"free": True}, f"GET /prices/{number}": {"price": 5}}
            return {"seat": number}

        opened.answers["GET /begin"] = begin
        yield opened


def recorded(project: Project, run: str, names: list[str]) -> dict[str, Any]:
    project.write({"c1": names}, TOOLS)
    (project.suite / "agent" / "agent.py").write_text(AGENT)
    said = project.type("run", "s", "--live", "tools,record", "--sandbox", "local", "--run-name", run, "--json")
    found: dict[str, Any] = json.loads(said[said.index("{\n") :])["recorded"][0]
    return found


def test_a_number_that_was_learned_is_sent_as_it_is_today(tmp_path: Path, shop: Shop) -> None:
    project = Project(tmp_path, shop)
    recorded(project, "first", ["look"])
    project.type("drift", "learn", "s")
    shop.asked.clear()

    again = recorded(project, "second", ["look", "price"])

    assert (1, 1, []) == (again["added"], again["levelled"], again["differing"])
    begun, looked, asked = shop.asked
    assert "GET /begin" == begun
    assert looked.rpartition("/")[2] == asked.rpartition("/")[2] != "701"
    project.type("run", "s", "--sandbox", "local", "--run-name", "replayed")
    answers = json.loads((tmp_path / "runs/replayed/trials/c1/1/trial.json").read_text())["trajectory"]["final_output"]
    assert [{"free": True}, {"price": 5}] == json.loads(answers)
