"""Cassettes that no recording writes: refused with the file and the place, and never taken for a whole one."""

import json
from pathlib import Path

import pytest
import yaml

from harness.cassettes.cassette import Cassette, load_cassette, save_cassette
from harness.cassettes.check import check_cassette, show_cassette
from harness.errors import CassetteError

_LAUGHS = "".join(f"k{n}: &{n} [{', '.join([f'*{n - 1}' if n else 'x'] * 10)}]\n" for n in range(10))
EGG = ("look", {"q": "egg"}, b'{"found": ["egg"]}')


def written(path: Path, record) -> dict:
    save_cassette(path, Cassette(record(EGG)), suite="s", case="c")
    return yaml.safe_load(path.read_text())


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("[" * 100_000, "is nested deeper than 1000 levels"),
        (_LAUGHS, "its aliases unfold to too many values"),
        ("interactions: &r [*r]", "the alias \\*r stands inside itself"),
    ],
)
def test_a_cassette_that_no_memory_can_hold_is_refused(tmp_path: Path, content: str, words: str) -> None:
    path = tmp_path / "c.yaml"
    path.write_text(content)
    with pytest.raises(CassetteError, match=rf"c\.yaml:.*{words}"):
        load_cassette(path)


@pytest.mark.parametrize("body", ["{", "[" * 5000, "9" * 5000])
def test_a_request_that_is_no_json_is_refused_when_it_is_loaded(tmp_path: Path, record, body: str) -> None:
    path = tmp_path / "c.yaml"
    cassette = written(path, record)
    cassette["interactions"][0]["request"]["body"] = body
    path.write_text(yaml.safe_dump(cassette))
    with pytest.raises(CassetteError, match=r"c\.yaml:\d+: field 'interactions\.0'"):
        load_cassette(path)


def test_no_recording_is_given_before_the_first(tmp_path: Path, record) -> None:
    path = tmp_path / "c.yaml"
    cassette = written(path, record)
    cassette["interactions"][0]["response"]["x-harness"]["occurrence"] = -1
    path.write_text(yaml.safe_dump(cassette))
    with pytest.raises(CassetteError, match=r"occurrence"):
        load_cassette(path)


def test_numbers_that_stand_as_text_are_the_same_recording(tmp_path: Path, record) -> None:
    path = tmp_path / "c.yaml"
    cassette = written(path, record)
    cassette["interactions"][0]["response"]["x-harness"]["occurrence"] = "0"
    path.write_text(yaml.safe_dump(cassette))
    assert () == check_cassette(path, {})
    assert "look" in show_cassette(path)


def test_an_answer_that_is_no_text_is_not_written_as_json(tmp_path: Path, record) -> None:
    (recording,) = record(EGG)
    binary = Cassette([recording.model_copy(update={"body": b"\x89PNG\xff"})])
    with pytest.raises(CassetteError, match=r"c\.json"):
        save_cassette(tmp_path / "c.json", binary, suite="s", case="c")
    assert [] == list(tmp_path.iterdir())


def test_half_of_a_surrogate_pair_in_a_json_cassette_is_refused(tmp_path: Path, record) -> None:
    path = tmp_path / "c.json"
    save_cassette(path, Cassette(record(EGG)), suite="s", case="c")
    cassette = json.loads(path.read_text())
    cassette["interactions"][0]["response"]["body"]["string"] = "\ud800"
    path.write_text(json.dumps(cassette))
    with pytest.raises(CassetteError, match=r"c\.json"):
        load_cassette(path)
