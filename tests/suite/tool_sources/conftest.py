"""Projects whose tools come from many sources, run through the command line with the local sandbox."""

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from harness.cli.main import harness
from harness.errors import HarnessError
from tests.cli.starting import LIVE

AGENT = """
import json, os, sys, urllib.request
from urllib.error import HTTPError

def ask(path, body, url=os.environ["HARNESS_GATEWAY_URL"]):
    sent = urllib.request.Request(url + path, json.dumps(body).encode(), {"Content-Type": "application/json"})
    try:
        with urllib.request.urlopen(sent) as answer:
            status, said = answer.status, answer.read()
    except HTTPError as error:
        status, said = error.code, error.read()
    return [status, json.loads(said) if said else None]

def over_mcp(name, arguments):
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": name, "arguments": arguments}}
    return ask("", body, os.environ["HARNESS_MCP_URL"])

told = []
for way, name, arguments in json.loads(os.environ["CALLS"]):
    told.append(over_mcp(name, arguments) if way == "mcp" else ask("/tools/" + name, arguments))
ask("/reply", {"message": json.dumps(told)})
"""


@dataclass(frozen=True)
class Project:
    """One suite called `s` in a folder of its own."""

    folder: Path

    @property
    def suite(self) -> Path:
        return self.folder / "suites" / "s"

    def write(self, tools: list[Any], calls: list[list[Any]], **more: Any) -> None:
        """A suite whose agent makes the calls: `[way, tool, arguments]`, way being `mcp` or `http`."""
        (self.suite / "agent").mkdir(parents=True, exist_ok=True)
        (self.suite / "agent" / "agent.py").write_text(AGENT)
        env = {"CALLS": json.dumps(calls)}
        command = [sys.executable, "{agent}/agent.py"]
        suite = {
            "agents": {"a": {"command": command, "files": "agent", "env": env}},
            "tools": tools,
            "cases": "cases.json",
            "limits": {"seconds": 60},
            **more,
        }
        (self.suite / "suite.yaml").write_text(json.dumps(suite))
        (self.suite / "cases.json").write_text(json.dumps([{"id": "c", "task": "Do it.", "nop_passes": True}]))

    def type(self, *words: str, status: int = 0) -> str:
        """What a command prints; in this process, since a new one takes a second to start."""
        done = CliRunner().invoke(harness, ["--project", str(self.folder), *words])
        code, said = done.exit_code, done.output
        if isinstance(done.exception, HarnessError):
            code, said = int(done.exception.exit_code), f"{said}{done.exception}"
        assert status == code, f"harness {' '.join(words)}\n{said}\n{done.exc_info}"
        return said

    def run(self, mode: str, name: str, status: int = 0) -> dict[str, Any]:
        """The trial of one run in the local sandbox."""
        self.type("run", "s", "--live", LIVE[mode], "--sandbox", "local", "--run-name", name, status=status)
        return self.trial(name)

    def trial(self, name: str) -> dict[str, Any]:
        trial: dict[str, Any] = json.loads(
            (self.folder / "runs" / name / "trials" / "c" / "1" / "trial.json").read_text(encoding="utf-8")
        )
        return trial


@pytest.fixture
def own_project(tmp_path: Path) -> Project:
    made = Project(tmp_path / "project")
    made.suite.mkdir(parents=True)
    return made
