"""Classifies values by kind, and recognises texts that are always new: times, ids, tokens."""

import re

from harness.values import JsonValue

_NAMES: dict[type, str] = {
    bool: "boolean",
    int: "number",
    float: "number",
    str: "string",
    type(None): "null",
    dict: "object",
    list: "array",
}

_FORMATS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("date-time", re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.,]\d+)?)?( ?(Z|[+-]\d\d:?\d\d|UTC|GMT))?")),
    ("date", re.compile(r"\d{4}-\d\d-\d\d")),
    ("http-date", re.compile(r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT")),
    ("uuid", re.compile(r"[0-9a-fA-F]{8}-([0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}")),
    ("jwt", re.compile(r"eyJ[\w-]+\.[\w-]+\.[\w-]*")),
    ("epoch", re.compile(r"1[5-9]\d{8}(\d{3}){0,3}")),
    ("hex", re.compile(r"(?=.*\d)(?=.*[a-fA-F])[0-9a-fA-F]{16,}")),
    ("ulid", re.compile(r"[0-7][0-9A-HJKMNP-TV-Z]{25}")),
)
_INSIDE = re.compile(
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d([.,]\d+)?)?( ?(Z|[+-]\d\d:?\d\d|UTC|GMT))?"
    r"|[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
    r"|\b(?=[0-9a-fA-F]*\d)(?=\d*[a-fA-F])[0-9a-fA-F]{24,}\b"
    r"|\b1[5-9]\d{8}(?:\d{3})?(?:\.\d+)?\b"
    r"|\b\d+(?:\.\d+)? ?(?:ms|µs|us|s|seconds|milliseconds)\b"
)
_EPOCH_LOW, _EPOCH_HIGH = 1.4e9, 2.2e9

_VOLATILE_NAMES = frozenset(
    {
        "age",
        "correlationid",
        "cursor",
        "date",
        "duration",
        "durationms",
        "elapsed",
        "elapsedms",
        "etag",
        "expiresin",
        "generatedat",
        "latency",
        "latencyms",
        "nextcursor",
        "nextpagetoken",
        "nonce",
        "now",
        "pagetoken",
        "processingtime",
        "requestid",
        "responsetime",
        "sessionid",
        "spanid",
        "timestamp",
        "timetaken",
        "took",
        "traceid",
        "ts",
        "uptime",
    }
)
"""Whole names, without `_` and `-`: a part of a name is not evidence (`candidate` ends in `date`)."""


def kind_of(value: JsonValue) -> str:
    """The kind in terms of JSON Schema; integers and other numbers are one kind."""
    return _NAMES[type(value)]


def kind_of_type(kind: type) -> str:
    return _NAMES[kind]


def format_of(value: JsonValue) -> str | None:
    """The format of a text, or of a number that is a time; None: no known format."""
    if isinstance(value, str):
        return next((name for name, pattern in _FORMATS if pattern.fullmatch(value)), None)
    if isinstance(value, int | float) and not isinstance(value, bool):
        moment = value / 1000 if value > _EPOCH_HIGH else value
        return "epoch" if _EPOCH_LOW < moment < _EPOCH_HIGH else None
    return None


def is_volatile_name(name: str) -> bool:
    """Whether a member with that name has a new value in every answer."""
    return name.endswith(("_at", "At")) or name.replace("_", "").replace("-", "").lower() in _VOLATILE_NAMES


def masked(text: str) -> str:
    """The text without the times, ids and durations inside it."""
    return _INSIDE.sub("~", text)
