"""Small files that unpack or parse to gigabytes are refused by name of file and limit, before they take the memory."""

import os
import resource
import zipfile
from pathlib import Path

import pytest
from backports.zstd import zipfile as zstd_zipfile

from harness.errors import InvalidDocument
from harness.runs.foreign_runs import import_file
from harness.traces import foreign_json as reading
from harness.traces.foreign_json import parse_json, read_lines
from harness.traces.formats.inspect_log import LogArchive

ZSTD = zstd_zipfile.ZIP_ZSTANDARD


def peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def archive(path: Path, content: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("header.json", "{}")
        packed.writestr("samples/1.json", content)
    return path


def test_a_member_that_unpacks_to_far_more_than_it_takes_is_refused(tmp_path: Path) -> None:
    path = archive(tmp_path / "bomb.eval", b'{"a": [' + b"[]," * 20_000_000 + b"[]]}")
    assert path.stat().st_size < 200_000
    before = peak_mb()
    with LogArchive(path) as log, pytest.raises(InvalidDocument) as caught:
        list(log.samples())
    assert "250" in str(caught.value)
    assert "samples/1.json" in str(caught.value)
    assert peak_mb() - before < 100


@pytest.mark.parametrize(
    "method",
    [
        zipfile.ZIP_DEFLATED,
        ZSTD,
        *(pytest.param(one, marks=pytest.mark.slow) for one in (zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)),
    ],
)
def test_a_member_whose_told_size_is_not_true_is_not_unpacked(tmp_path: Path, method: int) -> None:
    """The size that an archive tells of a member is bounded; what its bytes unpack to was not."""
    path = tmp_path / "lying.eval"
    with zstd_zipfile.ZipFile(path, "w", method) as packed:
        packed.writestr("header.json", bytes(100 << 20))
    content = bytearray(path.read_bytes())
    for signature, place in ((b"PK\1\2", 24), (b"PK\3\4", 22)):
        at = content.rindex(signature) + place
        content[at : at + 4] = (1000).to_bytes(4, "little")
    path.write_bytes(content)
    before = peak_mb()
    with LogArchive(path) as log, pytest.raises(InvalidDocument):
        log.header()
    assert peak_mb() - before < 50


def test_json_in_a_text_is_bounded_whatever_spelling_its_brackets_have(tmp_path: Path) -> None:
    text = "[" + "[]," * reading.MAX_VALUES + "1]"
    before = peak_mb()
    assert None is reading.embedded_json(text)
    assert peak_mb() - before < 100


def test_a_pipe_is_refused(tmp_path: Path) -> None:
    """Reading it would wait for somebody who writes to it."""
    os.mkfifo(tmp_path / "pipe.json")
    with pytest.raises(InvalidDocument, match=r"pipe\.json"):
        import_file("openai-chat", tmp_path / "pipe.json")


def test_a_member_of_an_ordinary_size_is_read(tmp_path: Path) -> None:
    path = archive(tmp_path / "log.eval", b'{"a": [' + b"1," * 1000 + b"1]}")
    with LogArchive(path) as log:
        assert [1001] == [len(sample.data["a"]) for sample in log.samples()]


def test_a_text_of_too_many_values_is_refused_before_it_is_read() -> None:
    text = "[" + "[]," * reading.MAX_VALUES + "1]"
    before = peak_mb()
    with pytest.raises(InvalidDocument) as caught:
        parse_json(Path("many.json"), text)
    assert str(reading.MAX_VALUES) in str(caught.value)
    assert peak_mb() - before < 100


def test_a_line_that_is_too_long_is_refused_with_its_number(tmp_path: Path) -> None:
    path = tmp_path / "long.jsonl"
    with path.open("wb") as stream:
        stream.write(b'{"a": 1}\n')
        stream.seek(reading.MAX_LINE_BYTES + 100, 1)
        stream.write(b"x\n")
    lines = read_lines(path)
    assert (1, {"a": 1}) == next(lines)
    with pytest.raises(InvalidDocument) as caught:
        next(lines)
    assert 2 == caught.value.line
    assert str(reading.MAX_LINE_BYTES) in str(caught.value)
