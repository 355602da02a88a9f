"""Profiles of tools' answers, learned from repeated requests: which paths of an answer change by themselves."""

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from pathlib import Path
from urllib.parse import quote

from pydantic import JsonValue

from harness.disk import write_atomically
from harness.suite.documents import read_document
from harness.values import Frozen

# Paths into an answer: `items[].price`, where `[]` is any index and `*` any key of a map; empty for the whole answer.

_PLAIN = re.compile(r"[A-Za-z_$@][A-Za-z0-9_$@-]*")
_PART = re.compile(r"\[\]|\['((?:[^'\\]|\\.)*)'\]|\.?(\*|[A-Za-z_$@][A-Za-z0-9_$@-]*)")
ITEM = "[]"
ANY = "*"


def member(path: str, name: str) -> str:
    """The path of an object's member."""
    if name == ANY or _PLAIN.fullmatch(name):
        return f"{path}.{name}" if path else name
    quoted = name.replace("\\", "\\\\").replace("'", "\\'")
    return f"{path}['{quoted}']"


def parts_of(path: str) -> list[str]:
    """`[]` for an item, `*` for any key, or a member's name."""
    parts: list[str] = []
    for found in _PART.finditer(path):
        if found[0] == ITEM:
            parts.append(ITEM)
        elif found[2] is not None:
            parts.append(found[2])
        else:
            parts.append(re.sub(r"\\(.)", r"\1", found[1] or ""))
    return parts


def pointer_to(path: str) -> str:
    """The path as a JSON pointer; any item and any key is `*`."""
    named = ("*" if part == ITEM else part.replace("~", "~0").replace("/", "~1") for part in parts_of(path))
    return "".join(f"/{part}" for part in named)


def lies_below(path: str, above: str) -> bool:
    """Whether `path` is a part of the value at `above`."""
    return path != above and (not above or path.startswith((f"{above}.", f"{above}[")))


def found_at(value: JsonValue, path: str) -> Iterator[tuple[JsonValue, JsonValue]]:
    """Every value at the path, each with the object or list that contains it."""
    yield from _values_and_holders(value, None, parts_of(path))


def _values_and_holders(
    value: JsonValue, holder: JsonValue, parts: Sequence[str]
) -> Iterator[tuple[JsonValue, JsonValue]]:
    if not parts:
        yield value, holder
        return
    match value:
        case list() if parts[0] == ITEM:
            for item in value:
                yield from _values_and_holders(item, value, parts[1:])
        case dict() if parts[0] in value:
            yield from _values_and_holders(value[parts[0]], value, parts[1:])
        case dict() if parts[0] == ANY:
            for item in value.values():
                yield from _values_and_holders(item, value, parts[1:])
        case _:
            pass


# A profile of a tool's answers, learned from repeated requests: stored beside the cassettes, one file per tool.
#
#     cassettes/<suite>/profiles/<tool>.json
#
# It contains no values except words of fixed lists, and digests.

FOLDER = "profiles"
FORMAT = 1
SETTLED_SAMPLES = 3
SETTLED_DAYS = 2
"""Repeated samples at one time find request ids; prices, counters and dates need days."""


class Volatility(Frozen):
    """How a path was observed to change without a write."""

    sittings: int = 0
    """Sessions in which answers at nearly the same time differed."""
    moves: int = 0
    """Sessions whose value differed from the previous and from the recorded one."""
    changes: int = 0
    """The number of sessions in which the value left the recorded one, or returned to it."""

    @property
    def is_sure(self) -> bool:
        """Whether the value is certainly noise: a lasting change is not, and neither is one that is reverted, deployed
        again and reverted.
        """
        return self.sittings >= 1 or self.moves >= 1 or self.changes > 4


class PathProfile(Frozen):
    """One path in an operation's successful answers."""

    kinds: dict[str, int] = {}
    present: int = 0
    holders: int = 0
    """The number of objects that could have had it."""
    words: tuple[str, ...] | None = None
    """Its texts, if they are few and short."""
    volatile: Volatility | None = None
    fleeting: int = 0
    """Sessions in which some answers to one call had it and others lacked it."""


class OperationProfile(Frozen):
    """The learned variation of one operation."""

    samples: int = 0
    """The number of successful answers, including repeats."""
    days: tuple[date, ...] = ()
    """The last ten days on which it was sampled."""
    shaped_samples: int = 0
    """The number of samples whose shape was learned: `harness drift learn` does that, a probe does not."""
    shaped_days: tuple[date, ...] = ()
    accepted: date | None = None
    """The date on which a person accepted this behaviour."""
    paths: dict[str, PathProfile] = {}
    differing: dict[str, dict[str, str]] = {}
    """Call -> path -> digest of the last value, if it was not the recorded one."""

    @property
    def is_settled(self) -> bool:
        """Whether a value that never changed can be considered stable."""
        return self.accepted is not None or _is_settled(self.samples, self.days)

    @property
    def knows_shape(self) -> bool:
        """Whether a member that is sometimes present can be considered optional."""
        return self.accepted is not None or _is_settled(self.shaped_samples, self.shaped_days)

    def volatile_paths(self) -> Iterator[str]:
        """The paths whose values are volatile."""
        for path, profile in self.paths.items():
            if profile.volatile is not None and profile.volatile.is_sure:
                yield path

    def fleeting_paths(self) -> Iterator[str]:
        """Members that are sometimes present."""
        if self.knows_shape:
            yield from (path for path, profile in self.paths.items() if profile.fleeting)


class ToolProfile(Frozen):
    """The content of a profile file."""

    format: int = FORMAT
    tool: str
    operations: dict[str, OperationProfile] = {}


def profile_path(cassettes: Path, suite: str, tool: str) -> Path:
    return cassettes / suite / FOLDER / f"{quote(tool, safe=' ')}.json"


def read_profile(cassettes: Path, suite: str, tool: str) -> ToolProfile:
    """The tool's profile; empty when nothing was learned. Raises InvalidDocument for a malformed file."""
    path = profile_path(cassettes, suite, tool)
    return read_document(path, ToolProfile) if path.is_file() else ToolProfile(tool=tool)


def learned_volatile(cassettes: Path, suite: str, tools: Iterable[str]) -> dict[str, tuple[str, ...]]:
    """Tool -> JSON pointers to the values in its answers that are known to change by themselves. Raises InvalidDocument
    for a file that is not a profile.
    """
    profiles = {tool: read_profile(cassettes, suite, tool) for tool in tools}
    found = {tool: profile.operations.get(tool, OperationProfile()) for tool, profile in profiles.items()}
    return {tool: tuple(pointer_to(path) for path in one.volatile_paths() if path) for tool, one in found.items()}


def write_profile(cassettes: Path, suite: str, profile: ToolProfile) -> Path:
    path = profile_path(cassettes, suite, profile.tool)
    write_atomically(path, (profile.model_dump_json(indent=1, exclude_defaults=True) + "\n").encode())
    return path


def _is_settled(samples: int, days: tuple[date, ...]) -> bool:
    return samples >= SETTLED_SAMPLES and len(days) >= SETTLED_DAYS
