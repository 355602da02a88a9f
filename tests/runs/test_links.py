"""Links, FIFOs and files of any size in a run folder: no command follows, opens or writes through them."""

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.errors import HarnessError
from harness.reports.render.markdown import write_report
from harness.reports.summarising import summarise_run
from harness.runs.plan.plan import shard_of
from harness.runs.store.drift_report import read_drift
from harness.runs.store.folder import RunFolder
from harness.runs.store.judgements import JudgementWriter, read_judgements
from harness.runs.store.merging import merge_runs
from tests.runs.conftest import PLAN

Spoil = Callable[[Path, Path], None]


@pytest.fixture(autouse=True)
def _soon() -> Iterator[None]:
    began = time.monotonic()
    yield
    assert time.monotonic() - began < 20


def _link(place: Path, host: Path) -> None:
    place.symlink_to(host)


def _fifo(place: Path, _: Path) -> None:
    os.mkfifo(place)


def _device(place: Path, _: Path) -> None:
    place.symlink_to("/dev/zero")


def _put(name: str, spoil: Spoil) -> Spoil:
    def done(run: Path, host: Path) -> None:
        place = run / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.is_dir():
            place.rename(host.with_name("moved"))
        place.unlink(missing_ok=True)
        spoil(place, host)

    return done


PLACES = [
    "manifest.json",
    "suite.json",
    "stopped.json",
    "rounds.json",
    ".lock",
    "drift.json",
    "judgements/r.jsonl",
    "live/s/a.1.yaml",
    "report/summary.md",
    "trials/a/1/trial.json",
    "trials/a/1/end_state.tar",
    "trials/a/1/page-1-x.png",
    "trials/b",
    "trials/a/2",
    "scores/1",
]


@pytest.mark.parametrize("spoil", [_link, _fifo, _device])
@pytest.mark.parametrize("name", PLACES)
def test_what_is_no_plain_file_is_refused_by_name(runs: Path, manifest, record, tmp_path, name: str, spoil) -> None:
    host = tmp_path / "host.json"
    host.write_text("private")
    with RunFolder.create(runs, manifest()) as folder:
        folder.commit(*record())
    run = runs / "run"
    summarise_run(RunFolder.open(run))  # as it was written
    _put(name, spoil)(run, host)

    for use in (lambda: summarise_run(RunFolder.open(run)), lambda: RunFolder.resume(run).finished()):
        with pytest.raises(HarnessError, match=r"is (a link|a FIFO|not followed)") as refused:
            use()
        assert name.split("/", maxsplit=1)[0] in str(refused.value)
    assert "private" == host.read_text()


@pytest.mark.parametrize("folder", ["report", "trials", "live", "judgements"])
def test_a_linked_folder_is_neither_read_nor_written_through(runs: Path, manifest, record, tmp_path, folder) -> None:
    host = tmp_path / "host"
    host.mkdir()
    with RunFolder.create(runs, manifest()) as made:
        made.commit(*record())
        summary = summarise_run(made)
    assert (write_report(RunFolder.open(runs / "run"), summary)).exists()
    _put(folder, _link)(runs / "run", host)

    def report() -> None:
        opened = RunFolder.open(runs / "run")
        write_report(opened, summarise_run(opened))

    with pytest.raises(HarnessError, match="a link"):
        report()
    assert [] == list(host.iterdir())


def test_a_shard_with_links_is_not_merged(runs: Path, manifest, record, tmp_path) -> None:
    host = tmp_path / "secret"
    host.write_text("private")
    shards = []
    for number in (1, 2):
        with RunFolder.create(runs, manifest(run=f"part-{number}", shard=f"{number}/2")) as folder:
            pass
        shards.append(folder.path)
    (shards[1] / "live" / "s").mkdir(parents=True)
    (shards[1] / "live" / "s" / "a.1.yaml").symlink_to(host)
    with pytest.raises(HarnessError, match=r"a\.1\.yaml"):
        merge_runs([RunFolder.open(path) for path in shards], runs, "whole")
    assert not (runs / "whole").exists()


@pytest.mark.parametrize("spoil", [_link, _fifo])
def test_files_beside_a_run_are_not_followed_either(tmp_path: Path, spoil) -> None:
    host = tmp_path / "host"
    host.write_text("{}")
    (tmp_path / "judgements").mkdir()
    spoil(tmp_path / "judgements" / "r.jsonl", host)
    with pytest.raises(HarnessError):
        list(read_judgements(tmp_path, "r"))
    with pytest.raises(HarnessError):
        JudgementWriter(tmp_path, "r")
    spoil(tmp_path / "drift.json", host)
    with pytest.raises(HarnessError):
        read_drift(tmp_path)
    assert "{}" == host.read_text()


def test_a_file_that_has_any_size_is_refused(runs: Path, manifest, record) -> None:
    with RunFolder.create(runs, manifest()) as folder:
        place = folder.commit(*record())
    os.truncate(place / "scorecard.json", 1 << 40)
    with pytest.raises(HarnessError, match=r"scorecard\.json.*1024 MiB"):
        RunFolder.open(runs / "run").scorecards()
    with pytest.raises(HarnessError, match=r"scorecard\.json.*1024 MiB"):
        RunFolder.open(runs / "run").verify()


def test_documents_that_are_too_large_together_are_refused_before_one_is_read(runs: Path, manifest, record) -> None:
    with RunFolder.create(runs, manifest()) as folder:
        place = folder.commit(*record())
    for number in range(5):
        (place / f"more-{number}.json").touch()
        os.truncate(place / f"more-{number}.json", (1 << 30) - 1)
    with pytest.raises(HarnessError, match="4096 MiB"):
        summarise_run(RunFolder.open(runs / "run"))
    (place / "more-0.json").unlink()
    (place / "more-1.json").unlink()
    summarise_run(RunFolder.open(runs / "run"))


def test_a_live_cassette_of_any_size_is_not_written_out_by_a_merge(runs: Path, manifest, record) -> None:
    shards = []
    for number in (1, 2):
        with RunFolder.create(
            runs, manifest(run=f"part-{number}", shard=f"{number}/2", planned=shard_of(PLAN, number, 2))
        ) as folder:
            pass
        shards.append(folder.path)
    kept = shards[1] / "live" / "s"
    kept.mkdir(parents=True)
    (kept / "a.1.yaml").touch()
    os.truncate(kept / "a.1.yaml", 1 << 40)
    with pytest.raises(HarnessError, match=r"a\.1\.yaml.*1024 MiB"):
        merge_runs([RunFolder.open(path) for path in shards], runs, "whole")
    assert not (runs / "whole").exists()

    (kept / "a.1.yaml").write_text("interactions: []\n")
    with merge_runs([RunFolder.open(path) for path in shards], runs, "whole") as merged:
        assert "interactions: []\n" == (merged.path / "live" / "s" / "a.1.yaml").read_text()
