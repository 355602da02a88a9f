"""A minimal case has a snapshot of its own, without the files that its failure does not need, and starts from it."""

import json
import shutil
from pathlib import Path
from typing import Any

from harness.case import load_suite
from harness.results import RunFolder
from harness.sandbox import SnapshotStore, files_of
from tests.walks.conftest import Walk

CASE = "order-correctness-003"
LOCAL = ("--sandbox", "local")


def _copied(project: Path, folder: Path) -> None:
    for name in ("suites", "images", "snapshots", "cassettes"):
        shutil.copytree(project / name / "drive_thru", folder / name / "drive_thru")


def _minimal_case(project: Path, folder: Path) -> tuple[Walk, dict[str, Any]]:
    """A copy of the suite in which a failed trial was minimised; its minimal case is stored, and in the suite."""
    _copied(project, folder)
    walk = Walk(folder)
    walk("run", "drive_thru", "--agent", "v1", "--case", CASE, *LOCAL, "--run-name", "v1")
    found = json.loads(walk("minimise", "v1", CASE, *LOCAL, "--budget", "20", "--store", "--json").stdout)
    suite = folder / "suites" / "drive_thru" / "suite.yaml"
    suite.write_text(suite.read_text().replace("cases: cases.yaml", found["line"]))
    return walk, found


def test_a_stored_minimal_case_names_its_snapshot_and_fails_from_it_in_the_same_way(
    project: Path, tmp_path: Path
) -> None:
    walk, found = _minimal_case(project, tmp_path)
    suite = tmp_path / "suites" / "drive_thru" / "suite.yaml"
    if found["line"] not in suite.read_text():
        suite.write_text(f"{suite.read_text()}\n{found['line']}\n")
    minimal = next(one for one in load_suite(tmp_path, "drive_thru").cases if one.id == found["case_id"])
    assert found["snapshot"] == minimal.snapshot
    store = SnapshotStore(tmp_path)
    whole = store.verify("drive_thru", load_suite(tmp_path, "drive_thru").snapshot or "")
    own = store.verify("drive_thru", minimal.snapshot or "")
    assert len(files_of(own)) == found["after"]["file"] < len(files_of(whole)) == found["before"]["file"]

    walk("run", "drive_thru", "--agent", "v1", "--case", minimal.id, *LOCAL, "--run-name", "minimal")
    first, again = (RunFolder.open(tmp_path / "runs" / run).scorecards()[0] for run in ("v1", "minimal"))
    assert [one.check for one in first.verdicts if one.passed is False] == [
        one.check for one in again.verdicts if one.passed is False
    ]
    assert False is again.success


def test_a_case_without_an_environment_cannot_name_a_snapshot(project: Path, tmp_path: Path) -> None:
    shutil.copytree(project / "suites" / "basics", tmp_path / "suites" / "basics")
    cases = tmp_path / "suites" / "basics" / "cases.yaml"
    cases.write_text(
        cases.read_text().replace("- id: planned-meeting\n", "- id: planned-meeting\n  snapshot: small\n", 1)
    )
    told = Walk(tmp_path)("run", "basics", *LOCAL, status=2).stderr
    assert "cases.yaml" in told
    assert "'small'" in told


def test_a_snapshot_that_does_not_exist_is_named_before_anything_starts(project: Path, tmp_path: Path) -> None:
    _copied(project, tmp_path)
    cases = tmp_path / "suites" / "drive_thru" / "cases.yaml"
    cases.write_text(cases.read_text().replace(f"- id: {CASE}\n", f"- id: {CASE}\n  snapshot: nosuch\n", 1))
    told = Walk(tmp_path)("run", "drive_thru", *LOCAL, status=3).stderr
    assert "drive_thru/nosuch" in told


def test_a_damaged_snapshot_of_a_case_names_the_case_and_stops_no_other(project: Path, tmp_path: Path) -> None:
    walk, found = _minimal_case(project, tmp_path)
    dump = next((tmp_path / "snapshots" / "drive_thru" / found["snapshot"] / "dumps").iterdir())
    dump.write_text(f"{dump.read_text()}--")
    told = walk("run", "drive_thru", "--agent", "v1", *LOCAL, status=3).stderr
    assert f"case '{found['case_id']}', snapshot '{found['snapshot']}': " in told
    assert f"snapshot build drive_thru {found['snapshot']}" in told
    walk("run", "drive_thru", "--agent", "v1", "--case", CASE, *LOCAL, "--run-name", "other")
    assert [False] == [card.success for card in RunFolder.open(tmp_path / "runs" / "other").scorecards()]


def test_a_trial_is_not_run_again_from_another_snapshot_than_its_own(project: Path, tmp_path: Path) -> None:
    walk, found = _minimal_case(project, tmp_path)
    suite = tmp_path / "suites" / "drive_thru" / "suite.yaml"
    forked = ("fork", "v1", CASE, "--at", "2", "--tools", "replay", *LOCAL)
    walk(*forked)  # a case with a snapshot of its own was added, and the trial's is as it was
    suite.write_text(suite.read_text().replace("snapshot: breakfast", f"snapshot: {found['snapshot']}"))
    told = walk(*forked, status=2).stderr
    assert "run 'v1'" in told
    assert {"possible": 0} == {"possible": json.loads(walk("fork", "v1", "--json").stdout)["possible"]}
