"""The list of old words finds them in sentences and in names, and finds none in the project."""

from pathlib import Path

import pytest

from tests.words.__main__ import main, old_words


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ('    """The recordings of one tape."""', "tape"),
        ("def open_tape(path: Path) -> None:", "tape"),
        ("class LiveTape(Frozen):", "Tape"),
        ("_TAPE = 1", "TAPE"),
        ('raise SnapshotError("is not part of the seal")', "seal"),
        ("There is no sealed state of that name.", "sealed state"),
        ("@no_cycles_sought()", "no cycles sought"),
    ],
)
def test_an_old_word_is_found_in_sentences_and_names(line: str, word: str) -> None:
    assert [(2, word)] == [(found.line, found.word) for found in old_words(["", line])]


@pytest.mark.parametrize(
    "line",
    ['TOOL_MODES = ("replay", "sealed")', 'CHECKSUMS_FILE = "seal.json"', "it is revealed, and unsealable", "crossed"],
)
def test_the_tool_mode_stored_names_and_other_words_are_not(line: str) -> None:
    assert [] == list(old_words([line]))


def test_file_line_and_replacement_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in ("harness", "docs"):
        (tmp_path / folder).mkdir()
    (tmp_path / "docs" / "replay.md").write_text("# Replay\n\nPut it onto the tape.\n")
    assert 1 == main(tmp_path)
    assert "docs/replay.md:3: old word 'tape': write cassette\n" == capsys.readouterr().out


def test_the_project_uses_none() -> None:
    assert 0 == main(Path(__file__).parents[2])
