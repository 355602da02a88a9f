"""A whole sweep in warm sandboxes: 50 conversations of three turns and three tool calls, eight times each, replayed.

Every session is scored and stored in full. Printed: wall time, sessions a second, the harness's own share of the
processor time that the machine spent meanwhile, and of what it and its sandboxes spent, which other programs on the
machine do not change; its memory at session 50 and at the end; and what the same processes take without a harness
(`crowd`), half of them run before the sweep and half after it.

    --agent stdlib   an agent that imports only `socket`
    --agent sdk      one that imports an SDK (openai, in the image `frameworks/openai_agents`)
"""

import argparse
import itertools
import json
import os
import resource
import shutil
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from http.server import ThreadingHTTPServer
from pathlib import Path

from docker import DockerClient

from harness.runs.execution.run import Watch, run_plan
from harness.runs.plan.plan import RunPlan, Selection, planned_trials
from harness.sandbox.engine import connect
from harness.sandbox.images.store import ImageStore
from harness.sandbox.ownership import owner_labels
from harness.sandbox.providers import PROVIDERS
from harness.scoring.scorecard import Scorecard
from harness.suite.loading import load_suite
from harness.suite.suites import Suite
from harness.traces.trial import Trial
from qa.bench.crowd import bare_s
from qa.bench.figures import Target, show
from qa.bench.overhead import AGENT, Echo

IMAGES = Path(__file__).parents[2] / "images"
SDK_IMAGE = "frameworks/openai_agents"
PROGRAMS = {"stdlib": "talk.py", "sdk": "talk_sdk.py"}
SUITE = """\
agents:
  stdlib: {{command: [python3, "{{agent}}/talk.py"], files: {agent}}}
  sdk: {{command: [python3, "{{agent}}/talk_sdk.py"], files: {agent}, image: {image}}}
servers:
  echo: {{base_url: "{url}", disposable: true}}
tools:
  - name: echo
    server: echo
    effect: read
    http: {{method: POST, path: /echo, body: arguments}}
    parameters: {{type: object, properties: {{number: {{type: integer}}}}, required: [number]}}
"""
CASE = """\
- id: talk-{number}
  limits: {{seconds: 600}}
  task: "First, in conversation {number}."
  conversation:
    turns:
      - {{when: {{contains: said 1}}, say: "Second."}}
      - {{when: {{contains: said 2}}, say: "Third.", end: true}}
    max_turns: 6
"""
SETTLED = 50
WALL, SHARE, BESIDE, GROWN, BARE = (
    "wall, s",
    "harness's share of the processor time",
    "the same of its own and its sandboxes' alone",
    "memory at the end / at session 50",
    "sweep / the same processes without a harness",
)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--agent", choices=PROGRAMS, default="stdlib")
    options.add_argument("--sandbox", choices=PROVIDERS, default="docker-warm")
    options.add_argument("--cases", type=int, default=50)
    options.add_argument("--trials", type=int, default=8)
    options.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options.add_argument("--json", action="store_true")
    chosen = options.parse_args()
    with ExitStack() as stack:
        figures = sweep(stack, chosen)
    if chosen.json:
        print(json.dumps(figures))
    else:
        print(f"{chosen.agent} in {chosen.sandbox}, {chosen.jobs} jobs")
        show(figures, targets(chosen))


def targets(chosen: argparse.Namespace) -> list[Target]:
    """A wall time is promised for the whole sweep only."""
    promised = [Target(figure=SHARE, bound=0.25), Target(figure=GROWN, bound=1.3)]
    if chosen.agent == "sdk":
        return [*promised, Target(figure=BARE, bound=1.15)]
    return [*promised, Target(figure=WALL, bound=90)] if chosen.cases * chosen.trials == 400 else promised


@dataclass
class Spent:
    """What a sweep took."""

    wall_s: float
    machine_s: float
    own_s: float
    sandboxes_s: float
    """Processor seconds of the sandboxes' containers, whatever else the machine does."""
    seen_mb: list[int]
    """At the end of the session from which on memory is to stand still, where there are so many, and of the last."""


