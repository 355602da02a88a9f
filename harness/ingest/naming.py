"""Converts foreign names to names that are valid in a suite; deterministic and without collisions."""

import re
from datetime import UTC, datetime

from harness.case import naming as case_naming
from harness.values import JsonValue, digest_of

case_id = case_naming.case_id
"""The rule for ids, shared with the reader of cases."""

_TOOL = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")
_LONGEST_TOOL = 64
_NANO = 1_000_000_000
_EPOCH_LIMIT = 253_402_300_800
"""Year 10000 in seconds: a larger value is in milliseconds."""


def task_id(*raw: JsonValue) -> str:
    """An id for a case that has none: equal tasks have equal ids, so that attempts at one are found together."""
    return f"task-{digest_of(list(raw))[:10]}"


def is_tool_name(raw: str) -> bool:
    return len(raw) <= _LONGEST_TOOL and _TOOL.fullmatch(raw) is not None


def trace_id(*raw: JsonValue) -> str:
    """32 hexadecimal digits derived from the arguments."""
    return digest_of(list(raw))[:32]


def wall_ns(raw: JsonValue) -> int | None:
    """ISO 8601 text, or seconds (milliseconds) since the epoch, as nanoseconds; None where it is neither.

    A time without an offset is read as UTC.
    """
    match raw:
        case str():
            return _iso_ns(raw)
        case bool():
            return None
        case int() | float() if 0 < raw < _EPOCH_LIMIT * 1000:
            return int(raw * _NANO) if raw < _EPOCH_LIMIT else int(raw * 1_000_000)
        case _:
            return None


def _iso_ns(text: str) -> int | None:
    whole = re.fullmatch(r"([^.,]+)(?:[.,](\d{1,9})\d*)?(Z|[+-]\d{2}:?\d{2})?", text.strip())
    if whole is None:
        return None
    try:
        moment = datetime.fromisoformat(whole[1] + (whole[3] or "").replace("Z", "+00:00"))
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        seconds = int(aware.timestamp())
    except (ValueError, OverflowError, OSError):
        return None
    return seconds * _NANO + int((whole[2] or "0").ljust(9, "0"))
