"""Foreign names as names that a suite can hold, the same every time and never two for one."""

import re
from datetime import UTC, datetime

from harness.case import naming as case_naming
from harness.values import JsonValue, digest_of

case_id = case_naming.case_id
"""One rule for ids, wherever cases are read."""

_TOOL = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")
_LONGEST_TOOL = 64
_NANO = 1_000_000_000
_EPOCH_LIMIT = 253_402_300_800
"""Year 10000 in seconds: what is larger is written in milliseconds."""


def task_id(*told: JsonValue) -> str:
    """An id for a case that has none: equal tasks have equal ids, so that attempts at one are found together."""
    return f"task-{digest_of(list(told))[:10]}"


def is_tool_name(told: str) -> bool:
    return len(told) <= _LONGEST_TOOL and _TOOL.fullmatch(told) is not None


def trace_id(*told: JsonValue) -> str:
    """32 hexadecimal digits that stand for what was told."""
    return digest_of(list(told))[:32]


def wall_ns(told: JsonValue) -> int | None:
    """ISO 8601 text, or seconds (milliseconds) since the epoch, as nanoseconds; None where it is neither.

    A time without an offset is read as UTC.
    """
    match told:
        case str():
            return _iso_ns(told)
        case bool():
            return None
        case int() | float() if 0 < told < _EPOCH_LIMIT * 1000:
            return int(told * _NANO) if told < _EPOCH_LIMIT else int(told * 1_000_000)
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
