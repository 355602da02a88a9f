"""The rows of a service's dump: statements that insert one, lines of a COPY block, elements of a JSON document's lists.

A dump has the service's own format; unrecognised text has no rows, and stays unchanged.
"""

import json
import re
from collections.abc import Collection, Iterator
from pathlib import PurePosixPath

from harness.values import JsonValue

_INSERT = re.compile(rb"INSERT INTO ", re.IGNORECASE)
_COPY = re.compile(rb"COPY .* FROM stdin;\s*$", re.IGNORECASE)
_END_OF_COPY = b"\\."


def row_count(dump: bytes, file: str) -> int:
    """The number of rows in a dump with that file name."""
    if _is_json(file):
        return sum(1 for _ in _places(_value(dump), ()))
    return sum(is_row for _, is_row in _pieces(dump))


def without_rows(dump: bytes, file: str, left_out: Collection[int]) -> bytes:
    """The dump without some of its rows, which are counted from 0 in their order."""
    if not left_out:
        return dump
    if _is_json(file):
        return _json_without(_value(dump), left_out)
    kept: list[bytes] = []
    number = 0
    for piece, is_row in _pieces(dump):
        if not (is_row and number in left_out):
            kept.append(piece)
        number += is_row
    return b"".join(kept)


def _pieces(dump: bytes) -> Iterator[tuple[bytes, bool]]:
    """The dump cut into pieces, each with whether it is a row."""
    lines = iter(dump.splitlines(keepends=True))
    in_copy = False
    for line in lines:
        if in_copy:
            in_copy = line.rstrip(b"\r\n") != _END_OF_COPY
            yield line, in_copy
        elif _INSERT.match(line):
            statement = line
            while not _is_whole(statement):  # a text that contains line ends
                more = next(lines, None)
                if more is None:
                    break
                statement += more
            yield statement, True
        else:
            in_copy = _COPY.match(line) is not None
            yield line, False


def _is_whole(statement: bytes) -> bool:
    return statement.rstrip().endswith(b";") and statement.count(b"'") % 2 == 0


def _is_json(file: str) -> bool:
    return PurePosixPath(file).suffix == ".json"


def _value(dump: bytes) -> JsonValue:
    try:
        value: JsonValue = json.loads(dump)
    except ValueError:
        return None
    return value


def _places(value: JsonValue, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    """The elements of the outermost lists."""
    match value:
        case list():
            yield from ((*path, index) for index in range(len(value)))
        case dict():
            for name, inner in value.items():
                yield from _places(inner, (*path, name))
        case _:
            return


def _json_without(value: JsonValue, left_out: Collection[int]) -> bytes:
    places = [place for number, place in enumerate(_places(value, ())) if number in left_out]
    for *above, index in reversed(places):  # starting with the last, so that the others keep their index
        inner = value
        for name in above:
            assert isinstance(inner, dict)  # the outermost lists are in objects only
            inner = inner[str(name)]
        assert isinstance(inner, list)
        assert isinstance(index, int)
        del inner[index]
    return json.dumps(value, indent=1, ensure_ascii=False).encode()
