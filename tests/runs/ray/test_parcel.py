"""What a node is sent holds the snapshots that cases name, beside the suite's."""

import shutil
from pathlib import Path

from harness.runs.cluster.messages import packed, unpacked
from harness.runs.plan.plan import RunOptions
from harness.runs.plan.planning import plan_of
from harness.sandbox.snapshots import SnapshotStore
from tests.sandbox.snapshots.copying import copy_snapshot


def test_snapshots_of_cases_are_sent_with_that_of_the_suite(project: Path, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for name in ("suites", "images", "snapshots", "cassettes"):
        shutil.copytree(project / name / "drive_thru", here / name / "drive_thru")
    shutil.copytree(project / "suites" / "basics", here / "suites" / "basics")
    store = SnapshotStore(here)
    whole = store.verify("drive_thru", "breakfast")
    own = copy_snapshot(here / "snapshots" / "drive_thru" / "breakfast", "bare", {})
    parcel = packed(plan_of(here, RunOptions(suite="drive_thru")), (whole, own))
    unpacked(parcel, there)
    sent = [SnapshotStore(there).verify("drive_thru", name).digest for name in ("breakfast", "bare")]
    assert [whole.digest, own.digest] == sent
    assert ["drive_thru"] == [suite.name for suite in (there / "suites").iterdir()]
