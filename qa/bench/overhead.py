"""What the harness adds to a container: `make bench`.

In turn, round by round, medians compared within the one run:

    true    plain Docker API, create + start + wait + remove with `network none`, the program `true`
    plain   the same cycle with our sandbox's options and the agent's program
    trial   a whole replayed trial of that agent: session, sandbox, two tool calls, trace, score, commit
    warm    the same in a warm sandbox (--sandbox docker-warm)
    bare    the same of an agent that imports only `socket`
    exec    a warm sandbox from the request to the end of the program `true`
    python  a warm sandbox from the request to the first statement of a Python program
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
from dataclasses import dataclass, replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import docker

from harness.gateway.gateway import Gateway
from harness.runs.execution.executor import Attempt
from harness.runs.execution.run import Watch, run_plan
from harness.runs.plan.plan import RunPlan, Selection, planned_trials
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import PlannedTrial
from harness.runs.trial.agents import Agent, open_agent
from harness.runs.trial.trial import TrialRunner
from harness.sandbox.containers.configuration import AGENT_UID, Containers, mounted_sockets
from harness.sandbox.containers.docker import DockerSandboxProvider
from harness.sandbox.containers.warm import WarmDockerSandboxProvider
from harness.sandbox.engine import connect
from harness.sandbox.images.store import ImageStore
from harness.sandbox.layout import Layout
from harness.sandbox.ownership import owner_labels
from harness.sandbox.provider import SandboxProvider, SandboxSpec
from harness.sandbox.snapshot import Snapshot
from harness.sandbox.snapshots import SnapshotStore
from harness.scoring.scorer import build_scorer
from harness.suite.loading import load_suite
from harness.suite.suites import Suite

AGENT = Path(__file__).parent / "agent"
SUITE = """\
agents:
  noop: {{command: [python3, "{{agent}}/noop.py"], files: {agent}}}
  bare: {{command: [python3, "{{agent}}/bare.py"], files: {agent}}}
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
FIRST = ["python3", "-c", "import time; print(time.monotonic_ns())"]


RATIOS = (
    ("trial", "plain", 1.1),
    ("trial", "true", None),
    ("warm", "true", None),
    ("bare", "true", 1 / 6),
    ("exec", "true", 1 / 15),
    ("python", "true", 1 / 10),
)
"""And what is promised of each: at most so much."""


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
    options.add_argument("--rounds", type=_rounds, default=20)
    options.add_argument("--json", action="store_true")
    chosen = options.parse_args()
    with ExitStack() as stack:
        subjects = prepare(stack)
        figures = measure(subjects, chosen.rounds)
    if chosen.json:
        print(json.dumps(figures))
    else:
        show(figures, chosen.rounds)


def _rounds(text: str) -> int:
    if int(text) < 2:
        raise argparse.ArgumentTypeError("quarters need at least 2 rounds")
    return int(text)


def prepare(stack: ExitStack) -> dict[str, Callable[[int], float | None]]:
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
    plan = RunPlan(project=project, suite=suite, planned=planned_trials(suite, Selection(), 30_000), name="bench")
    folder = stack.enter_context(folder_for(plan, project))
    provider = DockerSandboxProvider(run="bench", client=client)
    stack.callback(provider.close)
    gateway = stack.enter_context(Gateway(suite, "replay", cassettes=project / "cassettes", secrets={}))
    parts = Parts(suite, snapshot, gateway, agent, folder)
    bare_parts = replace(parts, agent=open_agent(suite, "bare", project / ".harness" / "agents"))
    attempt = parts.attempt(provider)
    warm = WarmDockerSandboxProvider(run="bench", client=client)
    stack.callback(warm.close)
    files = agent.program(suite.cases[0]).files
    spec = SandboxSpec(trial_id="plain", limits=suite.cases[0].limits, agent_files=files)
    sockets = mounted_sockets(project, spec)
    config = Containers(client, owner_labels("bench")).config(sockets, spec, snapshot, Layout(snapshot))
    plain = {**config, "command": PROGRAM, "user": f"{AGENT_UID}:{AGENT_UID}"}
    plain["host_config"] = {**config["host_config"], "AutoRemove": False, "CapAdd": []}
    bare = {"image": tag, "command": ["true"], "host_config": client.api.create_host_config(network_mode="none")}

    return {
        "true": lambda _: cycle(client, bare),
        "plain": lambda _: cycle(client, plain),
        "trial": lambda number: trial(attempt, number),
        "warm": lambda number: trial(parts.attempt(warm), number + 10_000),
        "bare": lambda number: trial(bare_parts.attempt(warm), number + 20_000),
        "exec": lambda _: started(warm, spec, snapshot, ["true"]),
        "python": lambda _: started(warm, spec, snapshot, FIRST),
    }


