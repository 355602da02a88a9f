"""From where recordings were taken: counted, in words, stated afterwards, and doubted where a recording was edited."""

from pathlib import Path

import pytest

from harness.cassettes.cassette import Cassette, load_cassette, save_cassette
from harness.cassettes.check import provenance_counts, provenance_words
from harness.cassettes.recordings import Recording

EGG, TEA = ("look", {"q": "egg"}, b"1"), ("look", {"q": "tea"}, b"2")


def test_each_provenance_is_counted_and_named(record) -> None:
    egg, tea = record(EGG, TEA)
    mixed = [
        egg.with_provenance("double"),
        egg.with_provenance("service"),
        tea.with_provenance("double"),
        tea.with_provenance("hand"),
    ]
    assert {"service": 1, "double": 2, "hand": 1} == provenance_counts(mixed)
    assert "1 recorded from a service, 2 recorded from a double" == provenance_words(
        {"service": 1, "double": 2, "hand": 0}
    )
    assert "recorded from a double" == provenance_words({"service": 0, "double": 2})


@pytest.mark.parametrize("provenance", ["service", "double", "trajectory"])
@pytest.mark.parametrize(("edit", "kept"), [(("", ""), True), (("string: '1'", "string: '3'"), False)])
def test_an_edited_recording_is_by_hand(
    tmp_path: Path, record, provenance: str, edit: tuple[str, str], kept: bool
) -> None:
    path = tmp_path / "s" / "c.yaml"
    save_cassette(path, Cassette([record(EGG)[0].with_provenance(provenance)]), suite="s", case="c")
    path.write_text(path.read_text().replace(*edit))
    [loaded] = load_cassette(path).recordings
    assert (provenance if kept else "hand") == loaded.mark.provenance


@pytest.mark.parametrize(
    "change",
    [
        {"body": b"9"},
        {"status": 201},
        {"arguments": "{}"},
        {"mark": {"tool": "add"}},
        {"mark": {"state": "0" * 32}},
        {"mark": {"outcome": "timeout"}},
    ],
)
def test_the_fingerprint_covers_call_and_answer(record, change: dict) -> None:
    [egg] = record(EGG)
    fields = dict(change)
    if "mark" in fields:
        fields["mark"] = egg.mark.model_copy(update=fields["mark"])
    assert egg.fingerprint != egg.model_copy(update=fields).fingerprint
    assert 16 == len(egg.fingerprint)
    assert egg.fingerprint == Recording.model_validate(egg.model_dump()).fingerprint
