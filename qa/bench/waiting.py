"""Trials that wait for a live model: as many as there are processors, and as many as the machine holds (the default).

The model takes some seconds to answer; the trials are otherwise a no-op. Printed: the wall time of both ways.
"""

import argparse
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import ThreadingHTTPServer
from pathlib import Path

from harness.runs.execution.run import Watch, run_plan
from harness.runs.plan.plan import RunPlan, Selection, planned_trials
from harness.runs.trial.parallel import jobs_held, trials_held
from harness.sandbox.providers import PROVIDERS
from harness.suite.loading import load_suite
from harness.suite.suites import Suite
from qa.bench.figures import show
from qa.bench.overhead import AGENT
from qa.bench.world import Answers

KEY = "BENCH_KEY"
SUITE = """\
agents:
  asks: {{command: [python3, "{{agent}}/asks.py"], files: {agent}}}
model: {{base_url: "{url}/v1", api_key: BENCH_KEY, mode: live}}
"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--sandbox", choices=PROVIDERS, default="docker")
    options.add_argument("--trials", type=int, default=16)
    options.add_argument("--latency", type=float, default=3.0, help="seconds")
    chosen = options.parse_args()
    os.environ.setdefault(KEY, "bench-key-0123456789")
    with tempfile.TemporaryDirectory(prefix="harness-bench-") as temporary, served(chosen.latency) as url:
        project = Path(temporary)
        suite = prepared(project, url)
        limits = [case.limits for case in suite.cases]
        jobs, most = jobs_held(limits), trials_held(limits)
        few = ran(project, suite, chosen, "few", jobs, jobs)
        many = ran(project, suite, chosen, "many", jobs, most)
    show({f"{jobs} at a time, s": few, f"up to {most} where they wait, s": many, "many / few": many / few}, [])


def ran(project: Path, suite: Suite, chosen: argparse.Namespace, name: str, jobs: int, most: int) -> float:
    """Wall seconds of a run in which every trial has finished."""
    planned = planned_trials(suite, Selection(), chosen.trials)
    plan = RunPlan(
        project=project, suite=suite, planned=planned, sandbox=chosen.sandbox, name=name, jobs=jobs, most=most
    )
    began = time.perf_counter()
    folder = run_plan(plan, Watch())
    seconds = time.perf_counter() - began
    assert {stored.trial.outcome for stored in folder.trials()} == {"finished"}
    return seconds


def prepared(project: Path, url: str) -> Suite:
    folder = project / "suites" / "waiting"
    folder.mkdir(parents=True)
    (folder / "cases.yaml").write_text("- {id: asks, task: nothing, limits: {seconds: 600}}\n", encoding="utf-8")
    (folder / "suite.yaml").write_text(SUITE.format(agent=AGENT, url=url), encoding="utf-8")
    return load_suite(project, "waiting")


@contextmanager
def served(latency_s: float) -> Iterator[str]:
    """The address of a model that thinks so long."""

    class Slow(Answers):
        def do_POST(self) -> None:
            time.sleep(latency_s)
            super().do_POST()

    with ThreadingHTTPServer(("127.0.0.1", 0), Slow) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


if __name__ == "__main__":
    main()
