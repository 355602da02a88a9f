"""The differences of two JSON values, place by place."""

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

from pydantic import JsonValue


class Difference(NamedTuple):
    """One place in which two JSON values differ."""

    path: tuple[str | int, ...]
    """Members and list indexes from the root."""
    before: JsonValue
    after: JsonValue
    kind: Literal["value", "added", "removed", "length"]
    """`added`, `removed`: a member of an object. `length`: the numbers of items of two lists."""


def differences(before: JsonValue, after: JsonValue, path: tuple[str | int, ...] = ()) -> Iterator[Difference]:
    """Every difference, in a fixed order. True is not 1. The items that two lists have in common are compared too."""
    match before, after:
        case dict(), dict():
            for name in sorted({*before, *after}):
                if name in before and name in after:
                    yield from differences(before[name], after[name], (*path, name))
                else:
                    kind: Literal["added", "removed"] = "removed" if name in before else "added"
                    yield Difference((*path, name), before.get(name), after.get(name), kind)
        case list(), list():
            for index, (old, new) in enumerate(zip(before, after, strict=False)):
                yield from differences(old, new, (*path, index))
            if len(before) != len(after):
                yield Difference(path, len(before), len(after), "length")
        case _:
            if before != after or isinstance(before, bool) != isinstance(after, bool):
                yield Difference(path, before, after, "value")


def path_text(path: Iterable[str | int]) -> str:
    """The path behind the name of the whole value: `.lines[2].id`."""
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in path)
