"""The 50 scenarios of the suite `grocery`, eight times each, replayed in warm sandboxes: twice, with equal scorecards.

The shopper of four agents runs as its own program; tools, its model and the model that plays the user come from the
recordings (`--user script`: the scripts of the cases). Printed: wall
time, the harness's share of the processor time that the machine spent meanwhile, and the scorecards that differ.
"""

import argparse
import os
import shutil
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from harness.runs.execution.run import Watch, run_plan
from harness.runs.plan.plan import RunPlan, Selection, planned_trials
from harness.sandbox.providers import PROVIDERS
from harness.suite.loading import load_suite
from harness.users.users import UserOptions
from qa.bench.figures import Target, show
from qa.bench.sweep import machine_s, own_s

ROOT = Path(__file__).parents[2]
PARTS = ("suites/grocery", "images/grocery", "snapshots/grocery", "cassettes/grocery")
WALL, SHARE, DIFFERING = "wall, s", "harness's share of the processor time", "scorecards that differ the second time"


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--sandbox", choices=PROVIDERS, default="docker-warm")
    options.add_argument("--trials", type=int, default=8)
    options.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    options.add_argument("--user", choices=("model", "script"), default="model")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory(prefix="harness-bench-") as temporary:
        project = copied(Path(temporary))
        suite = load_suite(project, "grocery")
        planned = planned_trials(suite, Selection(), chosen.trials)
        plan = RunPlan(
            project=project,
            suite=suite,
            planned=planned,
            sandbox=chosen.sandbox,
            jobs=chosen.jobs,
            users=UserOptions(kind=chosen.user),
        )
        clocks = (time.perf_counter, machine_s, own_s)
        began = [clock() for clock in clocks]
        first = cards_of(replace(plan, name="first"))
        wall, machine, own = (clock() - before for clock, before in zip(clocks, began, strict=True))
        second = cards_of(replace(plan, name="second"))
    differing = sum(first[key] != second.get(key) for key in first)
    figures = {"conversations": len(first), WALL: wall, SHARE: own / machine, DIFFERING: differing}
    whole = [Target(figure=WALL, bound=90)] if len(first) == 400 else []
    show(figures, [*whole, Target(figure=SHARE, bound=0.25), Target(figure=DIFFERING, bound=0)])


def cards_of(plan: RunPlan) -> dict[tuple[str, int], str]:
    """Case and attempt -> the scorecard as it is stored."""
    folder = run_plan(plan, Watch())
    found = {(card.case_id, card.attempt): card for card in folder.scorecards()}
    assert len(found) == len(plan.planned)
    assert {"finished"} == {card.outcome for card in found.values()}
    return {key: card.model_dump_json() for key, card in found.items()}


def copied(project: Path) -> Path:
    """What the suite needs of this repository."""
    for name in PARTS:
        shutil.copytree(ROOT / name, project / name)
    return project


if __name__ == "__main__":
    main()
