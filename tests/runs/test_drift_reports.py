"""Reports of drift in a project's runs: their order, their damage, and what a later one covers."""

from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from harness.errors import ResultsError, UsageError
from harness.runs.store.drift_report import (
    DriftFinding,
    DriftReport,
    drift_reports,
    holder_of,
    read_drift,
    write_drift,
)


def report(run: str, seen: datetime, **fields: object) -> DriftReport:
    values = {"suite": "s", "run": run, "command": "harness drift compare", "findings": (), "exercised": {}}
    return DriftReport.model_validate({**values, "seen": seen, **fields})


def test_the_reports_of_a_project_stand_newest_first_without_what_cannot_be_read(tmp_path: Path) -> None:
    noon = datetime(2026, 1, 31, 12, tzinfo=UTC)
    east = timezone(timedelta(hours=9))  # half past twelve in London is half past nine in the evening there
    seen = {"b": noon, "c": noon - timedelta(days=1), "a": (noon + timedelta(minutes=30)).astimezone(east), "d": noon}
    for name, moment in seen.items():
        (tmp_path / "runs" / name).mkdir(parents=True)
        write_drift(tmp_path / "runs" / name, report(name, moment))
    (tmp_path / "runs" / "d" / "drift.json").write_text("{")
    (tmp_path / "runs" / "without").mkdir()
    assert ["a", "b", "c"] == [one.run for one in drift_reports(tmp_path)]
    assert [] == drift_reports(tmp_path / "absent")
    for name, error in (("d", ResultsError), ("without", UsageError)):
        with pytest.raises(error):
            read_drift(tmp_path / "runs" / name)
    assert read_drift(tmp_path / "runs" / "b") == read_drift(tmp_path / "runs" / "b" / "drift.json")


def test_a_report_counts_nothing_that_it_does_not_name(tmp_path: Path) -> None:
    names = {"suite", "run", "command", "findings", "exercised", "seen"}
    earlier = report("r", datetime(2026, 1, 31, tzinfo=UTC)).model_dump_json(include=names)
    (tmp_path / "drift.json").write_text(earlier)
    found = read_drift(tmp_path)
    assert (0, 0, 0, 0.0) == (found.compared, found.after_writes, found.restores, sum(found.not_asked.values()))
    assert ((), (), ()) == (found.doubles, found.unconfirmed, found.divergences)


@pytest.mark.parametrize(
    ("path", "holder"),
    [("$.a.b", "$.a"), ("$.a['x y']", "$.a"), ("$.a[]", "$.a[]"), ("$.a[].b", "$.a[]"), ("$.a['b.c'].d", "$.a['b.c']")],
)
def test_the_holder_of_a_member_is_the_object_that_contains_it(path: str, holder: str) -> None:
    assert holder == holder_of(path)


@pytest.mark.parametrize(
    ("answered", "covered"),
    [("menu $.a.b", True), ("menu $.a", True), ("menu $", False), ("order $.a", False), ("menu $.a.c", False)],
)
def test_a_check_covers_a_finding_whose_path_or_object_was_answered(answered: str, covered: bool) -> None:
    fields = {"tool": "shop", "operation": "menu", "change": "schema.removed", "severity": "breaking", "path": "$.a.b"}
    finding = DriftFinding.model_validate({**fields, "old_kind": "number", "new_kind": "absent"})
    seen = datetime(2026, 1, 31, tzinfo=UTC)
    assert covered == report("r", seen, exercised={"shop": (answered,)}).covers(finding)
    assert not report("r", seen, exercised={"other": (answered,)}).covers(finding)
