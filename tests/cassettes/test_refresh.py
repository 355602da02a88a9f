"""Recordings updated to the answers of today: what is replaced, and what is never written."""

from pathlib import Path

import pytest

from harness.cassettes.cassette import Cassette, load_cassette, save_cassette
from harness.cassettes.recordings import Recording
from harness.cassettes.redaction import Redactor
from harness.cassettes.refresh import refreshed_cassettes, with_answers, write_refreshed
from harness.errors import CassetteError

EGG, TEA = ("look", {"q": "egg"}, b'{"price": 1}'), ("look", {"q": "tea"}, b'{"price": 2}')


def today(recording: Recording, body: bytes, **mark: object) -> Recording:
    changed = recording.mark.model_copy(update={"writes": 7, **mark})
    return recording.model_copy(update={"body": body, "arguments": "{}", "mark": changed})


def test_only_the_answer_is_taken_and_only_in_places_that_the_cassette_has(record) -> None:
    egg, tea = record(EGG, TEA)
    fresh = {
        egg.place: today(egg, b'{"price": 9}', outcome="timeout", provenance="service"),
        tea.place: today(tea, TEA[2], provenance="service"),
        ("0" * 32, "0" * 32, 0): today(tea, b"{}"),
    }
    new = with_answers(Cassette([egg, tea]), fresh)
    (changed,) = (one for one in new.recordings if one.place == egg.place)
    assert (b'{"price": 9}', egg.arguments, 0, "timeout", "service") == (
        changed.body,
        changed.arguments,
        changed.mark.writes,
        changed.mark.outcome,
        changed.mark.provenance,
    )
    assert [tea] == [one for one in new.recordings if one.place != egg.place]


@pytest.fixture
def cassettes(tmp_path: Path, record) -> Path:
    for case in ("one", "two"):
        save_cassette(tmp_path / "cassettes" / "s" / f"{case}.yaml", Cassette(record(EGG, TEA)), suite="s", case=case)
    return tmp_path / "cassettes"


def refreshed(cassettes: Path, record, body: bytes, *, secrets: dict[str, str] | None = None):
    egg, tea = record(EGG, TEA)
    fresh = {"two": {egg.place: today(egg, body)}, "one": {tea.place: today(tea, TEA[2])}}
    return list(refreshed_cassettes(cassettes, "s", fresh, Redactor(secrets or {})))


def test_a_cassette_whose_answers_are_the_same_is_not_touched(cassettes: Path, record) -> None:
    [changed] = refreshed(cassettes, record, b'{"price": 9}')
    assert ("two", 1) == (changed.case, changed.replaced)
    assert [] == refreshed(cassettes, record, EGG[2])


def test_only_the_changed_answer_is_written(cassettes: Path, record) -> None:
    [changed] = refreshed(cassettes, record, b'{"price": 9}')
    before = changed.path.read_text().splitlines()
    write_refreshed([changed])
    new = [line.strip().partition(":")[0] for line in changed.path.read_text().splitlines() if line not in before]
    assert ["string", "fingerprint"] == new
    assert {b'{"price": 9}', TEA[2]} == {one.body for one in load_cassette(changed.path).recordings}


def test_an_answer_with_a_secret_is_refused(cassettes: Path, record) -> None:
    with pytest.raises(CassetteError, match="'KEY'"):
        refreshed(cassettes, record, b'"longsecret"', secrets={"KEY": "longsecret"})
