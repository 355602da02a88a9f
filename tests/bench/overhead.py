"""What the harness adds to a container: `make bench`.

Three things in turn, round by round, medians compared within the one run:

    true    plain Docker API, create + start + wait + remove with `network none`, the program `true`
    plain   the same cycle with our sandbox's options and the agent's program
    trial   a whole replayed trial of that agent: session, sandbox, two tool calls, trace, score, commit
"""

import argparse
import json
import os
import platform
import statistics
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import docker

from harness.case.loading import load_suite
from harness.gateway.gateway import Gateway
from harness.pipeline.plan import RunPlan, Selection, planned_trials
from harness.pipeline.run import Attempt, Watch, start_run
from harness.results import PlannedTrial, RunFolder
from harness.runner.agents import open_agent
from harness.runner.trial import TrialRunner
from harness.sandbox.container import AGENT_UID, Containers
from harness.sandbox.docker import DockerSandboxProvider
from harness.sandbox.engine import connect, owner_labels
from harness.sandbox.images import ImageStore
from harness.sandbox.layout import Layout
from harness.sandbox.provider import SandboxSpec
from harness.sandbox.snapshots import SnapshotStore
from harness.score import build_scorer

AGENT = Path(__file__).parent / "agent"
SUITE = """\
agents:
  noop: {{command: [python3, "{{agent}}/noop.py"], files: {agent}}}
servers:
  echo: {{base_url: "{url}", disposable: true}}
tools:
  - name: echo
    server: echo
    effect: read
    http: {{method: POST, path: /echo, body: arguments}}
    parameters: {{type: object, properties: {{number: {{type: integer}}}}, required: [number]}}
"""
PROGRAM = ["python3", "/agent/noop.py"]


class Echo(BaseHTTPRequestHandler):
    """Answers a call with its arguments."""

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *words: Any) -> None:
        """Says nothing."""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--rounds", type=int, default=15)
    options.add_argument("--json", action="store_true")
    chosen = options.parse_args()
    with ExitStack() as stack:
        subjects = prepare(stack)
        figures = measure(subjects, chosen.rounds)
    if chosen.json:
        print(json.dumps(figures))
    else:
        show(figures, chosen.rounds)


def prepare(stack: ExitStack) -> dict[str, Callable[[int], None]]:
    """The three subjects, each a function of the round's number."""
    project = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="harness-bench-")))
    client = connect()
    stack.callback(client.close)
    images = ImageStore(project, client)
    tag = images.build("base", print).tag
    record(project, stack)
    suite = load_suite(project, "bench")
    snapshot = SnapshotStore(project, images).load(None, None)
    agent = open_agent(suite, "noop", project / ".harness" / "agents")
    plan = RunPlan(project=project, suite=suite, planned=planned_trials(suite, Selection(), 1000), name="bench")
    folder = stack.enter_context(folder_for(plan, project))
    provider = DockerSandboxProvider(run="bench", client=client)
    stack.callback(provider.close)
    gateway = stack.enter_context(Gateway(suite, "replay", cassettes=project / "cassettes", secrets={}))
    runner = TrialRunner(suite=suite, snapshot=snapshot, provider=provider, gateway=gateway, agent=agent, run="bench")
    attempt = Attempt(runner=runner, folder=folder, scorer=build_scorer(suite), stopping=threading.Event())
    files = agent.program(suite.cases[0]).files
    spec = SandboxSpec(trial_id="plain", limits=suite.cases[0].limits, agent_files=files)
    config = Containers(client, owner_labels("bench")).config(project, spec, snapshot, Layout(snapshot))
    plain = {**config, "command": PROGRAM, "user": f"{AGENT_UID}:{AGENT_UID}"}
    plain["host_config"] = {**config["host_config"], "AutoRemove": False, "CapAdd": []}
    bare = {"image": tag, "command": ["true"], "host_config": client.api.create_host_config(network_mode="none")}

    def trial(number: int) -> None:
        done, _ = attempt(PlannedTrial(case_id="noop", attempt=number + 1))
        assert (done.outcome, done.tiers) == ("finished", {"exact": 2}), done

    return {"true": lambda _: cycle(client, bare), "plain": lambda _: cycle(client, plain), "trial": trial}


def record(project: Path, stack: ExitStack) -> None:
    """The suite's tape, from a real server."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    stack.callback(server.shutdown)
    folder = project / "suites" / "bench"
    folder.mkdir(parents=True)
    (folder / "cases.yaml").write_text("- {id: noop, task: nothing}\n", encoding="utf-8")
    url = f"http://127.0.0.1:{server.server_port}"
    (folder / "suite.yaml").write_text(SUITE.format(agent=AGENT, url=url), encoding="utf-8")
    suite = load_suite(project, "bench")
    planned = planned_trials(suite, Selection(), 1)
    start_run(RunPlan(project=project, suite=suite, planned=planned, tools="record", name="record"), Watch())


def folder_for(plan: RunPlan, project: Path) -> RunFolder:
    """A run folder with the recording's manifest and room for every round."""
    recorded = RunFolder.open(project / "runs" / "record").manifest
    return RunFolder.create(plan.runs, recorded.model_copy(update={"run": "bench", "planned": plan.planned}))


def cycle(client: docker.DockerClient, config: dict[str, Any]) -> None:
    """Create, start, wait, remove."""
    container = client.api.create_container(**config)["Id"]
    client.api.start(container)
    status = client.api.wait(container)["StatusCode"]
    client.api.remove_container(container)
    assert status == 0, status


def measure(subjects: dict[str, Callable[[int], None]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each subject in each round; the order turns from round to round, the first round is not kept."""
    figures: dict[str, list[float]] = {name: [] for name in subjects}
    for number in range(rounds + 1):
        names = list(subjects)
        for name in names[number % 3 :] + names[: number % 3]:
            started = time.perf_counter()
            subjects[name](number)
            if number:
                figures[name].append(time.perf_counter() - started)
    return figures


def show(figures: dict[str, list[float]], rounds: int) -> None:
    """Medians, and the ratios that are promised."""
    medians = {name: statistics.median(seconds) for name, seconds in figures.items()}
    print(f"{platform.system()} {platform.release()}, {os.cpu_count()} processors, {rounds} rounds, medians")
    for name, seconds in figures.items():
        print(f"  {name:6} {medians[name] * 1000:7.1f} ms   ({min(seconds) * 1000:.0f} to {max(seconds) * 1000:.0f})")
    paired = statistics.median(t / p for t, p in zip(figures["trial"], figures["plain"], strict=True))
    print(f"trial / plain  {medians['trial'] / medians['plain']:.2f}   (paired {paired:.2f}; target: at most 1.25)")
    print(f"trial / true   {medians['trial'] / medians['true']:.2f}")


if __name__ == "__main__":
    main()
