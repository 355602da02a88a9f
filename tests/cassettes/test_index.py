"""A big YAML cassette opens through its index, and the index is never believed where it does not fit."""

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.cassettes.cassette import Cassette, index_path, load_cassette, open_cassette, save_cassette
from harness.cassettes.keys import initial_state, key_digest
from harness.cassettes.recordings import Mark, Recording
from harness.errors import CassetteError
from harness.values import canonical_json


def recorded(count: int, *, price: int = 1, binary: bool = True) -> Cassette:
    """A cassette of reads, where wanted among them one whose answer is not text."""
    made = []
    for number in range(count):
        arguments = canonical_json({"number": number})
        mark = Mark(
            server="menu",
            tool="look",
            effect="read",
            key=key_digest("look", arguments),
            state=initial_state("menu"),
            writes=0,
            occurrence=0,
        )
        body = b"\xff\x00\xfe" if binary and number == 1 else json.dumps({"price": price, "text": "é" * 300}).encode()
        made.append(Recording(mark=mark, arguments=arguments, status=200, body=body))
    return Cassette(made)


@pytest.fixture
def cassette(tmp_path: Path) -> Path:
    path = tmp_path / "cassettes" / "orders" / "big.yaml"
    save_cassette(path, recorded(100), suite="orders", case="big")
    return path


def test_a_cassette_opens_the_same_with_and_without_its_index(cassette: Path, tmp_path: Path) -> None:
    first = open_cassette(cassette)
    index = index_path(cassette)

    assert tmp_path / ".harness" / "index" / "orders" / "big.yaml.index" == index
    assert index.exists()
    made = index.stat().st_mtime_ns
    assert first.recordings == open_cassette(cassette).recordings == load_cassette(cassette).recordings
    assert made == index.stat().st_mtime_ns


def test_the_index_is_what_is_read_the_second_time(cassette: Path) -> None:
    before = open_cassette(cassette)
    text = cassette.read_text(encoding="utf-8")
    other = cassette.with_name("other.yaml")
    other.write_text(text.replace("interactions:", "interactions: [", 1), encoding="utf-8")
    with pytest.raises(CassetteError):
        open_cassette(other)

    # The index of the sound cassette, said to be of the broken one: only reading it can give an answer.
    form, _, rest = index_path(cassette).read_bytes().split(b"\n", 2)
    digest = hashlib.sha256(other.read_bytes()).hexdigest().encode()
    index_path(other).write_bytes(b"\n".join((form, digest, rest)))
    assert before.recordings == open_cassette(other).recordings


def test_a_changed_cassette_is_read_anew_and_its_index_replaced(cassette: Path) -> None:
    open_cassette(cassette)
    old = index_path(cassette).read_bytes()
    save_cassette(cassette, recorded(100, price=2), suite="orders", case="big")

    assert recorded(100, price=2).recordings == open_cassette(cassette).recordings
    assert old != index_path(cassette).read_bytes()
    assert [index_path(cassette)] == list(index_path(cassette).parent.iterdir())


@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "other version", "no recordings"])
def test_a_damaged_index_is_made_anew(cassette: Path, damage: str) -> None:
    expected = open_cassette(cassette).recordings
    index = index_path(cassette)
    good = index.read_bytes()
    form, digest, own, content = good.split(b"\n", 3)
    empty_digest = hashlib.sha256(b"{}").hexdigest().encode()
    index.write_bytes(
        {
            "cut": good[:-100],
            "changed": good.replace(b'"status":200', b'"status":500'),
            "empty": b"",
            "other version": b"\n".join((form + b"0", digest, own, content)),
            "no recordings": b"\n".join((form, digest, empty_digest, b"{}")),
        }[damage]
    )

    assert expected == open_cassette(cassette).recordings
    assert good == index.read_bytes()


def test_many_may_open_a_cassette_at_once(cassette: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        cassettes = list(pool.map(open_cassette, [cassette] * 8))
    expected = load_cassette(cassette).recordings

    assert all(opened.recordings == expected for opened in cassettes)
    assert [index_path(cassette)] == list(index_path(cassette).parent.iterdir())


def test_small_and_json_cassettes_have_no_index(tmp_path: Path) -> None:
    small = tmp_path / "cassettes" / "orders" / "small.yaml"
    as_json = tmp_path / "cassettes" / "orders" / "big.json"
    save_cassette(small, recorded(3), suite="orders", case="small")
    save_cassette(as_json, recorded(300, binary=False), suite="orders", case="big")

    assert 3 == len(open_cassette(small))
    assert 300 == len(open_cassette(as_json))
    assert not (tmp_path / ".harness").exists()


def test_a_project_that_cannot_be_written_to_opens_its_cassettes_all_the_same(cassette: Path, tmp_path: Path) -> None:
    (tmp_path / ".harness").write_text("in the way", encoding="utf-8")

    assert load_cassette(cassette).recordings == open_cassette(cassette).recordings


def test_a_cassette_that_is_not_there_is_told_as_ever(tmp_path: Path) -> None:
    with pytest.raises(CassetteError, match=r"none\.yaml"):
        open_cassette(tmp_path / "cassettes" / "orders" / "none.yaml")
