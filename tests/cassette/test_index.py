"""A big YAML tape opens through its index, and the index is never believed where it does not fit."""

import hashlib
import json
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.cassette.index import index_path, open_tape
from harness.cassette.keys import key_digest
from harness.cassette.recording import Mark, Recording
from harness.cassette.state import initial_state
from harness.cassette.tape import Tape, load_tape, save_tape
from harness.errors import CassetteError
from harness.values import canonical_json


def recorded(count: int, *, price: int = 1, binary: bool = True) -> Tape:
    """A tape of reads, where wanted among them one whose answer is no text."""
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
    return Tape(made)


@pytest.fixture
def tape(tmp_path: Path) -> Path:
    path = tmp_path / "cassettes" / "orders" / "big.yaml"
    save_tape(path, recorded(300), suite="orders", case="big")
    return path


def test_a_tape_opens_the_same_with_and_without_its_index(tape: Path, tmp_path: Path) -> None:
    first = open_tape(tape)
    index = index_path(tape)

    assert tmp_path / ".harness" / "index" / "orders" / "big.yaml.index" == index
    assert index.exists()
    made = index.stat().st_mtime_ns
    assert first.recordings == open_tape(tape).recordings == load_tape(tape).recordings
    assert made == index.stat().st_mtime_ns


def test_the_index_is_what_is_read_the_second_time(tape: Path) -> None:
    before = open_tape(tape)
    text = tape.read_text(encoding="utf-8")
    other = tape.with_name("other.yaml")
    other.write_text(text.replace("interactions:", "interactions: [", 1), encoding="utf-8")
    with pytest.raises(CassetteError):
        open_tape(other)

    # The index of the sound tape, said to be of the broken one: only reading it can give an answer.
    form, _, rest = index_path(tape).read_bytes().split(b"\n", 2)
    digest = hashlib.sha256(other.read_bytes()).hexdigest().encode()
    index_path(other).write_bytes(b"\n".join((form, digest, rest)))
    assert before.recordings == open_tape(other).recordings


def test_a_changed_tape_is_read_anew_and_its_index_replaced(tape: Path) -> None:
    open_tape(tape)
    old = index_path(tape).read_bytes()
    save_tape(tape, recorded(300, price=2), suite="orders", case="big")

    assert recorded(300, price=2).recordings == open_tape(tape).recordings
    assert old != index_path(tape).read_bytes()
    assert [index_path(tape)] == list(index_path(tape).parent.iterdir())


@pytest.mark.parametrize("damage", ["cut", "changed", "empty", "other version", "no recordings"])
def test_a_damaged_index_is_made_anew(tape: Path, damage: str) -> None:
    expected = open_tape(tape).recordings
    index = index_path(tape)
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

    assert expected == open_tape(tape).recordings
    assert good == index.read_bytes()


def test_many_may_open_a_tape_at_once(tape: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        tapes = list(pool.map(open_tape, [tape] * 8))
    expected = load_tape(tape).recordings

    assert all(opened.recordings == expected for opened in tapes)
    assert [index_path(tape)] == list(index_path(tape).parent.iterdir())


def test_small_and_json_tapes_have_no_index(tmp_path: Path) -> None:
    small = tmp_path / "cassettes" / "orders" / "small.yaml"
    as_json = tmp_path / "cassettes" / "orders" / "big.json"
    save_tape(small, recorded(3), suite="orders", case="small")
    save_tape(as_json, recorded(300, binary=False), suite="orders", case="big")

    assert 3 == len(open_tape(small))
    assert 300 == len(open_tape(as_json))
    assert not (tmp_path / ".harness").exists()


def test_a_project_that_cannot_be_written_to_opens_its_tapes_all_the_same(tape: Path, tmp_path: Path) -> None:
    (tmp_path / ".harness").write_text("in the way", encoding="utf-8")

    assert load_tape(tape).recordings == open_tape(tape).recordings


def test_a_tape_that_is_not_there_is_told_as_ever(tmp_path: Path) -> None:
    with pytest.raises(CassetteError, match="cannot be read"):
        open_tape(tmp_path / "cassettes" / "orders" / "none.yaml")
