"""What hosts and tools answered live is kept as a cassette of its own, the same as a recording would be."""

from pathlib import Path

import pytest

from harness.cassettes.cassette import load_cassette
from harness.cassettes.journals import live_cassettes
from tests.gateway.web.conftest import order_an_egg


def test_a_live_trial_keeps_what_a_recording_would_and_touches_no_cassette(browse, case, suite, tmp_path: Path) -> None:
    record = browse("live", order_an_egg, options={"live_cassettes": tmp_path / "run" / "live"})
    assert (0, 0) == (record.recorded, record.differs)
    assert not (tmp_path / "cassettes").exists()
    [kept] = live_cassettes(tmp_path / "run")
    assert (suite.name, case.id, 1) == (kept.suite, kept.case, kept.attempt)
    browse("record", order_an_egg)
    recorded = load_cassette(tmp_path / "cassettes" / suite.name / f"{case.id}.yaml")
    assert {"http"} == {one.mark.kind for one in recorded.recordings}
    assert [one.place for one in recorded.recordings] == [one.place for one in kept.load().recordings]


def test_a_trial_that_is_not_ended_leaves_nothing(browse, tmp_path: Path) -> None:
    def give_up(_) -> None:
        raise InterruptedError

    with pytest.raises(InterruptedError):
        browse("live", give_up, options={"live_cassettes": tmp_path / "run" / "live"})
    assert [] == [path for path in (tmp_path / "run").rglob("*") if path.is_file()]
