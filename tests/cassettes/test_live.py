"""Live answers beside a run: which files are whose, and which entries are refused."""

from pathlib import Path

import pytest

from harness.cassettes.cassette import Cassette
from harness.cassettes.journals import TrialJournal, keep_live, live_cassettes
from harness.cassettes.redaction import Redactor
from harness.errors import CassetteError


def test_a_journal_becomes_a_cassette_of_the_run_and_goes(tmp_path: Path, record) -> None:
    for body in (b"1", b"2"):
        journal = TrialJournal(tmp_path / "live", suite="s", case="c.1.2", redactor=Redactor({}), kept=True)
        journal.add(record(("look", {"q": "egg"}, body))[0])
        keep_live(journal, tmp_path / "live", "s", "c.1.2")
    [live] = live_cassettes(tmp_path)
    assert ("s", "c.1", 2, "c.1.2.yaml") == (live.suite, live.case, live.attempt, live.path.name)
    assert [b"2"] == [one.body for one in live.load().recordings]
    assert ["c.1.2.yaml"] == [path.name for path in (tmp_path / "live" / "s").iterdir()]


def test_what_names_no_attempt_is_a_probe(tmp_path: Path) -> None:
    (tmp_path / "live" / "s").mkdir(parents=True)
    for name in ("probe.yaml", "case.x.yaml", "7.yaml", ".c.1.yaml", "c.1.json"):
        (tmp_path / "live" / "s" / name).touch()
    found = [(one.path.name, one.case, one.attempt) for one in live_cassettes(tmp_path)]
    assert [("7.yaml", None, None), ("case.x.yaml", None, None), ("probe.yaml", None, None)] == found


def test_a_link_among_them_is_refused_and_the_trials_are_not_walked(tmp_path: Path) -> None:
    for folder in ("live/s", "trials"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "trials" / "link").symlink_to("/")
    assert [] == list(live_cassettes(tmp_path))
    (tmp_path / "live" / "s" / "c.1.yaml").symlink_to("/etc/hostname")
    with pytest.raises(CassetteError, match=r"c\.1\.yaml"):
        list(live_cassettes(tmp_path))


def test_an_empty_cassette_has_no_kinds_but_its_own(record) -> None:
    whole = Cassette(record(("look", {}, b"1")))
    assert whole is whole.only("tool")
    assert 0 == len(whole.only("probe"))
