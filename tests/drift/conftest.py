"""A project whose tools are calls of a real service, recorded and looked at through the command line."""

import json
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from harness.cli.main import harness
from harness.drift.check import DriftPlan, learn_suite, probe_suite
from harness.errors import HarnessError
from harness.suite.loading import load_suite
from tests.drift.shop import Answers, Shop, open_shop

AGENT = """
import json, os, urllib.request
from urllib.error import HTTPError

URL = os.environ["HARNESS_GATEWAY_URL"]

def ask(path, body=None):
    sent = urllib.request.Request(URL + path, None if body is None else json.dumps(body).encode())
    try:
        with urllib.request.urlopen(sent) as answer:
            return json.loads(answer.read() or b"null")
    except HTTPError as error:
        return json.loads(error.read() or b"null")

told = [ask("/tools/" + name, arguments) for name, arguments in json.loads(ask("/turn")["message"])]
ask("/reply", {"message": json.dumps(told[-1])})
"""

NUMBER = {"type": "integer"}
TEXT = {"type": "string"}


def tool(name: str, effect: str, route: dict[str, Any], **properties: Any) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": list(properties)}
    return {"name": name, "effect": effect, "server": "shop", "http": route, "parameters": parameters}


TOOLS = [
    tool("get_item", "read", {"path": "/items/{id}"}, id=NUMBER),
    tool("search", "read", {"path": "/search", "query": {"q": "q"}}, q=TEXT),
    tool("order", "write", {"method": "POST", "path": "/orders", "body": "arguments"}, id=NUMBER),
]


@dataclass(frozen=True)
class Project:
    """One suite called `s` whose cases say which calls the agent makes."""

    folder: Path
    shop: Shop

    @property
    def suite(self) -> Path:
        return self.folder / "suites" / "s"

    def write(self, cases: dict[str, list[list[Any]]], tools: list[Any] | None = None, **more: Any) -> None:
        (self.suite / "agent").mkdir(parents=True, exist_ok=True)
        (self.suite / "agent" / "agent.py").write_text(AGENT)
        suite = {
            "agents": {"a": {"command": [sys.executable, "{agent}/agent.py"], "files": "agent"}},
            "servers": {"shop": {"base_url": self.shop.url, "disposable": True}},
            "tools": TOOLS if tools is None else tools,
            "cases": "cases.json",
            "limits": {"seconds": 60},
            **more,
        }
        (self.suite / "suite.yaml").write_text(json.dumps(suite))
        listed = [{"id": name, "task": json.dumps(calls), "nop_passes": True} for name, calls in cases.items()]
        (self.suite / "cases.json").write_text(json.dumps(listed))

    def type(self, *words: str, status: int = 0) -> str:
        """What a command prints; in this process, since a new one takes a second to start."""
        done = CliRunner().invoke(harness, ["--project", str(self.folder), *words])
        code, said = done.exit_code, done.output
        if isinstance(done.exception, HarnessError):
            code, said = int(done.exception.exit_code), f"{said}{done.exception}"
        assert status == code, f"harness {' '.join(words)}\n{said}\n{done.exc_info}"
        return said

    def record(self) -> None:
        self.type("run", "s", "--live", "tools,record", "--sandbox", "local", "--run-name", f"rec{self._count()}")
        self.shop.asked.clear()

    def live(self, name: str, *more: str, status: int = 0) -> str:
        return self.type("run", "s", "--live", "tools", "--sandbox", "local", "--run-name", name, *more, status=status)

    def probe(self, *more: str, status: int = 0) -> dict[str, Any]:
        """The report of a probe."""
        name = f"probe{self._count()}"
        self.type("drift", "probe", "s", "--no-flips", "--run-name", name, *more, status=status)
        return self.report(name)

    def report(self, name: str) -> dict[str, Any]:
        report: dict[str, Any] = json.loads((self.folder / "runs" / name / "drift.json").read_text())
        return report

    def cassette(self, case: str) -> str:
        return (self.folder / "cassettes" / "s" / f"{case}.yaml").read_text()

    def _count(self) -> int:
        return len(list((self.folder / "runs").glob("*")))


ITEM = {"id": 1, "name": "Biscuit", "price": 2.5, "tags": ["warm", "salt"], "stock": {"here": 3, "there": None}}


CASES: dict[str, list[list[Any]]] = {
    "one": [["get_item", {"id": 1}], ["search", {"q": "b"}], ["order", {"id": 1}]],
    "two": [["get_item", {"id": 2}], ["order", {"id": 1}]],
}


def first_release() -> Answers:
    return {
        "GET /items/1": dict(ITEM),
        "GET /items/2": {**ITEM, "id": 2, "name": "Donut"},
        "GET /search?q=b": {"found": [{"id": 1, "name": "Biscuit"}, {"id": 3, "name": "Bagel"}], "total": 2},
        "POST /orders": {"order": 17, "state": "open"},
    }


@pytest.fixture
def shop() -> Iterator[Shop]:
    with open_shop(first_release()) as opened:
        yield opened


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The first release's cassettes, which do not tell where it was served: recorded once for all tests."""
    with open_shop(first_release()) as opened:
        made = Project(tmp_path_factory.mktemp("recorded"), opened)
        made.write(CASES)
        made.record()
    return made.folder / "cassettes"


@pytest.fixture
def project_of_shop(tmp_path: Path, shop: Shop, recorded: Path) -> Project:
    made = Project(tmp_path / "project", shop)
    made.write(CASES)
    shutil.copytree(recorded, made.folder / "cassettes")
    return made


def told(report: dict[str, Any], part: str = "findings") -> list[tuple[str, str, str, str]]:
    """Tool, class, path and kinds of each finding."""
    return [
        (one["tool"], one["change"], one["path"], f"{one['old_kind']} -> {one['new_kind']}") for one in report[part]
    ]


def learn(project: Project, day: int, *, accept: bool = False) -> None:
    """As `harness drift learn` does on another day."""
    learn_suite(_plan(project, day), accept=accept)


def probe_on(project: Project, day: int) -> dict[str, Any]:
    """As `harness drift probe` does on another day."""
    report = probe_suite(_plan(project, day)).report
    plain: dict[str, Any] = json.loads(report.model_dump_json())
    return plain


def _plan(project: Project, day: int) -> DriftPlan:
    return DriftPlan(
        project=project.folder,
        suite=load_suite(project.folder, "s"),
        per_s=1000,
        created=datetime(2026, 3, day, 4, tzinfo=UTC),
        name=f"probe-{len(list((project.folder / 'runs').glob('*')))}",
    )
