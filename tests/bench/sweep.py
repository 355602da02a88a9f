"""A whole sweep in warm sandboxes: 50 conversations of three turns and three tool calls, eight times each, replayed.

Every session is scored and stored in full. Printed: wall time, sessions a second, the harness's own share of the
processor time that the machine spent meanwhile, and its memory at session 50 and at the end.
"""

import argparse
import json
import os
import resource
import tempfile
import threading
import time
from contextlib import ExitStack
from http.server import ThreadingHTTPServer
from pathlib import Path

from harness.case.loading import load_suite
from harness.pipeline.plan import RunPlan, Selection, planned_trials
from harness.pipeline.run import Watch, start_run
from harness.sandbox.providers import PROVIDERS
from harness.score import Scorecard
from harness.trace import Trial
from tests.bench.overhead import AGENT, Echo

SUITE = """\
agents:
  talk: {{command: [python3, "{{agent}}/talk.py"], files: {agent}}}
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
  conversation:
    opening: "First, in conversation {number}."
    turns:
      - {{when: {{contains: said 1}}, say: "Second."}}
      - {{when: {{contains: said 2}}, say: "Third.", end: true}}
    max_turns: 6
"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--sandbox", choices=PROVIDERS, default="docker-warm")
    options.add_argument("--cases", type=int, default=50)
    options.add_argument("--trials", type=int, default=8)
    options.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options.add_argument("--json", action="store_true")
    chosen = options.parse_args()
    with ExitStack() as stack:
        figures = sweep(stack, chosen)
    print(json.dumps(figures) if chosen.json else "\n".join(f"{name:40} {value}" for name, value in figures.items()))


def sweep(stack: ExitStack, chosen: argparse.Namespace) -> dict[str, float | int | str]:
    project = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="harness-bench-")))
    write_project(project, stack, chosen.cases)
    suite = load_suite(project, "sweep")
    start_run(
        RunPlan(project=project, suite=suite, planned=planned_trials(suite, Selection(), 1), tools="record",
                sandbox="docker-warm", jobs=chosen.jobs, name="record"),
        Watch(),
    )  # fmt: skip
    seen: list[int] = []

    def finished(trial: Trial, card: Scorecard) -> None:
        assert (trial.outcome, trial.tiers) == ("finished", {"exact": 3}), (trial.case_id, trial.reason, trial.tiers)
        assert card.case_id
        seen.append(resident_mb())

    planned = planned_trials(suite, Selection(), chosen.trials)
    plan = RunPlan(
        project=project, suite=suite, planned=planned, sandbox=chosen.sandbox, jobs=chosen.jobs, name="sweep"
    )
    busy, own, began = machine_s(), own_s(), time.perf_counter()
    folder = start_run(plan, Watch(finished=finished))
    wall = time.perf_counter() - began
    busy, own = machine_s() - busy, own_s() - own
    stored = sum(1 for _ in folder.trials())
    return {
        "sessions stored": stored,
        "sandbox, jobs": f"{chosen.sandbox}, {chosen.jobs}",
        "wall, s": round(wall, 1),
        "sessions a second": round(stored / wall, 1),
        "harness's share of the processor time": round(own / busy, 2),
        "harness, processor ms a session": round(own / stored * 1000, 1),
        "memory at session 50 and at the end, MB": f"{seen[min(49, len(seen) - 1)]}, {seen[-1]}",
    }


def write_project(project: Path, stack: ExitStack, cases: int) -> None:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    stack.callback(server.shutdown)
    folder = project / "suites" / "sweep"
    folder.mkdir(parents=True)
    (folder / "cases.yaml").write_text("".join(CASE.format(number=n) for n in range(cases)), encoding="utf-8")
    url = f"http://127.0.0.1:{server.server_port}"
    (folder / "suite.yaml").write_text(SUITE.format(agent=AGENT, url=url), encoding="utf-8")


def machine_s() -> float:
    """Processor seconds that the whole machine has spent since it was started, waiting left out."""
    fields = Path("/proc/stat").read_text(encoding="ascii").splitlines()[0].split()[1:]
    user, nice, system, _, _, irq, softirq = (int(field) for field in fields[:7])
    return (user + nice + system + irq + softirq) / os.sysconf("SC_CLK_TCK")


def own_s() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def resident_mb() -> int:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") // 1_048_576


if __name__ == "__main__":
    main()
