"""One run in a process of its own, which says of itself how much memory, how many threads and descriptors it has."""

import argparse
import ctypes
import gc
import json
import os
import threading
import time
from pathlib import Path

from harness.runs.execution.run import Watch, run_plan
from harness.runs.plan.plan import RunPlan, Selection, planned_trials
from harness.sandbox.providers import PROVIDERS
from harness.suite.loading import load_suite
from qa.soak.load.project import GOOD, SUITE, cases_of


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("project", type=Path)
    options.add_argument("--sandbox", choices=PROVIDERS, required=True)
    options.add_argument("--jobs", type=int, required=True)
    options.add_argument("--trials", type=int, required=True)
    options.add_argument("--name", required=True)
    options.add_argument("--well-behaved", action="store_true")
    options.add_argument("--seed", type=int, default=0)
    chosen = options.parse_args()
    suite = load_suite(chosen.project, SUITE)
    bad = [] if chosen.well_behaved else cases_of(chosen.sandbox != "local")
    planned = planned_trials(suite, Selection(only=[f"category={name}" for name in (GOOD, *bad)]), chosen.trials)
    plan = RunPlan(
        project=chosen.project,
        suite=suite,
        planned=planned,
        sandbox=chosen.sandbox,
        jobs=chosen.jobs,
        name=chosen.name,
    )
    print(json.dumps(measured(plan)))


def measured(plan: RunPlan) -> dict[str, object]:
    """Makes the run."""
    resident: list[float] = []
    before = standing()
    began = time.monotonic()
    run_plan(plan, Watch(finished=lambda _trial, _card: resident.append(resident_mb())))
    wall_s = time.monotonic() - began
    return {
        "planned": len(plan.planned),
        "wall_s": wall_s,
        "resident_mb": [*floors(resident, plan.jobs), kept_mb()],
        "before": before,
        "after": standing(),
    }


def floors(resident: list[float], jobs: int) -> list[float]:
    """The least that was resident when no fewer than `jobs` trials were over, and about half of them.

    The least, since an agent that floods takes tens of megabytes while it runs: what a run keeps is there without it.
    Each of a tenth of the trials, and of no fewer than are in flight: some while there is no flood among them. At the
    end of a run there is no such moment: floods take longest, so that the last in flight are nearly all floods.
    """
    trials, wide = len(resident), max(len(resident) // 10, jobs)
    first, half = min(jobs, trials // 4), max(trials - wide, 0) // 2
    return [min(resident[begin : begin + wide]) for begin in (first, half)]


def kept_mb() -> float:
    """Resident when nothing is in flight, without what the allocator could give back: what the run has kept."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return resident_mb()


def standing() -> list[int]:
    """Threads, and descriptors."""
    return [threading.active_count(), sum(1 for _ in Path("/proc/self/fd").iterdir())]


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1_048_576


if __name__ == "__main__":
    main()
