"""A profile of a tool's answers, learned from repeated requests: stored beside the cassettes, one file per tool.

    cassettes/<suite>/profiles/<tool>.json

It contains no values except words of fixed lists, ranges of numbers, and digests.
"""

from collections.abc import Iterable, Iterator
from datetime import date
from pathlib import Path
from urllib.parse import quote

from harness.documents import read_document, write_atomically
from harness.drift.comparing.paths import pointer_to
from harness.values import Frozen

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
    first: date
    last: date

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
    format: str | None = None
    """The format of its texts, where all have the same."""
    words: tuple[str, ...] | None = None
    """Its texts, where they are few and short."""
    low: float | None = None
    high: float | None = None
    ordered: bool | None = None
    """Whether a list keeps its order; None: unknown."""
    volatile: Volatility | None = None
    fleeting: int = 0
    """Sessions in which some answers to one call had it and others lacked it."""


class LatencySample(Frozen):
    """The response times of an operation in one session."""

    day: date
    calls: int
    p50_ms: float
    p95_ms: float


class OperationProfile(Frozen):
    """The learned variation of one operation."""

    samples: int = 0
    """The number of successful answers, including repeats."""
    days: tuple[date, ...] = ()
    """The last ten days on which it was sampled."""
    shaped_samples: int = 0
    """The number of samples whose shape was learned: `harness drift learn` does that, a probe does not."""
    shaped_days: tuple[date, ...] = ()
    first: date | None = None
    last: date | None = None
    accepted: date | None = None
    """The date on which a person accepted this behaviour."""
    paths: dict[str, PathProfile] = {}
    differing: dict[str, dict[str, str]] = {}
    """Call -> path -> digest of the last value, where it was not the recorded one."""
    latency: tuple[LatencySample, ...] = ()

    @property
    def is_settled(self) -> bool:
        """Whether a value that never changed can be considered stable."""
        return self.accepted is not None or _enough(self.samples, self.days)

    @property
    def knows_shape(self) -> bool:
        """Whether a member that is sometimes present can be considered optional."""
        return self.accepted is not None or _enough(self.shaped_samples, self.shaped_days)

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
    """The tool's profile; empty where nothing was learned. Raises InvalidDocument for a malformed file."""
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


def _enough(samples: int, days: tuple[date, ...]) -> bool:
    return samples >= SETTLED_SAMPLES and len(days) >= SETTLED_DAYS