@dataclass(frozen=True)
class Parts:
    """What the trials have in common."""

    suite: Suite
    snapshot: Snapshot
    gateway: Gateway
    agent: Agent
    folder: RunFolder

    def attempt(self, provider: SandboxProvider) -> Attempt:
        runner = TrialRunner(
            suite=self.suite,
            snapshot=self.snapshot,
            provider=provider,
            gateway=self.gateway,
            agent=self.agent,
            run="bench",
        )
        return Attempt(runner=runner, folder=self.folder, scorer=build_scorer(self.suite), stopping=threading.Event())


def trial(attempt: Attempt, number: int) -> None:
    found = attempt(PlannedTrial(case_id="noop", attempt=number + 1))
    assert found is not None
    assert (found[0].outcome, found[0].tiers) == ("finished", {"exact": 2}), found[0]


def started(provider: SandboxProvider, spec: SandboxSpec, snapshot: Snapshot, program: list[str]) -> float:
    """Seconds from the request to the first statement, which the program prints; to its end where it prints nothing."""
    began = time.monotonic_ns()
    sandbox = provider.start(spec, snapshot)
    told = sandbox.exec(program, {}, 30).stdout
    ended = int(told) if told else time.monotonic_ns()
    sandbox.close()
    return (ended - began) / 1e9


def record(project: Path, stack: ExitStack) -> None:
    """The suite's cassette, from a real server."""
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
    run_plan(RunPlan(project=project, suite=suite, planned=planned, tools="record", name="record"), Watch())


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


def measure(subjects: dict[str, Callable[[int], float | None]], rounds: int) -> dict[str, list[float]]:
    """Seconds of each subject in each round; the order turns from round to round, the first round is not kept."""
    figures: dict[str, list[float]] = {name: [] for name in subjects}
    for number in range(rounds + 1):
        names = list(subjects)
        turn = number % len(names)
        for name in names[turn:] + names[:turn]:
            began = time.perf_counter()
            seconds = subjects[name](number)
            if number:
                figures[name].append(time.perf_counter() - began if seconds is None else seconds)
    return figures


def show(figures: dict[str, list[float]], rounds: int) -> None:
    """Medians with their quarters, and the ratios that are promised."""
    medians = {name: statistics.median(seconds) for name, seconds in figures.items()}
    print(f"{machine()}; {rounds} rounds")
    for name, seconds in figures.items():
        low, _, high = (1000 * quarter for quarter in statistics.quantiles(seconds, n=4))
        least, most = 1000 * min(seconds), 1000 * max(seconds)
        print(
            f"  {name:6} p50 {medians[name] * 1000:7.1f} ms   p25 {low:.1f}, p75 {high:.1f}, {least:.1f} to {most:.1f}"
        )
    for name, base, target in RATIOS:
        ratio = medians[name] / medians[base]
        paired = statistics.median(a / b for a, b in zip(figures[name], figures[base], strict=True))
        wanted = "" if target is None else f"; at most {target:.3f}: {'met' if ratio <= target else 'NOT MET'}"
        print(f"{name:6} / {base:6} {ratio:6.3f}   (paired {paired:.3f}{wanted})")


def machine() -> str:
    """What the figures depend on, but for the processor."""
    client = connect()
    try:
        version, info = client.version(), client.info()
    finally:
        client.close()
    engine = f"engine {version['Version']} ({info['Driver']}, cgroup v{info.get('CgroupVersion', 1)})"
    load = f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}"
    return f"{platform.system()} {platform.release()}, {engine}, Python {platform.python_version()}, {load}"


if __name__ == "__main__":
    main()
