"""Run folders: append-only, read back as what was written, and clear about damage."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from harness.errors import ResultsError, UsageError
from harness.runs.store.folder import RunFolder
from harness.runs.store.manifest import RunManifest, Scoring, check_run_name, default_run_name
from harness.scoring.scorecard import Score, Scorecard
from harness.suite.agents import AgentVersion
from harness.suite.cases import Case
from harness.suite.suites import Suite

Manifest = Callable[..., RunManifest]
Record = Callable[..., Any]


SCORING = Scoring(harness_version="0.2.0", suite_digest="d2", scorer_versions={"metric:m": "2"})


def files_below(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def test_what_is_committed_is_read_back_as_it_was(runs: Path, manifest: Manifest, record: Record) -> None:
    trial, spans, card = record()
    (end_state := runs.parent / "end.tar").write_bytes(b"archive")
    with RunFolder.create(runs, manifest()) as folder:
        folder.commit(trial, spans, card, end_state)

    opened = RunFolder.open(runs / "run")
    (stored,) = opened.trials()

    assert (manifest(), trial, spans, (card,)) == (opened.manifest, stored.trial, stored.spans, opened.scorecards())
    assert stored.end_state is not None
    assert stored.end_state.read_bytes() == b"archive"
    opened.verify()


def test_results_come_in_the_planned_order_whatever_the_order_of_their_end(
    runs: Path, manifest: Manifest, record: Record
) -> None:
    keys = [("a", 2), ("b", 2), ("a", 1), ("b", 1)]
    with RunFolder.create(runs, manifest()) as folder, ThreadPoolExecutor(4) as threads:
        list(threads.map(lambda key: folder.commit(*record(*key)), keys))

        assert [(card.case_id, card.attempt) for card in folder.scorecards()] == [
            ("b", 1),
            ("b", 2),
            ("a", 1),
            ("a", 2),
        ]
        assert folder.finished() == frozenset(keys)


def test_a_name_that_is_taken_is_refused_and_nothing_is_changed(runs: Path, manifest: Manifest, record: Record) -> None:
    with RunFolder.create(runs, manifest()) as folder:
        folder.commit(*record())
    before = files_below(runs)

    with pytest.raises(UsageError, match="--resume"):
        RunFolder.create(runs, manifest(agent="v2"))

    assert files_below(runs) == before


def test_a_finished_trial_is_never_overwritten(runs: Path, manifest: Manifest, record: Record) -> None:
    with RunFolder.create(runs, manifest()) as folder:
        folder.commit(*record())
        with pytest.raises(ResultsError, match=re.escape("a/1")):
            folder.commit(*record(value=0.0))
        with pytest.raises(ResultsError, match="'c' attempt 1"):
            folder.commit(*record("c"))

        assert [card.success for card in folder.scorecards()] == [True]


def test_a_retried_trial_keeps_the_record_of_each_failed_attempt(
    runs: Path, manifest: Manifest, record: Record
) -> None:
    failed = record(outcome="harness_failed", value=None)
    with RunFolder.create(runs, manifest()) as folder:
        folder.commit(*failed)
        assert folder.finished() == frozenset()
        folder.commit(*failed)
    with RunFolder.resume(runs / "run") as folder:
        folder.commit(*record())

        assert folder.finished() == frozenset({("a", 1)})
        assert [card.outcome for card in folder.scorecards()] == ["finished"]
    assert sorted(path.name for path in (runs / "run/trials/a").iterdir()) == ["1", "1.failed-1", "1.failed-2"]


def test_stored_figures_follow_every_change_of_a_file(runs: Path, manifest: Manifest, record: Record) -> None:
    def seen() -> tuple[list[tuple[str, float | None]], tuple[int, int, int]]:
        folder = RunFolder.open(runs / "run")
        counts = folder.counts()
        return [(card.case_id, card.value("m")) for card in folder.cards()], (
            counts.done, counts.succeeded, counts.failed,
        )  # fmt: skip

    with RunFolder.create(runs, manifest()) as folder:
        places = [folder.commit(*record(case, value=value)) for case, value in (("a", 1.0), ("b", 0.5))]
    assert ([("b", 0.5), ("a", 1.0)], (2, 1, 1)) == seen()
    with RunFolder.create(runs, manifest("other")) as other:
        changed = other.commit(*record("b", value=1.0))
    shutil.rmtree(places[1])
    shutil.copytree(changed, places[1])
    assert ([("b", 1.0), ("a", 1.0)], (2, 2, 0)) == seen()
    (places[0] / "scorecard.json").write_text("{}")
    with pytest.raises(ResultsError, match=r"scorecard\.json does not match"):
        seen()
    shutil.rmtree(places[0])
    for figures in ("{}", "[", ""):
        (runs / "run" / ".figures.json").write_text(figures)
        assert ([("b", 1.0)], (1, 1, 0)) == seen()


def test_two_writers_of_one_run_folder_are_refused_and_readers_are_not(runs: Path, manifest: Manifest) -> None:
    with RunFolder.create(runs, manifest()):
        other = subprocess.run(
            [sys.executable, "-c", _RESUME, str(runs / "run")], capture_output=True, text=True, check=False
        )
        assert RunFolder.open(runs / "run").manifest == manifest()
        with pytest.raises(ResultsError, match=re.escape(str(runs / "run"))):
            RunFolder.open(runs / "run").write_scorecards([], SCORING)

    assert f"process {os.getpid()}" in other.stderr
    with RunFolder.resume(runs / "run"):
        pass


_RESUME = """
import sys
from pathlib import Path
from harness.runs.store.folder import RunFolder
RunFolder.resume(Path(sys.argv[1]))
"""


def test_scoring_again_keeps_the_earlier_scorecards(runs: Path, manifest: Manifest, record: Record) -> None:
    trial, spans, card = record()
    with RunFolder.create(runs, manifest()) as folder:
        place = folder.commit(trial, spans, card)
        first = (place / "scorecard.json").read_bytes()
        for value in (0.5, 0.25):
            again = card.model_copy(update={"scores": (Score(metric="m", version="2", value=value),)})
            folder.write_scorecards([again], SCORING)

        assert [one.value("m") for one in folder.scorecards()] == [0.25]
        assert (folder.manifest.suite_digest, folder.manifest.run_suite_digest) == ("d2", "d1")
        assert folder.manifest.scorer_versions == {"metric:m": "2"}
        assert (place / "scorecard.json").read_bytes() == first
        assert sorted(path.name for path in (runs / "run/scores").iterdir()) == ["1", "2"]
        with pytest.raises(ResultsError, match="--run-name"):
            folder.commit(*record("b"))


@pytest.mark.parametrize("name", ["trial.json", "scorecard.json", "spans.jsonl", "seal.json"])
@pytest.mark.parametrize("damage", ["truncated", "changed", "missing"])
def test_damage_is_told_with_the_file_named(
    runs: Path, manifest: Manifest, record: Record, name: str, damage: str
) -> None:
    with RunFolder.create(runs, manifest()) as folder:
        place = folder.commit(*record())
    path = place / name
    content = path.read_bytes()
    match damage:
        case "truncated":
            path.write_bytes(content[: len(content) // 2])
        case "changed":
            path.write_bytes(content.replace(b"t", b"u"))
        case _:
            path.unlink()

    with pytest.raises(ResultsError, match=re.escape(str(place))):
        RunFolder.open(runs / "run").verify()


def test_a_damaged_manifest_is_named_and_a_folder_without_one_is_no_run(runs: Path, manifest: Manifest) -> None:
    RunFolder.create(runs, manifest()).close()
    (runs / "run/manifest.json").write_text('{"run": "run"}')

    with pytest.raises(ResultsError, match=r"manifest\.json field 'created'"):
        RunFolder.open(runs / "run")
    with pytest.raises(UsageError, match=r"manifest\.json"):
        RunFolder.open(runs)


def test_run_names_are_safe_and_sort_by_time() -> None:
    now = datetime(2026, 1, 31, 23, 59, 59, tzinfo=UTC)

    assert default_run_name(now, "drive_thru", "v2") == "20260131-235959-drive_thru-v2"
    assert check_run_name(default_run_name(now, "../a b/\u00e9", "v:2")) == "20260131-235959-a-b-v-2"


@pytest.mark.parametrize("name", ["", ".", "..", "a/b", "-x", "a b", "x" * 121, "a\n"])
def test_a_name_that_is_no_safe_folder_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match=re.escape(repr(name))):
        check_run_name(name)


def test_a_scorecard_survives_json_as_it_is(record: Record) -> None:
    card: Scorecard = record()[2]

    assert Scorecard.model_validate_json(card.model_dump_json()) == card


def test_only_a_planned_trial_is_committed_or_found(runs: Path, manifest: Manifest, record: Record) -> None:
    with RunFolder.create(runs, manifest()) as folder:
        folder.commit(*record("a", 1))
        with pytest.raises(ResultsError) as refused:
            folder.commit(*record("c", 1))
        with pytest.raises(ResultsError):
            folder.commit(*record("a", 3))
    assert "'c'" in refused.value.message

    opened = RunFolder.open(runs / "run")
    stray = runs / "run" / "trials" / "c" / "1"
    shutil.copytree(runs / "run" / "trials" / "a" / "1", stray)
    found = opened.stored("a", 1)
    assert found is not None
    assert found.folder == runs / "run" / "trials" / "a" / "1"
    assert opened.trial("a", 1) == record("a", 1)[0]
    assert opened.stored("a", 2) is None  # planned, and not run yet
    assert opened.stored("c", 1) is None  # there, and not planned
    assert [("a", 1)] == [(card.case_id, card.attempt) for card in opened.scorecards()]
    assert frozenset({("a", 1)}) == opened.finished()
    committed = opened.committed()
    assert [("a", 1)] == list(committed)
    assert committed == opened.committed_among([("a", 1), ("a", 2), ("c", 1)])
    assert {} == opened.committed_among([("a", 2), ("c", 1)])


def test_a_trial_that_the_harness_could_not_run_is_not_finished(runs: Path, manifest: Manifest, record: Record) -> None:
    with RunFolder.create(runs, manifest()) as folder:
        folder.commit(*record("a", 1, "harness_failed", None))
        folder.commit(*record("a", 2))
        assert frozenset({("a", 2)}) == folder.finished()


def test_an_imported_run_keeps_its_suite_and_only_a_writer_stores_one(runs: Path, manifest: Manifest) -> None:
    suite = Suite(
        name="s",
        folder=Path(),
        agents={"v1": AgentVersion(command=("true",), files="agent")},
        cases=(
            Case.model_validate(
                {"id": "a", "task": "t", "checks": [{"name": "c", "verifier": "v", "with": {"most": 3}}]}
            ),
        ),
        digest="0" * 64,
    )
    with RunFolder.create(runs, manifest()) as folder:
        assert None is folder.suite
        folder.keep_suite(suite)
        assert suite == folder.suite
    opened = RunFolder.open(runs / "run")
    assert suite == opened.suite
    assert '"with": {' in (runs / "run" / "suite.json").read_text()
    with pytest.raises(ResultsError):
        opened.keep_suite(suite)


def test_the_variant_of_a_trial_is_that_of_its_case_and_attempt(manifest: Manifest) -> None:
    def varied(case_id: str, attempt: int, parent: str) -> dict[str, Any]:
        return {"case_id": case_id, "attempt": attempt, "variant": {"parent": parent}}

    made = manifest(variants=(varied("a", 1, "r/a/1"), varied("a", 2, "r/a/5")))
    assert ["r/a/1", "r/a/5"] == [one.parent for attempt in (1, 2) if (one := made.variant("a", attempt)) is not None]
    assert None is made.variant("b", 1)
    assert None is made.variant("a", 3)
