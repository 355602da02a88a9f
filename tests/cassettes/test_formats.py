"""A cassette is YAML or JSON."""

from pathlib import Path

import pytest

from harness.cassettes.cassette import Cassette, load_cassette, save_cassette
from harness.cassettes.check import check_cassette
from harness.cassettes.keys import initial_state, key_digest
from harness.cassettes.recordings import Mark, Recording
from harness.errors import CassetteError
from harness.values import canonical_json


def cassette_of(count: int, body: bytes = '{"name":"Käse 🧀"}'.encode()) -> Cassette:
    recordings = []
    for number in range(count):
        arguments = canonical_json({"number": number})
        key, state = key_digest("look", arguments), initial_state("menu")
        mark = Mark(server="menu", tool="look", effect="read", key=key, state=state, writes=0, occurrence=0)
        recordings.append(Recording(mark=mark, arguments=arguments, status=200, body=body))
    return Cassette(recordings)


def test_a_cassette_in_json_has_the_same_recordings(tmp_path: Path) -> None:
    yaml, json = tmp_path / "orders/one.yaml", tmp_path / "orders/two.json"
    for path in (yaml, json):
        save_cassette(path, cassette_of(3), suite="orders", case=path.stem)
    assert load_cassette(yaml).recordings == load_cassette(json).recordings
    assert () == check_cassette(json, {})


def test_an_answer_that_is_no_text_needs_yaml(tmp_path: Path) -> None:
    with pytest.raises(CassetteError, match="has to be YAML"):
        save_cassette(tmp_path / "one.json", cassette_of(1, b"\xff\xfe"), suite="orders", case="one")
