"""What works on this machine: the guarantees of sandboxes, recording and replay."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Literal

from harness.errors import EngineUnavailable, HarnessError, ImageError
from harness.runs.execution.run import Watch, run_plan
from harness.runs.plan.plan import RunOptions
from harness.runs.plan.planning import plan_of
from harness.runs.store.folder import RunFolder
from harness.sandbox.conformance import run_conformance
from harness.sandbox.engine import connect
from harness.sandbox.environment import BASE_IMAGE
from harness.sandbox.images.store import ImageStore
from harness.sandbox.providers import isolates, open_provider
from harness.values import Frozen

_SUITE = "self_test"
_SUITE_YAML = """\
agents: {v1: {files: agents/v1, command: [python3, "{agent}/main.py"]}}
servers: {clock: {base_url: "http://127.0.0.1:PORT"}}
tools:
  - name: tick
    server: clock
    effect: read
    http: {method: GET, path: /tick}
cases: cases.yaml
"""
_CASES = """\
- id: tick
  task: Ask the clock.
  checks: [{name: answer, verifier: final_answer, with: {contains: "tick 1"}}]
"""
_AGENT = """\
import json, os, urllib.request

def ask(path, body=None):
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(os.environ["HARNESS_GATEWAY_URL"] + path, data)) as answer:
        return json.loads(answer.read() or b"null")

ask("/turn")
ask("/reply", {"message": "tick %d" % ask("/tools/tick", {})["tick"]})
"""


class SelfTestResult(Frozen):
    """One part of the harness on this machine."""

    part: str
    state: Literal["works", "fails", "absent"]
    """`absent`: the machine lacks what the part needs, and nothing was tried."""
    text: str
    problems: tuple[str, ...] = ()
    """Each guarantee that does not hold, with what was seen."""
    remedy: str | None = None
    seconds: float = 0.0


def self_test(
    folder: Path, sandboxes: Sequence[str], say: Callable[[str], None] = lambda _: None
) -> Iterator[SelfTestResult]:
    """Tries one part after the other; `folder` is empty and gets the files, `say` the name of what is tried now.

    For each sandbox: the guarantees of its interface, then a suite whose tool is recorded from a service and replayed
    twice without it. Raises UsageError for an unknown sandbox before anything is tried.
    """
    isolating = {sandbox: isolates(sandbox) for sandbox in sandboxes}
    for sandbox, isolated in isolating.items():
        missing = _no_engine_error(folder) if isolated else None
        if missing is not None:
            yield SelfTestResult(part=f"sandbox {sandbox}", state="absent", text=missing.message, remedy=missing.remedy)
            continue
        say(f"trying sandbox {sandbox}")
        yield _result_of(f"sandbox {sandbox}", _guarantees, folder / sandbox / "guarantees", sandbox)
        yield _result_of(f"replay in {sandbox}", _replay, folder / sandbox / "project", sandbox)


class _Broken(HarnessError):
    """Guarantees do not hold."""

    def __init__(self, message: str, problems: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.problems = problems


def _result_of(part: str, attempt: Callable[[Path, str], str], folder: Path, name: str) -> SelfTestResult:
    """What `attempt` says of itself, or why it raised a HarnessError."""
    began = time.monotonic()
    folder.mkdir(parents=True)
    try:
        found = SelfTestResult(part=part, state="works", text=attempt(folder, name))
    except _Broken as error:
        found = SelfTestResult(part=part, state="fails", text=error.message, problems=error.problems)
    except HarnessError as error:
        found = SelfTestResult(part=part, state="fails", text=error.message, remedy=error.remedy)
    return found.model_copy(update={"seconds": round(time.monotonic() - began, 1)})


def _no_engine_error(project: Path) -> HarnessError | None:
    """Why no container can be started; None: it can."""
    try:
        _base_image(project)
    except (EngineUnavailable, ImageError) as error:
        return error
    return None


def _base_image(project: Path) -> str:
    client = connect()
    try:
        return ImageStore(project, client).tag(BASE_IMAGE)
    finally:
        client.close()


def _guarantees(folder: Path, sandbox: str) -> str:
    image = _base_image(folder) if isolates(sandbox) else None
    provider = open_provider(sandbox, run="self-test")
    try:
        found = run_conformance(provider, image, folder)
    finally:
        provider.close()
    return _check_guarantee(found) + ("" if provider.isolates else "; it does not isolate")


def _check_guarantee(found: Mapping[str, str | None]) -> str:
    """Raises _Broken if a guarantee does not hold."""
    failed = tuple(f"{name}: {problem}" for name, problem in found.items() if problem is not None)
    if failed:
        raise _Broken(f"{len(failed)} of {len(found)} guarantees do not hold", failed)
    return f"{len(found)} guarantees hold"


def _replay(project: Path, sandbox: str) -> str:
    """Records the suite from a service, stops the service, and replays the suite twice."""
    with _service() as (port, calls):
        _write_suite(project, port)
        recorded = _run(project, sandbox, "recorded", "record")
    asked = len(calls)
    if asked != 1:
        raise _Broken(f"the recording made {asked} calls of the service, expected 1")
    replayed = [_run(project, sandbox, f"replayed-{number}", "replay") for number in (1, 2)]
    for run in (recorded, *replayed):
        (card,) = run.scorecards()
        if card.success is not True:
            raise _Broken(f"the run {run.manifest.run} ended as {card.outcome}: {card.reason or card.verdicts}")
    first, second = (list(run.scorecards()) for run in replayed)
    if first != second:
        raise _Broken("two replays gave different scorecards")
    return "a tool was recorded from a service and replayed twice without it; the scorecards are equal"


def _run(project: Path, sandbox: str, name: str, tools: Literal["record", "replay"]) -> RunFolder:
    options = RunOptions(suite=_SUITE, sandbox=sandbox, tools=tools, run_name=name)
    return run_plan(plan_of(project, options), Watch())


def _write_suite(project: Path, port: int) -> None:
    suite = project / "suites" / _SUITE
    (suite / "agents" / "v1").mkdir(parents=True)
    (suite / "suite.yaml").write_text(_SUITE_YAML.replace("PORT", str(port)), encoding="utf-8")
    (suite / "cases.yaml").write_text(_CASES, encoding="utf-8")
    (suite / "agents" / "v1" / "main.py").write_text(_AGENT, encoding="utf-8")


@contextmanager
def _service() -> Iterator[tuple[int, list[str]]]:
    """(port, requested paths) of a service on this machine that counts its calls."""
    calls: list[str] = []

    class Clock(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            calls.append(self.path)
            body = json.dumps({"tick": len(calls)}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Prints nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Clock) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server.server_port, calls
        finally:
            server.shutdown()
            thread.join()
