"""The name that a run takes where nobody gives it one."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness.runs.execution.run import Watch, run_plan
from harness.runs.plan.plan import RunPlan, Selection, planned_trials
from harness.runs.store.manifest import RunNameTaken, begin_run
from harness.suite.loading import load_suite

SUITE = """\
agents:
  silent: {command: ["true"], files: agents/silent}
"""


def plan_of(project: Path) -> RunPlan:
    folder = project / "suites" / "s"
    (folder / "agents" / "silent").mkdir(parents=True)
    (folder / "agents" / "silent" / "README").write_text("It says nothing.", encoding="utf-8")
    (folder / "suite.yaml").write_text(SUITE, encoding="utf-8")
    (folder / "cases.yaml").write_text("- {id: c, task: do it}\n", encoding="utf-8")
    suite = load_suite(project, "s")
    return RunPlan(
        project=project,
        suite=suite,
        planned=planned_trials(suite, Selection(), 1),
        sandbox="local",
        jobs=1,
        created=datetime(2026, 1, 31, 23, 59, 59, tzinfo=UTC),
    )


def test_two_runs_that_begin_in_one_second_have_two_names(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    names = [run_plan(plan, Watch()).path.name for _ in range(3)]
    assert names == ["20260131-235959-s-silent" + more for more in ("", "-2", "-3")]


def test_a_name_that_is_taken_meanwhile_is_not_used(tmp_path: Path) -> None:
    plan = plan_of(tmp_path)
    together = threading.Barrier(4, timeout=60)

    def run(number: int) -> str:
        together.wait()
        return run_plan(replace(plan, jobs=1), Watch()).path.name

    with ThreadPoolExecutor(4) as pool:
        names = sorted(pool.map(run, range(4)))

    assert names == ["20260131-235959-s-silent" + more for more in ("", "-2", "-3", "-4")]


def test_a_name_that_was_given_is_never_changed(tmp_path: Path) -> None:
    plan = replace(plan_of(tmp_path), name="mine")
    run_plan(plan, Watch())

    with pytest.raises(RunNameTaken, match="mine"):
        run_plan(plan, Watch())


def test_a_run_without_a_given_name_takes_the_first_number_that_is_free(runs: Path) -> None:
    for name in ("day", "day-2"):
        (runs / name).mkdir(parents=True)
    assert "day-3" == begin_run(runs, None, "day", str)
    assert "night" == begin_run(runs, None, "night", str)
    assert "day" == begin_run(runs, "day", "night", str)
