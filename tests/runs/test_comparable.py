"""Which earlier run is compared with when nobody names one."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.runs.store.baseline import latest_comparable
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import PlannedTrial, RunManifest, differences

Manifest = Callable[..., RunManifest]
ONE = (PlannedTrial(case_id="a", attempt=1),)


@pytest.fixture
def stored(runs: Path, manifest: Manifest, record: Callable[..., Any]) -> Callable[..., None]:
    def store(run: str, finish: bool = True, **fields: Any) -> None:
        with RunFolder.create(runs, manifest(run, **{"planned": ONE, **fields})) as folder:
            if finish:
                folder.commit(*record())

    return store


def test_the_newest_finished_run_of_the_same_question_is_found(
    runs: Path, manifest: Manifest, stored: Callable[..., None]
) -> None:
    stored("old", created="2026-01-01T00:00:00Z")
    stored("newer", created="2026-01-02T00:00:00Z", provider="local", agent="v0")
    stored("unfinished", created="2026-01-03T00:00:00Z", finish=False)
    stored("other-suite", created="2026-01-04T00:00:00Z", suite_digest="d9")
    stored("other-mode", created="2026-01-05T00:00:00Z", tool_mode="live")
    stored("other-scorer", created="2026-01-06T00:00:00Z", scorer_versions={})
    (runs / "damaged").mkdir()
    (runs / "damaged/manifest.json").write_text("{")
    mine = manifest("mine", planned=ONE)

    found = latest_comparable(runs, mine)
    of_same_agent = latest_comparable(runs, mine, same_agent=True)

    assert found is not None
    assert of_same_agent is not None
    assert (found.manifest.run, of_same_agent.manifest.run) == ("newer", "old")


def test_a_run_is_not_compared_with_itself_or_with_one_that_has_fewer_trials(
    runs: Path, manifest: Manifest, stored: Callable[..., None]
) -> None:
    stored("mine")

    assert latest_comparable(runs, manifest("mine", planned=ONE)) is None
    assert latest_comparable(runs, manifest("all")) is None
    assert latest_comparable(runs / "none", manifest("mine")) is None


def test_differences_name_what_changed_and_what_makes_a_comparison_doubtful(manifest: Manifest) -> None:
    found = differences(manifest(), manifest("other", agent="v2", packages_digest="p" * 64, pins={"TZ": "UTC"}))

    assert [(one.field, one.before, one.after, one.note is None) for one in found] == [
        ("agent", "v1", "v2", True),
        ("packages_digest", "none", "p" * 12, False),
        ("pins", "none", "TZ=UTC", False),
    ]
