"""A cassette may change its format, and loses nothing by it."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cassettes.cassette import Cassette, load_cassette, save_cassette
from harness.cassettes.check import advice_on, check_cassette
from harness.cassettes.keys import initial_state, key_digest
from harness.cassettes.recordings import Mark, Recording
from harness.cassettes.refresh import Format, convert_cassette
from harness.cli.main import harness
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


@pytest.mark.parametrize(("there", "back"), [("json", "yaml"), ("yaml", "json")])
def test_there_and_back_again_is_the_same_file(tmp_path: Path, there: Format, back: Format) -> None:
    path = tmp_path / "orders" / f"one.{back}"
    save_cassette(path, cassette_of(3), suite="orders", case="one")
    before, recordings = path.read_bytes(), load_cassette(path).recordings

    other = convert_cassette(tmp_path, "orders", "one", there)
    assert [other] == list((tmp_path / "orders").iterdir())
    assert recordings == load_cassette(other).recordings
    assert () == check_cassette(other, {})

    assert path == convert_cassette(tmp_path, "orders", "one", back)
    assert before == path.read_bytes()


def test_a_cassette_that_has_the_format_stays_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "orders" / "one.yaml"
    save_cassette(path, cassette_of(1), suite="orders", case="one")
    made = path.stat().st_mtime_ns

    assert path == convert_cassette(tmp_path, "orders", "one", "yaml")
    assert made == path.stat().st_mtime_ns


def test_an_answer_that_is_no_text_stays_in_yaml(tmp_path: Path) -> None:
    path = tmp_path / "orders" / "one.yaml"
    save_cassette(path, cassette_of(1, b"\xff\xfe"), suite="orders", case="one")

    with pytest.raises(CassetteError, match="harness cassette convert"):
        convert_cassette(tmp_path, "orders", "one", "json")
    assert [path] == list((tmp_path / "orders").iterdir())


def test_json_is_advised_for_more_than_a_thousand_recordings(tmp_path: Path) -> None:
    folder = tmp_path / "cassettes" / "orders"
    for name, count in (("big.yaml", 1001), ("small.yaml", 1000), ("fine.json", 1001)):
        save_cassette(folder / name, cassette_of(count), suite="orders", case=name.partition(".")[0])

    advice = advice_on(folder / "big.yaml", "orders")
    assert advice is not None
    assert "1001 recordings" in advice
    assert "harness cassette convert orders big --to json" in advice
    assert advice_on(folder / "small.yaml", "orders") is None
    assert advice_on(folder / "fine.json", "orders") is None


def test_the_command_line_converts(tmp_path: Path) -> None:
    path = tmp_path / "cassettes" / "orders" / "one.yaml"
    save_cassette(path, cassette_of(2), suite="orders", case="one")

    told = CliRunner().invoke(
        harness, ["--project", str(tmp_path), "cassette", "convert", "orders", "one", "--to", "json"]
    )

    assert 0 == told.exit_code, told.output
    assert str(path.with_suffix(".json")) in told.output
    assert 2 == len(load_cassette(path.with_suffix(".json")))
