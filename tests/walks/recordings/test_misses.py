"""A call that no recording answers makes its trial inconclusive: neither a pass nor a fail."""

import shutil

import pytest

from tests.walks.conftest import Walk

pytestmark = pytest.mark.docker

CASE = "order-correctness-000"


@pytest.mark.slow
def test_a_miss_is_shown_counted_and_left_out_of_every_denominator(drive_thru: Walk) -> None:
    cassette = drive_thru.folder / "cassettes" / "drive_thru" / f"{CASE}.yaml"
    other = cassette.with_name("order-correctness-001.yaml")
    kept = cassette.read_bytes()
    shutil.copyfile(other, cassette)
    words = ("run", "drive_thru", "--case", CASE, "--case", "order-correctness-001")
    try:
        done = drive_thru(*words, "--run-name", "missed", status=1)
        assert "harness record drive_thru --agent v2" in done.stderr
        assert "lookup_menu_item" in done.stdout
        allowed = drive_thru.summary(*words, "--run-name", "allowed", "--max-inconclusive", "1")
        assert (1, 1) == (allowed["counts"]["inconclusive"], allowed["success"]["n"])
        gated = drive_thru(*words, "--fail-under", "task_success=0.1", "--max-inconclusive", "1", status=3)
        assert "1 of 2 trials" in gated.stdout
    finally:
        cassette.write_bytes(kept)


@pytest.mark.slow
def test_recording_fills_the_gap_and_a_second_recording_changes_no_byte(drive_thru: Walk) -> None:
    cassette = drive_thru.folder / "cassettes" / "drive_thru" / f"{CASE}.yaml"
    cassette.unlink()
    drive_thru("run", "drive_thru", "--case", CASE, status=1)
    drive_thru("record", "drive_thru", "--case", CASE)
    recorded = cassette.read_bytes()
    drive_thru("run", "drive_thru", "--case", CASE)
    drive_thru("run", "drive_thru", "--case", CASE, "--agent", "v1")
    drive_thru("record", "drive_thru", "--case", CASE)
    assert recorded == cassette.read_bytes()
    drive_thru("cassette", "check", "drive_thru")


@pytest.mark.slow
def test_a_tampered_snapshot_is_refused_with_the_file_named(drive_thru: Walk) -> None:
    dump = drive_thru.folder / "snapshots" / "drive_thru" / "breakfast" / "dumps" / "menu.sql"
    kept = dump.read_bytes()
    dump.write_bytes(kept.replace(b"coffee", b"coffin", 1))
    try:
        for words in (("run", "drive_thru"), ("snapshot", "verify")):
            assert "menu.sql" in drive_thru(*words, status=3).stderr
    finally:
        dump.write_bytes(kept)


@pytest.mark.slow
def test_a_broken_cassette_is_refused_with_the_file_named(drive_thru: Walk) -> None:
    cassette = drive_thru.folder / "cassettes" / "drive_thru" / f"{CASE}.yaml"
    kept = cassette.read_bytes()
    cassette.write_bytes(kept[: len(kept) // 2])
    try:
        assert f"{CASE}.yaml" in drive_thru("cassette", "check", "drive_thru", status=1).stdout
        drive_thru("run", "drive_thru", "--case", CASE, "--run-name", "broken-cassette", status=3)
        trial = drive_thru.trial("broken-cassette", CASE)
        assert "harness_failed" == trial["outcome"]
        assert f"{CASE}.yaml" in trial["reason"]
    finally:
        cassette.write_bytes(kept)
