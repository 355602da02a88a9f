"""Deletion of sessions and users: first hidden from every reader, then removed from the files.

A deletion is a small file of digests, so that what is deleted does not live on in the list of what was deleted. It
covers what was received up to its time; the same session may begin again afterwards.
"""

import hashlib
import json
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from harness.documents import write_atomically
from harness.errors import ResultsError

_DIGITS: Final = 40
_APPLIED: Final = ".applied.json"


def trace_digest(source: str, trace_id: str) -> str:
    """The digest that a deletion names a trace by."""
    return hashlib.sha256(f"{source}|{trace_id}".encode()).hexdigest()[:_DIGITS]


def write_deletion(folder: Path, last_segment: int, traces: Iterable[tuple[str, str]]) -> Path:
    """Hides the records of traces, given as (source, trace id), that were received until now.

    `last_segment`: the newest of the journal; when all up to it are parts, no file can hold the records any more.
    """
    now_ns = time.time_ns()
    digests = sorted({trace_digest(*trace) for trace in traces})
    path = folder / f"{now_ns}.json"
    write_atomically(
        path, (json.dumps({"until_ns": now_ns, "segment": last_segment, "traces": digests}) + "\n").encode()
    )
    return path


def deletions(folder: Path) -> list[tuple[int, list[str]]]:
    """(received until, digests) of every deletion that the files may still contain."""
    found: list[tuple[int, list[str]]] = []
    for path in sorted(folder.glob("*.json")):
        try:
            document = json.loads(path.read_bytes())
            found.append(
                (int(document["until_ns"]), [digest for digest in map(str, document["traces"]) if digest.isalnum()])
            )
        except (ValueError, KeyError, TypeError) as error:
            raise ResultsError(f"{path}: is not a list of deletions: {error}") from None
    return found


def forget_deletions(folder: Path, oldest_segment: int | None) -> None:
    """Drops the deletions that were applied to all parts, and whose segments are parts; None: the journal is empty."""
    for path in folder.glob(f"*{_APPLIED}"):
        segment = json.loads(path.read_bytes()).get("segment", 0)
        if oldest_segment is None or oldest_segment > segment:
            path.unlink(missing_ok=True)


def pending_deletions(folder: Path) -> list[Path]:
    """Those that were not applied to the existing parts yet."""
    return sorted(path for path in folder.glob("*.json") if not path.name.endswith(_APPLIED))


def mark_applied(paths: Iterable[Path]) -> None:
    """States that every part was written without what these deleted."""
    for path in paths:
        path.replace(path.with_name(path.name.removesuffix(".json") + _APPLIED))


def deletion_filter(folder: Path) -> str:
    """An SQL condition that holds for what is not deleted."""
    conditions = []
    for until_ns, digests in deletions(folder):
        listed = ", ".join(f"'{digest}'" for digest in digests)
        if listed:
            name = f"left(sha256(source || '|' || trace_id), {_DIGITS})"
            conditions.append(f"NOT (received_ns <= {until_ns} AND {name} IN ({listed}))")
    return " AND ".join(conditions) or "true"
