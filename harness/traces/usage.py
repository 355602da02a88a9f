"""Token counts in every dialect: one reader for the wires of models, for spans and for the files of other tools.

Most dialects count what was read from and written to a cache as part of the input, others beside it, under the same
names. The counts themselves decide: an input is not smaller than its parts, and a total is the sum of what it counts.
Else the name decides, or the interface that is known to use it. If nothing does, the input is unknown.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pydantic import JsonValue

from harness.traces.trajectory import Usage
from harness.values import JsonObject


@dataclass(frozen=True, kw_only=True)
class Used:
    """Token counts; `input` includes those that were read from and written to a cache, `output` those of reasoning.
    None if they are not reported, or cannot be told apart.
    """

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None

    def of_step(self, cost_usd: float | None = None) -> Usage | None:
        """The usage of a trajectory's step; None if nothing is known."""
        found = Usage(input_tokens=self.input, output_tokens=self.output, cost_usd=cost_usd)
        return None if found == Usage() else found


_KINDS: Final = (
    ("input", re.compile(r"(input|prompt)(_tokens?|_token_count)?")),
    ("output", re.compile(r"(output|completion|candidates|response)(_tokens?|_token_count)?")),
    ("total", re.compile(r"total(_tokens?|_token_count)?")),
    ("of_tools", re.compile(r"tool_use_prompt_token_count")),
    ("thoughts", re.compile(r"thoughts_token_count")),
    ("reasoning", re.compile(r".*reasoning.*")),
    (None, re.compile(r".*(miss|cost|discount|rate).*")),
    ("cache_write", re.compile(r".*cach.*(creat|writ).*")),
    ("cache_read", re.compile(r".*cach.*")),
)
"""The first that matches a whole name, in snake case, with dots between the levels."""
_INSIDE: Final = re.compile(r".*details.*|cache_(read|creation)\.input_tokens|(num_)?cached_.*|prompt_cache_hit_tokens")
"""Names of cached tokens that are defined as a part of the input."""
_SHARE: Final = re.compile(r"_[0-9]+[smhd]_")
"""In names of what was written for one time to live: such counts add up."""
_CAPITAL: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_DEEPEST: Final = 3


def usage_in(*reports: JsonObject, cache_beside: bool | None = None) -> Used:
    """What the reports of one reply say together; of a stream, all of its reports.

    The counts of a stream only grow: a later report that lacks one, or has less, takes nothing back. `cache_beside`:
    whether the interface counts cached tokens beside the input (Anthropic's) or in it; None: this is not known.
    """
    said: dict[str, int] = {}
    cached_inside = False
    for report in reports:
        shares: dict[str, int] = {}
        for name, count in _counts(report, "", _DEEPEST):
            kind = next((kind for kind, form in _KINDS if form.fullmatch(name)), None)
            if kind is not None:
                shares[kind] = shares.get(kind, 0) + (count if _SHARE.search(name) else 0)
                said[kind] = max(count, shares[kind], said.get(kind, 0))
                cached_inside |= kind.startswith("cache") and _INSIDE.fullmatch(name) is not None
    return _reconciled(said, False if cached_inside and cache_beside is None else cache_beside)


def _counts(report: JsonObject, before: str, levels: int) -> Iterator[tuple[str, int]]:
    for name, value in report.items():
        path = before + _CAPITAL.sub("_", name).lower()
        if isinstance(value, dict) and levels:
            yield from _counts(value, f"{path}.", levels - 1)
        count = count_of(value)
        if count is not None:
            yield path, count


def count_of(value: JsonValue) -> int | None:
    """A whole number that is not negative, also as text or as a float, in which some exporters write it."""
    if isinstance(value, str):
        return int(value) if value.isascii() and value.isdecimal() and len(value) < _LONGEST else None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < float("inf"):
        return None
    return int(value) if value == int(value) else None


_LONGEST: Final = 19


def _reconciled(said: dict[str, int], beside: bool | None) -> Used:
    """The counts in one convention: a total that is the sum of some of them shows what the others are part of."""
    cached = said.get("cache_read", 0) + said.get("cache_write", 0)
    thoughts, reasoning, total = said.get("thoughts"), said.get("reasoning", 0), said.get("total")
    taken = said["input"] + said.get("of_tools", 0) if "input" in said else None
    given = said.get("output") if thoughts is None else said.get("output", 0) + thoughts
    if taken is not None and cached:
        known = None if total is None or given is None else _beside_by_total(total - given, taken, cached, reasoning)
        beside = True if taken < cached else beside if known is None or beside else known
        taken = None if beside is None else taken + cached if beside else taken
    if total is not None:
        taken = total - given if taken is None and given is not None and total - given >= max(cached, 1) else taken
        given = total - taken if taken is not None and total >= taken + (given or 0) else given
    return Used(input=taken, output=given, cache_read=said.get("cache_read"), cache_write=said.get("cache_write"))


def _beside_by_total(rest: int, taken: int, cached: int, reasoning: int) -> bool | None:
    """Whether the rest of a total, without the output, counts cached tokens beside the input; None: neither fits."""
    for beside, sum_of_input in ((False, taken), (True, taken + cached)):
        if rest in (sum_of_input, sum_of_input + reasoning):
            return beside
    return None
