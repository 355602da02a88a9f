"""The name that a run takes where nobody gives it one."""

from datetime import UTC, datetime
from pathlib import Path

from harness.case.loading import load_suite
from harness.pipeline.plan import RunPlan, Selection, planned_trials
from harness.pipeline.run import Watch, start_run

SUITE = """\
agents:
  silent: {command: ["true"], files: agents/silent}
"""


def test_two_runs_that_begin_in_one_second_have_two_names(tmp_path: Path) -> None:
    folder = tmp_path / "suites" / "s"
    (folder / "agents" / "silent").mkdir(parents=True)
    (folder / "agents" / "silent" / "README").write_text("It says nothing.", encoding="utf-8")
    (folder / "suite.yaml").write_text(SUITE, encoding="utf-8")
    (folder / "cases.yaml").write_text("- {id: c, task: do it}\n", encoding="utf-8")
    suite = load_suite(tmp_path, "s")
    plan = RunPlan(
        project=tmp_path,
        suite=suite,
        planned=planned_trials(suite, Selection(), 1),
        sandbox="local",
        jobs=1,
        created=datetime(2026, 1, 31, 23, 59, 59, tzinfo=UTC),
    )
    names = [start_run(plan, Watch()).path.name for _ in range(3)]
    assert names == ["20260131-235959-s-silent" + more for more in ("", "-2", "-3")]
