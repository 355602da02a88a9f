"""Files to be imported that unpack or parse to far more than they are: refused in words, within little memory."""

import bz2
import json
import lzma
import random
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from qa.soak.attacks.measuring import Measured, harness, python
from qa.soak.attacks.project import row_of
from qa.soak.rows import Row

PEAK_MB = 400
CPU_S = 30.0
_UNPACKED_MB = 400
_MB = 1 << 20
_READ_ALL = """\
import json, sys, zipfile
path = sys.argv[1]
def within(value):
    while isinstance(value, list) and len(value) == 1 or isinstance(value, dict):
        if isinstance(value, dict) and isinstance(value.get("arguments"), str):
            return json.loads(value["arguments"])
        inner = [one for one in (value.values() if isinstance(value, dict) else value) if isinstance(one, (list, dict))]
        value = inner[0] if inner else None
if zipfile.is_zipfile(path):
    with zipfile.ZipFile(path) as packed:
        read = [packed.read(name) for name in packed.namelist()]
        assert all(json.loads(text) is not None for text in read)
else:
    with open(path, encoding="utf-8") as file:
        assert all(within(json.loads(line)) != 0 for line in file)
"""
"""The control: a reader that trusts sizes, lines, values and texts that hold JSON."""


@dataclass(frozen=True, kw_only=True)
class Bomb:
    """A file, and the format that it is said to have."""

    format: str
    name: str
    write: Callable[[Path], None]


def _member(path: Path, content: bytes, method: int = zipfile.ZIP_DEFLATED) -> None:
    with zipfile.ZipFile(path, "w", method) as packed:
        packed.writestr("header.json", "{}")
        packed.writestr("samples/1.json", content)


def _lists(path: Path) -> None:
    _member(path, b'{"a":[' + b"[]," * (10 * _MB) + b"[]]}")


def _lying(path: Path, method: int, packed: bytes) -> None:
    """The directory of the archive says that the member is small, whatever it unpacks to."""
    name, said = b"header.json", _MB
    check = zlib.crc32(b"")
    fields = struct.pack("<HHHHHIIIHH", 20, 0, method, 0, 33, check, len(packed), said, len(name), 0)
    local = b"PK\3\4" + fields + name + packed
    directory = b"PK\1\2" + struct.pack("<H", 20) + fields + struct.pack("<HHHII", 0, 0, 0, 0, 0) + name
    end = b"PK\5\6" + struct.pack("<HHHHIIH", 0, 0, 1, 1, len(directory), len(local), 0)
    path.write_bytes(local + directory + end)


def _zeros(packer: "zlib._Compress | bz2.BZ2Compressor | lzma.LZMACompressor", mb: int) -> bytes:
    block = bytes(_MB)
    return b"".join([packer.compress(block) for _ in range(mb)]) + packer.flush()


def _lying_deflated(path: Path) -> None:
    _lying(path, zipfile.ZIP_DEFLATED, _zeros(zlib.compressobj(9, zlib.DEFLATED, -15), _UNPACKED_MB))


def _lying_bzip2(path: Path) -> None:
    _lying(path, zipfile.ZIP_BZIP2, _zeros(bz2.BZ2Compressor(), _UNPACKED_MB))


def _lying_lzma(path: Path) -> None:
    filters = [{"id": lzma.FILTER_LZMA1, "preset": 1}]
    properties = lzma._encode_filter_properties(filters[0])
    packed = _zeros(lzma.LZMACompressor(lzma.FORMAT_RAW, filters=filters), _UNPACKED_MB)
    _lying(path, zipfile.ZIP_LZMA, struct.pack("<BBH", 9, 4, len(properties)) + properties + packed)


def _write(path: Path, content: bytes) -> None:
    path.write_bytes(content)


def _text_of_values(opening: bytes, repeated: bytes, times: int, closing: bytes) -> Callable[[Path], None]:
    return lambda path: _write(path, opening + repeated * times + closing + b"\n")


BOMBS = {
    "zip, a ratio of 1,000": Bomb(format="inspect", name="a.eval", write=_lists),
    "zip, a size that is not true, deflate": Bomb(format="inspect", name="a.eval", write=_lying_deflated),
    "zip, a size that is not true, bzip2": Bomb(format="inspect", name="a.eval", write=_lying_bzip2),
    "zip, a size that is not true, LZMA": Bomb(format="inspect", name="a.eval", write=_lying_lzma),
    "a line of 220 MB": Bomb(
        format="otel", name="a.jsonl", write=_text_of_values(b'{"a":"', b"x", 220 * _MB, b'"}')
    ),
    "a first line of 8 M lists": Bomb(
        format="openai-chat", name="a.json", write=_text_of_values(b'{"a":[', b"[],", 8 * _MB, b'1]}\n{"a":1}')
    ),
    "a line of 8 M lists": Bomb(format="otel", name="a.jsonl", write=_text_of_values(b"[", b"[],", 8 * _MB, b"1]")),
    "a document of 8 M objects": Bomb(
        format="openai-chat", name="a.json", write=_text_of_values(b"[", b"{},", 8 * _MB, b"1]")
    ),
    "lists in a text, by escapes": Bomb(
        format="openai-chat",
        name="a.json",
        write=_text_of_values(
            b'[{"role":"assistant","content":"x","tool_calls":[{"id":"1","type":"function","function":'
            b'{"name":"f","arguments":"{\\"a\\":\\u005b',
            b"\\u005b\\u005d\\u002c",
            5 * _MB,
            b'1]}"}}]}]',
        ),
    ),
}  # fmt: skip


def rows(random: random.Random, scale: float) -> Iterator[Row]:
    names = list(BOMBS) if scale >= 0.1 else random.sample(list(BOMBS), 3)
    yield _bombs(names)


def _bombs(names: list[str]) -> Row:
    wrong, missing, most = [], [], 0.0
    for name in names:
        with tempfile.TemporaryDirectory(prefix="attacked-") as kept:
            folder, bomb = Path(kept), BOMBS[name]
            bomb.write(folder / bomb.name)
            done = harness("import", bomb.format, bomb.name, "--run-name", "r", folder=folder)
            most = max(most, done.peak_mb)
            if (problem := _harm(done)) is not None:
                wrong.append((name, problem))
            elif not done.ended_plainly:
                wrong.append((name, f"exit {done.status}: {done.printed[-200:]}"))
            naive = python(_READ_ALL, bomb.name, folder=folder)
            if _harm(naive) is None and "MemoryError" not in naive.printed:
                missing.append(f"{name}: a reader that trusts it takes {naive.peak_mb:.0f} MB, {naive.cpu_s:.0f} s")
    missing += _honest()
    return row_of("imported files: bombs", len(names), wrong, missing, said=f"at most {most:.0f} MB")


def _harm(done: Measured) -> str | None:
    if done.peak_mb > PEAK_MB or done.cpu_s > CPU_S:
        return f"{done.peak_mb:.0f} MB and {done.cpu_s:.0f} s of processor time"
    return None


def _honest() -> Iterator[str]:
    """An ordinary file of the formats is imported."""
    told = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Good morning."}]
    with tempfile.TemporaryDirectory(prefix="attacked-") as kept:
        folder = Path(kept)
        (folder / "a.json").write_text(json.dumps(told), encoding="utf-8")
        done = harness("import", "openai-chat", "a.json", "--run-name", "r", folder=folder)
        if done.status:
            yield f"an ordinary file: exit {done.status}: {done.printed[-200:]}"
