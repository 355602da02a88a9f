"""Segments of the journal as SQL: which of their lines are whole records, and what stands in them.

A line is `{...,"body":{...}}`. Only its head is parsed by DuckDB, whose parser needs many times a body's size for the
two thousand lines that it takes at once.
"""

import json
import os
from collections.abc import Sequence
from hashlib import md5
from pathlib import Path
from typing import Final

from harness.errors import ResultsError
from harness.online.record import COLUMNS

_LONGEST_LINE: Final = 32 << 20
"""Bytes; a record's texts have up to 2 MB characters, of which one takes up to twelve bytes."""
_BODY: Final = ',"body":'
"""Where a line's head ends; within a text, its quotation marks would be escaped."""


def journal_lines(paths: Sequence[Path]) -> str:
    """A subquery over journal segments that passes over what is not a record, such as a torn last line.

    DuckDB's own reader of JSON lines is not used: with `ignore_errors` it returns rows for broken lines.
    """
    shape = ", ".join(f'"{name}": "{kind}"' for name, kind in COLUMNS.items() if name != "body")
    names = ", ".join("body" if name == "body" else f"head.{name} AS {name}" for name in COLUMNS)
    listed = ", ".join("'" + str(path).replace("'", "''") + "'" for path in paths)
    lines = (
        f"read_csv([{listed}], header = false, auto_detect = false, delim = '\x01', quote = '', escape = '',"
        f" columns = {{line: 'VARCHAR'}}, max_line_size = {_LONGEST_LINE},"
        f" buffer_size = {_LONGEST_LINE + 1}, parallel = false)"
    )
    torn = ", ".join(f"'{digest}'" for digest in map(_torn_end, paths) if digest)
    whole = f"md5(line) NOT IN ({torn})" if torn else "true"
    at = f"strpos(line, '{_BODY}')"
    split = (
        f"SELECT left(line, {at} - 1) || '}}' AS head,"
        f" substr(line, {at} + {len(_BODY)}, length(line) - {at} - {len(_BODY)}) AS body"
        f" FROM {lines} WHERE {at} > 1 AND right(line, 2) = '}}}}' AND {whole}"
    )
    valid = "CASE WHEN json_valid(head) THEN head ELSE '{}' END"  # a filter would come too late
    return (
        f"(SELECT {names} FROM (SELECT json_transform({valid}, '{{{shape}}}') AS head, body FROM ({split}))"
        " WHERE head.id IS NOT NULL)"
    )


def check_readable(path: Path) -> None:
    """Raises ResultsError where a line of the segment cannot be read: the segment is kept."""
    lines = readable = 0
    with path.open("rb") as stream:
        for line in stream:
            if not line.endswith(b"\n"):
                break
            lines += 1
            readable += _is_record(line)
    if readable != lines:
        raise ResultsError(
            f"{path}: {readable} of {lines} records can be read; the segment is kept as it is",
            remedy="repair or remove the lines that are not JSON",
        )


def _is_record(line: bytes) -> bool:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        return False
    return isinstance(found, dict) and found.get("id") is not None and isinstance(found.get("body"), dict)


def _torn_end(path: Path) -> str:
    """A digest of what follows the last whole line; "" for nothing. A receiver may be writing it right now."""
    with path.open("rb") as stream:
        end = stream.seek(0, os.SEEK_END)
        start = end
        kept = b""
        while start and b"\n" not in kept:
            start = max(0, start - 65_536)
            stream.seek(start)
            kept = stream.read(end - start)
    torn = kept[kept.rfind(b"\n") + 1 :]
    return md5(torn, usedforsecurity=False).hexdigest() if torn else ""
