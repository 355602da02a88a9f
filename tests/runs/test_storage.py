"""Committed folders: any text and any size is read back, and a list of files names nothing outside of its folder."""

import json
from pathlib import Path

import pytest

from harness.errors import ResultsError
from harness.runs.store.storage import (
    CHECKSUMS_FILE,
    commit_folder,
    json_bytes,
    json_line,
    parsed,
    read_as,
    read_checked,
    verify_checksums,
)
from harness.traces.trajectory import Trajectory
from harness.values import Frozen

HALF = "name \udc80"
"""Half a surrogate pair, as in the name of a file that is not valid UTF-8."""


class Note(Frozen):
    text: str
    number: int = 0


@pytest.mark.parametrize("text", ["plain", "caf\u00e9", HALF])
def test_any_text_is_stored_as_ascii_and_read_back(text: str, tmp_path: Path) -> None:
    note = Note(text=text)
    for content in (json_bytes(note), json_line(note)):
        assert content.isascii()
        assert content.endswith(b"}\n")
        assert note == parsed(tmp_path, content, Note)
    assert 1 == json_line(note).count(b"\n")
    assert 4 == json_bytes(note).count(b"\n")
    assert {"a": [1]} == json.loads(json_bytes({"a": [1]}))


def test_a_damaged_document_is_named_with_its_field_in_either_parser(tmp_path: Path) -> None:
    for text in ("plain", "\\udc80"):
        with pytest.raises(ResultsError, match="note field 'number'"):
            parsed(tmp_path / "note", f'{{"text": "{text}", "number": "x"}}'.encode(), Note)
    for content in (b"{", b"[" * 100_000, b"\xff"):
        with pytest.raises(ResultsError, match="JSON"):
            parsed(tmp_path / "note", content, Note)


def test_a_file_of_many_parts_is_copied_whole_and_checked(tmp_path: Path) -> None:
    content = bytes(range(256)) * 1000
    (source := tmp_path / "source").write_bytes(content)
    commit_folder(tmp_path / "made", {"copied": source, "given": content, "empty": b""})
    assert [content, content, b""] == [read_checked(tmp_path / "made", name) for name in ("copied", "given", "empty")]
    verify_checksums(tmp_path / "made")
    assert ["made", "source"] == sorted(path.name for path in tmp_path.iterdir())


def test_a_folder_that_exists_is_not_written_to_and_nothing_is_left_behind(tmp_path: Path) -> None:
    commit_folder(tmp_path / "made", {"a": b"1"})
    with pytest.raises(ResultsError, match="/made "):
        commit_folder(tmp_path / "made", {"a": b"2"})
    with pytest.raises(ResultsError, match="/other "):
        commit_folder(tmp_path / "other", {"a": tmp_path / "none"})
    assert b"1" == read_checked(tmp_path / "made", "a")
    assert ["made"] == [path.name for path in tmp_path.iterdir()]


@pytest.mark.parametrize("name", ["", "..", "a/b", "../a", "a\n", "/a"])
def test_a_list_of_files_names_nothing_outside_of_its_folder(name: str, tmp_path: Path) -> None:
    commit_folder(tmp_path / "made", {"a": b"1"})
    listed = read_as(tmp_path / "made" / CHECKSUMS_FILE, dict[str, str])
    (tmp_path / "made" / CHECKSUMS_FILE).write_text(json.dumps(listed | {name: "0"}))
    with pytest.raises(ResultsError, match=r"seal\.json lists"):
        verify_checksums(tmp_path / "made")


def test_a_file_that_is_not_listed_or_gone_is_damage(tmp_path: Path) -> None:
    commit_folder(tmp_path / "made", {"a": b"1", "b": b"2"})
    (tmp_path / "made" / "c").write_bytes(b"3")
    with pytest.raises(ResultsError, match="/made/c "):
        read_checked(tmp_path / "made", "c")
    verify_checksums(tmp_path / "made")  # a further file is none of its own
    (tmp_path / "made" / "b").unlink()
    with pytest.raises(ResultsError, match="/made/b "):
        verify_checksums(tmp_path / "made")


def test_a_trajectory_with_half_a_pair_in_it_keeps_its_digest(tmp_path: Path) -> None:
    one = Trajectory(trace_id="t", agent="s", steps=(), final_output=HALF)
    assert one.digest == parsed(tmp_path, json_line(one), Trajectory).digest