def sweep(stack: ExitStack, chosen: argparse.Namespace) -> dict[str, float]:
    project = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="harness-bench-")))
    write_project(project, stack, chosen.cases)
    suite = load_suite(project, "sweep")
    client = connect()
    stack.callback(client.close)
    image = ImageStore(project, client).build(SDK_IMAGE if chosen.agent == "sdk" else "base", print).tag
    sessions = chosen.cases * chosen.trials

    def bare() -> float:
        return bare_s(client, image, PROGRAMS[chosen.agent], max(1, sessions // 2), chosen.jobs)

    run_plan(planned(project, suite, chosen, record=True), Watch())
    before = bare()
    spent, stored = ran(planned(project, suite, chosen, record=False), client)
    without = before + bare()
    early, last = spent.seen_mb[0], spent.seen_mb[-1]
    return {
        "sessions stored": stored,
        WALL: spent.wall_s,
        "sessions a second": stored / spent.wall_s,
        SHARE: spent.own_s / spent.machine_s,
        BESIDE: spent.own_s / (spent.own_s + spent.sandboxes_s),
        "harness, processor ms a session": spent.own_s / stored * 1000,
        "memory at session 50, MB": early,
        GROWN: last / early,
        "without a harness, s": without,
        BARE: spent.wall_s / without,
    }


def planned(project: Path, suite: Suite, chosen: argparse.Namespace, *, record: bool) -> RunPlan:
    """One attempt at each case in which the standard library's agent makes the cassettes, or the sweep itself."""
    return RunPlan(
        project=project,
        suite=suite,
        planned=planned_trials(suite, Selection(), 1 if record else chosen.trials),
        agent="stdlib" if record else chosen.agent,
        tools="record" if record else "replay",
        sandbox="docker-warm" if record else chosen.sandbox,
        jobs=chosen.jobs,
        name="record" if record else "sweep",
    )


def ran(plan: RunPlan, client: DockerClient) -> tuple[Spent, int]:
    """What the run took, and how many sessions it has stored."""
    seen: list[int] = []
    sandboxes: list[float] = []
    ended = itertools.count(1)

    def finished(trial: Trial, card: Scorecard) -> None:
        assert (trial.outcome, trial.tiers) == ("finished", {"exact": 3}), (trial.case_id, trial.reason, trial.tiers)
        assert card.case_id
        count = next(ended)
        if count in (SETTLED, len(plan.planned)):
            seen.append(resident_mb())
        if count == len(plan.planned):  # the warm containers of the whole run are still there
            sandboxes.append(containers_s(client, plan.name))

    clocks: tuple[Callable[[], float], ...] = (time.perf_counter, machine_s, own_s)
    began = [clock() for clock in clocks]
    folder = run_plan(plan, Watch(finished=finished))
    wall, machine, own = (clock() - first for clock, first in zip(clocks, began, strict=True))
    spent = Spent(wall_s=wall, machine_s=machine, own_s=own, sandboxes_s=sum(sandboxes), seen_mb=seen)
    return spent, sum(1 for _ in folder.trials())


def write_project(project: Path, stack: ExitStack, cases: int) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    stack.callback(server.shutdown)
    folder = project / "suites" / "sweep"
    folder.mkdir(parents=True)
    (folder / "cases.yaml").write_text("".join(CASE.format(number=n) for n in range(cases)), encoding="utf-8")
    url = f"http://127.0.0.1:{server.server_port}"
    (folder / "suite.yaml").write_text(SUITE.format(agent=AGENT, url=url, image=SDK_IMAGE), encoding="utf-8")
    shutil.copytree(IMAGES / SDK_IMAGE, project / "images" / SDK_IMAGE)


def machine_s() -> float:
    """Processor seconds that the whole machine has spent since it was started, waiting left out."""
    fields = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:]
    user, nice, system, _, _, irq, softirq = (int(field) for field in fields[:7])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def containers_s(client: DockerClient, run: str | None) -> float:
    """Processor seconds of this process's containers of the run since each was started."""
    mine = [f"{name}={value}" for name, value in owner_labels(run).items()]
    found = client.containers.list(filters={"label": mine})
    used = (client.api.stats(one.id, stream=False, one_shot=True)["cpu_stats"]["cpu_usage"] for one in found)
    return float(sum(one["total_usage"] for one in used)) / 1e9


def own_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def resident_mb() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1_048_576


if __name__ == "__main__":
    main()
