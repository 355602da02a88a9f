"""A case may name a snapshot of its own, which is checked before anything starts."""

import shutil
from pathlib import Path

from harness.runs.store.folder import RunFolder
from harness.suite.loading import load_suite
from tests.sandbox.snapshots.copying import copy_snapshot
from tests.walks.conftest import Walk

CASE = "order-correctness-003"
LOCAL = ("--sandbox", "local")


def _drive_thru(project: Path, folder: Path) -> Walk:
    for name in ("suites", "images", "snapshots", "cassettes"):
        shutil.copytree(project / name / "drive_thru", folder / name / "drive_thru")
    return Walk(folder)


def _name_snapshot(folder: Path, suite: str, case: str, snapshot: str) -> None:
    cases = folder / "suites" / suite / "cases.yaml"
    text = cases.read_text()
    assert f"- id: {case}\n" in text
    cases.write_text(text.replace(f"- id: {case}\n", f"- id: {case}\n  snapshot: {snapshot}\n", 1))


def test_a_case_without_an_environment_cannot_name_a_snapshot(project: Path, tmp_path: Path) -> None:
    shutil.copytree(project / "suites" / "basics", tmp_path / "suites" / "basics")
    _name_snapshot(tmp_path, "basics", "planned-meeting", "small")
    told = Walk(tmp_path)("run", "basics", *LOCAL, status=2).stderr
    assert "cases.yaml" in told
    assert "'small'" in told


def test_a_snapshot_that_does_not_exist_is_named_before_anything_starts(project: Path, tmp_path: Path) -> None:
    walk = _drive_thru(project, tmp_path)
    _name_snapshot(tmp_path, "drive_thru", CASE, "nosuch")
    assert "drive_thru/nosuch" in walk("run", "drive_thru", *LOCAL, status=3).stderr


def test_a_damaged_snapshot_of_a_case_names_the_case_and_stops_no_other(project: Path, tmp_path: Path) -> None:
    walk = _drive_thru(project, tmp_path)
    copied = copy_snapshot(tmp_path / "snapshots" / "drive_thru" / "breakfast", "own", {})
    _name_snapshot(tmp_path, "drive_thru", CASE, copied.name)
    assert copied.folder is not None
    dump = next((copied.folder / "dumps").iterdir())
    dump.write_text(f"{dump.read_text()}--")
    told = walk("run", "drive_thru", "--agent", "v1", *LOCAL, status=3).stderr
    assert f"case '{CASE}', snapshot 'own': " in told
    assert "snapshot build drive_thru own" in told
    other = next(case.id for case in load_suite(tmp_path, "drive_thru").cases if case.id != CASE)
    walk("run", "drive_thru", "--agent", "v1", "--case", other, *LOCAL, "--run-name", "other")
    assert [other] == [card.case_id for card in RunFolder.open(tmp_path / "runs" / "other").scorecards()]
