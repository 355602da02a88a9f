"""What shards have beside their trials is in the merged run as if one machine had written it; nothing foreign is."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from harness.errors import UsageError
from harness.runs.plan.plan import shard_of
from harness.runs.store.beside_trials import Stop, stop_reason, write_stop
from harness.runs.store.drift_report import DriftFinding, DriftReport, read_drift, write_drift
from harness.runs.store.folder import RunFolder
from harness.runs.store.judgements import JudgementWriter, keep_rubric, kept_rubric
from harness.runs.store.manifest import PlannedTrial, RunManifest, Scoring
from harness.runs.store.merging import merge_runs
from tests.judging.labelling import RUBRIC, judgement
from tests.runs.conftest import PLAN, Record

Built = Callable[..., RunManifest]
Recorded = Callable[..., Record]


@pytest.fixture
def store(runs: Path, manifest: Built, record: Recorded) -> Callable[..., RunFolder]:
    """A run with these trials, each judged; a shard of it where `shard` is given."""

    def make(run: str, shard: str | None = None, planned: tuple[PlannedTrial, ...] = PLAN, **fields: Any) -> RunFolder:
        with RunFolder.create(runs, manifest(run, planned=planned, shard=shard, **fields)) as folder:
            for one in planned:
                folder.commit(*record(one.case_id, one.attempt))
            write_stop(folder, Stop(reason=f"{run} ran out" if shard else "part-1 ran out; part-2 ran out"))
        keep_rubric(folder.path, RUBRIC)
        with JudgementWriter(folder.path, RUBRIC.name) as writer:
            for one in planned:
                writer.add(judgement(one.case_id, attempt=one.attempt).model_copy(update={"run": run}))
        return RunFolder.open(folder.path)

    return make


def changed(path: str, case: str, doubt: str | None = None) -> DriftFinding:
    return DriftFinding(
        tool="look_up",
        operation="look_up",
        change="schema.removed",
        severity="breaking",
        path=path,
        old_kind="number",
        new_kind="absent",
        cases=(case,),
        samples=2,
        doubt=doubt,
    )


def report(run: str, findings: tuple[DriftFinding, ...], doubted: tuple[DriftFinding, ...] = ()) -> DriftReport:
    return DriftReport(
        suite="s",
        run=run,
        seen=datetime(2026, 1, len(findings), tzinfo=UTC),
        command=f"harness drift compare {run}",
        findings=findings,
        exercised={"look_up": tuple(f"look_up {one.path}" for one in (*findings, *doubted))},
        unconfirmed=doubted,
        divergences=(f"{run} asked otherwise",),
    )


def test_verdicts_are_in_the_order_and_under_the_name_of_the_whole(store: Any, runs: Path) -> None:
    whole = store("whole")
    parts = [store(f"part-{number}", f"{number}/2", shard_of(PLAN, number, 2)) for number in (1, 2)]
    (parts[0].path / "trials" / "a" / ".unfinished-1-0a1b2c3d").mkdir()  # of a harness that was killed
    with merge_runs(parts[::-1], runs, "merged") as merged:
        pass
    assert stop_reason(whole) == stop_reason(merged)
    file = f"judgements/{RUBRIC.name}.jsonl"
    assert (whole.path / file).read_text().replace('"whole"', '"merged"') == (merged.path / file).read_text()
    assert RUBRIC == kept_rubric(merged.path, RUBRIC.name, RUBRIC.digest)


def test_live_cassettes_of_all_parts_are_in_the_folders_of_their_suites(store: Any, runs: Path) -> None:
    parts = [store(f"part-{number}", f"{number}/2", shard_of(PLAN, number, 2)) for number in (1, 2)]
    answers = {}
    for number, part in enumerate(parts):
        for suite in ("s", "other"):
            name = Path("live") / suite / f"{number}.1.yaml"
            (part.path / name).parent.mkdir(parents=True)
            (part.path / name).write_text(answers.setdefault(str(name), f"{part.path.name} of {suite}"))
    with merge_runs(parts, runs, "merged") as merged:
        live = merged.path / "live"
    assert answers == {str(file.relative_to(live.parent)): file.read_text() for file in sorted(live.glob("*/*"))}


def test_shards_that_are_too_large_together_are_refused_before_anything_is_copied(store: Any, runs: Path) -> None:
    parts = [store(f"part-{number}", f"{number}/2", shard_of(PLAN, number, 2)) for number in (1, 2)]
    size = sum(path.stat().st_size for part in parts for path in part.path.rglob("*") if path.is_file())
    with pytest.raises(UsageError, match="'part-2'") as refused:
        merge_runs(parts, runs, "merged", size - 1)
    assert "--max-gib" in (refused.value.remedy or "")
    assert not (runs / "merged").exists()
    with merge_runs(parts, runs, "merged", size):
        pass

    for number in range(17):  # sparse: nothing on this disk, 17 GiB where they are copied
        with (parts[0].path / "trials" / "a" / "1" / f"page-{number}.png").open("wb") as archive:
            archive.truncate(1 << 30)
    with pytest.raises(UsageError, match="16 GiB"):
        merge_runs(parts, runs, "again")
    assert not (runs / "again").exists()


def test_drift_that_parts_have_found_is_one_report(store: Any, runs: Path) -> None:
    parts = [store(f"part-{number}", f"{number}/2", shard_of(PLAN, number, 2)) for number in (1, 2)]
    unsure = changed("$.price", "a", doubt="seen once")
    write_drift(parts[0].path, report("part-1", (changed("$.size", "b"),), (unsure,)))
    write_drift(parts[1].path, report("part-2", (changed("$.price", "b"), changed("$.size", "a"))))
    with merge_runs(parts, runs, "merged") as merged:
        found = read_drift(merged.path)
    assert [("$.price", ("b",), 2), ("$.size", ("a", "b"), 4)] == [
        (one.path, one.cases, one.samples) for one in found.findings
    ]
    assert () == found.unconfirmed  # the other part is sure
    assert {"look_up": ("look_up $.price", "look_up $.size")} == found.exercised
    assert ("merged", "harness drift compare merged", 2) == (found.run, found.command, found.seen.day)
    assert ("part-1 asked otherwise", "part-2 asked otherwise") == found.divergences


@pytest.mark.parametrize(
    ("second", "problem"),
    [
        ({"planned": shard_of(PLAN, 1, 2)}, "same trial"),
        ({"planned": ()}, "found 0|found 2"),
        ({"agent_digest": "a2"}, "agent_digest"),
        ({"shard": "2/3"}, "n/2, n/3"),
    ],
)
def test_runs_that_are_no_shards_of_one_are_not_merged(
    store: Any, runs: Path, second: dict[str, Any], problem: str
) -> None:
    first = store("part-1", "1/2", shard_of(PLAN, 1, 2))
    other = store("part-2", **({"shard": "2/2", "planned": shard_of(PLAN, 2, 2)} | second))
    with pytest.raises(UsageError, match=problem):
        merge_runs([first, other], runs, "merged")
    assert not (runs / "merged").exists()


def test_a_shard_that_scored_itself_again_at_its_end_is_merged_and_another_scoring_is_not(
    store: Any, runs: Path
) -> None:
    parts = [store(f"part-{number}", f"{number}/2", shard_of(PLAN, number, 2)) for number in (1, 2)]
    for name, versions in (("merged", {"metric:m": "1"}), ("refused", {"metric:m": "2"})):
        for part in parts:
            with RunFolder.resume(part.path) as folder:
                scoring = Scoring(harness_version="0.1.0", suite_digest="d1", scorer_versions=versions)
                folder.write_scorecards(folder.scorecards(), scoring)
        if name == "merged":
            with merge_runs(parts, runs, name) as merged:
                assert 4 == len(merged.scorecards())
    with pytest.raises(UsageError, match="part-1"):
        merge_runs(parts, runs, "refused")


def test_every_shard_of_one_division_is_needed_once(store: Any, runs: Path) -> None:
    first, second = (store(f"part-{number}", f"{number}/3", shard_of(PLAN, number, 3)) for number in (1, 2))
    twice = store("again", "1/3", shard_of(PLAN, 1, 3))
    whole = store("whole")
    for parts, problem in (
        ([first, second], "shard 3/3 is missing"),
        ([second], "shard 1/3, 3/3 is missing"),
        ([first, twice, second], "shard 1/3 is given twice: part-1, again"),
        ([first, whole], "'whole' is not a shard"),
    ):
        with pytest.raises(UsageError, match=problem):
            merge_runs(parts, runs, "merged")
    assert not (runs / "merged").exists()


def test_shards_take_every_nth_trial_and_are_in_the_planned_order_again(store: Any, runs: Path) -> None:
    plan = tuple(PlannedTrial(case_id=f"c{number}", attempt=1) for number in range(7))
    assert [["c0", "c3", "c6"], ["c1", "c4"], ["c2", "c5"]] == [
        [one.case_id for one in shard_of(plan, number, 3)] for number in (1, 2, 3)
    ]
    parts = [
        store(f"part-{number}", f"{number}/3", shard_of(plan, number, 3), created=f"2026-01-0{4 - number}T00:00:00Z")
        for number in (1, 2, 3)
    ]
    with merge_runs([parts[1], parts[2], parts[0]], runs, "merged") as merged:
        assert plan == merged.manifest.planned
        assert ("2026-01-01T00:00:00Z", None) == (merged.manifest.created, merged.manifest.shard)
        assert [one.case_id for one in plan] == [one.case_id for one in merged.scorecards()]


def test_shards_of_many_trials_that_were_stopped_at_once_are_merged(runs: Path, manifest: Built) -> None:
    plan = tuple(PlannedTrial(case_id=f"c{number}", attempt=1) for number in range(900))
    parts = []
    for number in (1, 2):
        fields = {"planned": shard_of(plan, number, 2), "shard": f"{number}/2"}
        with RunFolder.create(runs, manifest(f"part-{number}", **fields)) as part:
            parts.append(part)
    with merge_runs(parts, runs, "merged") as merged:
        assert plan == merged.manifest.planned
