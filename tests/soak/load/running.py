"""One run in a process of its own, which says of itself how much memory, how many threads and descriptors it has."""

import argparse
import json
import os
import statistics
import threading
import time
from pathlib import Path

from harness.case.loading import load_suite
from harness.pipeline.plan import RunPlan, Selection, planned_trials
from harness.pipeline.run import Watch, start_run
from harness.sandbox.providers import PROVIDERS
from tests.soak.load.project import GOOD, SUITE, cases_of


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
    planned = planned_trials(suite, Selection(categories=(GOOD, *bad)), chosen.trials)
    plan = RunPlan(
        project=chosen.project,
        suite=suite,
        planned=planned,
        sandbox=chosen.sandbox,
        jobs=chosen.jobs,
        name=chosen.name,
        shuffle=chosen.seed,
    )
    print(json.dumps(measured(plan)))


def measured(plan: RunPlan) -> dict[str, object]:
    """Makes the run."""
    resident: list[float] = []
    before = standing()
    began = time.monotonic()
    start_run(plan, Watch(finished=lambda _trial, _card: resident.append(resident_mb())))
    wall_s = time.monotonic() - began
    at = [around(resident, part) for part in (0.1, 0.5, 1.0)]
    return {
        "planned": len(plan.planned),
        "wall_s": wall_s,
        "resident_mb": at,
        "before": before,
        "after": standing(),
    }


def around(values: list[float], part: float) -> float:
    """The median of the tenth of the values in whose middle the place is: what misbehaves takes memory for a moment."""
    middle, half = round(len(values) * part), max(len(values) // 20, 1)
    return statistics.median(values[max(middle - half, 0) : middle + half])


def standing() -> list[int]:
    """Threads, and descriptors."""
    return [threading.active_count(), sum(1 for _ in Path("/proc/self/fd").iterdir())]


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / 1_048_576


if __name__ == "__main__":
    main()
