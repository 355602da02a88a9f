"""A project of its own: one suite, three well-behaved cases to each way of misbehaving, and tapes of its tools."""

import json
import threading
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from harness.runs.execution.run import Watch, run_plan
from harness.runs.plan.plan import RunPlan, Selection, planned_trials
from harness.suite.loading import load_suite

AGENT = Path(__file__).parent / "agent"
SUITE = "load"
GOOD = "work"
CALLS = 4
"""Of each well-behaved agent."""
WELL_BEHAVED = 3
"""Cases to one that misbehaves."""
HANGS_S = 4

_SUITE = """\
agents:
  v1: {{command: [python3, "{{agent}}/main.py"], files: {agent}}}
servers:
  shelf: {{base_url: "{url}", disposable: true}}
tools:
  - name: look
    server: shelf
    effect: read
    http: {{method: POST, path: /look, body: arguments}}
    parameters: &number {{type: object, properties: {{number: {{type: integer}}}}, required: [number]}}
  - {{name: put, server: shelf, effect: write, http: {{method: POST, path: /put, body: arguments}},
      parameters: *number}}
  - {{name: large, server: shelf, effect: read, http: {{method: POST, path: /large, body: arguments}},
      parameters: *number}}
checks:
  - {{name: answered, verifier: final_answer, with: {{regex: "."}}}}
limits: {{seconds: 900, memory_mb: 64, processes: 40, disk_mb: 4, output_kb: 16}}
"""


@dataclass(frozen=True, kw_only=True)
class Misbehaviour:
    """What an agent does wrong, and what has to come of it."""

    outcome: str
    reason: str = ""
    """What the reason has to say; empty: there is none."""
    lasts: bool = False
    """Until its time limit."""
    sealed: bool = False
    """Too much for a sandbox that limits nothing."""


_TIME = f"the time limit of {HANGS_S} s"
MISBEHAVIOURS = {
    "crash": Misbehaviour(outcome="agent_failed", reason="status 7"),
    "killed": Misbehaviour(outcome="agent_failed", reason="signal 9"),
    "hang": Misbehaviour(outcome="limit_reached", reason=_TIME, lasts=True),
    "prints": Misbehaviour(outcome="finished"),
    "calls": Misbehaviour(outcome="limit_reached", reason="50 tool calls"),
    "bodies": Misbehaviour(outcome="finished"),
    "forks": Misbehaviour(outcome="limit_reached", reason=_TIME, lasts=True, sealed=True),
    "half_open": Misbehaviour(outcome="limit_reached", reason=_TIME, lasts=True),
    "never_reads": Misbehaviour(outcome="limit_reached", reason=_TIME, lasts=True),
    "daemons": Misbehaviour(outcome="finished"),
    "memory": Misbehaviour(outcome="agent_failed", reason="signal 9", sealed=True),
    "disk": Misbehaviour(outcome="finished", sealed=True),
}
_RECORDED = ("crash", "killed", "calls", "never_reads")


def cases_of(isolates: bool) -> list[str]:
    """The names of what misbehaves in such a sandbox."""
    return [name for name, one in MISBEHAVIOURS.items() if isolates or not one.sealed]


def write_project(folder: Path) -> None:
    """Writes the suite and records the tapes of every case that calls tools."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Shelf)
    serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    serving.start()
    try:
        suite = folder / "suites" / SUITE
        suite.mkdir(parents=True)
        url = f"http://127.0.0.1:{server.server_port}"
        (suite / "suite.yaml").write_text(_SUITE.format(agent=AGENT, url=url), encoding="utf-8")
        (suite / "cases.yaml").write_text("".join(_cases()), encoding="utf-8")
        _record(folder)
    finally:
        server.shutdown()
        server.server_close()
        serving.join()


def _cases() -> list[str]:
    good = [
        f"- {{id: {GOOD}-{number}, task: {GOOD} {number}, category: {GOOD}}}\n"
        for number in range(WELL_BEHAVED * len(MISBEHAVIOURS))
    ]
    return good + [_misbehaving(name, one) for name, one in MISBEHAVIOURS.items()]


def _misbehaving(name: str, one: Misbehaviour) -> str:
    limits = f", limits: {{seconds: {HANGS_S}}}" if one.lasts else ""
    return f"- {{id: {name}, task: {name} 1, category: {name}{limits}}}\n"


def _record(folder: Path) -> None:
    suite = load_suite(folder, SUITE)
    planned = planned_trials(suite, Selection(only=[f"category={name}" for name in (GOOD, *_RECORDED)]), 1)
    run_plan(
        RunPlan(project=folder, suite=suite, planned=planned, tools="record", sandbox="local", jobs=2, name="record"),
        Watch(),
    )


class _Shelf(BaseHTTPRequestHandler):
    """Answers a call with its arguments, and `large` with much more."""

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        body = json.dumps({**asked, "at": self.path, "text": "l" * 300_000 if self.path == "/large" else ""}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""
