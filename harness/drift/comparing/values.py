"""Compares values that both answers have: paths with another value, another order, more or fewer items.

Values in only one answer, or of another kind, are differences of shape and not examined here.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Literal

from harness.case import AnswerRule
from harness.drift.comparing.forms import UNKNOWN, Forms
from harness.drift.comparing.kinds import kind_of, masked
from harness.drift.comparing.paths import ANY, ITEM, member
from harness.drift.comparing.rules import PathRules
from harness.validation import fits
from harness.values import JsonObject, JsonValue

_IDENTITIES = ("id", "uuid", "_id", "key", "name", "code", "slug", "sku", "path", "url", "title")
_SMALLEST = 1e-9

What = Literal["value", "order", "empty"]
_Row = tuple[JsonValue, JsonValue, JsonValue, JsonValue]
"""Old value, new value, and the objects that hold them."""


@dataclass(frozen=True, kw_only=True)
class ValueDifference:
    """One path at which two answers differ, with one example."""

    path: str
    what: What
    old: JsonValue
    new: JsonValue
    old_holder: JsonValue = None
    new_holder: JsonValue = None


def unlike(old: JsonValue, new: JsonValue, rules: PathRules, forms: Forms = UNKNOWN) -> tuple[ValueDifference, ...]:
    """Each path and manner once, in the order of paths."""
    found: dict[tuple[str, What], ValueDifference] = {}
    for one in _column("", [(old, new, None, None)], rules, forms):
        found.setdefault((one.path, one.what), one)
    return tuple(found[at] for at in sorted(found))


def _column(path: str, rows: list[_Row], rules: PathRules, forms: Forms) -> Iterator[ValueDifference]:
    """All pairs at one path."""
    rule = rules.at(path)
    if rule is not None and rule.compare in {"ignore", "type"}:
        return
    objects: list[tuple[JsonObject, JsonObject]] = []
    items: list[_Row] = []
    shown = False  # one example for each path is enough
    for row in rows:
        old, new = row[0], row[1]
        if isinstance(old, dict) and isinstance(new, dict):
            objects.append((old, new))
        elif isinstance(old, list) and isinstance(new, list):
            yield from _lists(path, row, rule, items)
        elif not shown and not _same(old, new, rule):
            shown = True
            yield ValueDifference(path=path, what="value", old=old, new=new, old_holder=row[2], new_holder=row[3])
    if objects:
        yield from _members(path, objects, rules, forms)
    if items:
        yield from _column(f"{path}{ITEM}", items, rules, forms)


def _members(
    path: str, pairs: list[tuple[JsonObject, JsonObject]], rules: PathRules, forms: Forms
) -> Iterator[ValueDifference]:
    if forms.are_maps(path, [old for old, _ in pairs]):
        rows: list[_Row] = []
        for old, new in pairs:
            if old.keys() != new.keys():
                yield ValueDifference(path=path, what="value", old=list(old), new=list(new))
            rows += [(old[name], new[name], old, new) for name in old if name in new and old[name] != new[name]]
        if rows:
            yield from _column(member(path, ANY), rows, rules, forms)
        return
    names = {name for old, _ in pairs for name in old}
    for name in sorted(names):
        column: list[_Row] = [
            (old[name], new[name], old, new)
            for old, new in pairs
            if name in old and name in new and old[name] != new[name]
        ]
        if column:
            yield from _column(member(path, name), column, rules, forms)


def _lists(path: str, row: _Row, rule: AnswerRule | None, items: list[_Row]) -> Iterator[ValueDifference]:
    """Finds the differences of the list itself; appends the pairs of its items to `items`."""
    old, new = row[0], row[1]
    assert isinstance(old, list)  # the caller has checked it
    assert isinstance(new, list)
    if not old or not new:
        if old or new:
            yield ValueDifference(path=path, what="empty", old=old, new=new, old_holder=row[2], new_holder=row[3])
        return
    identity = _identity(old, new, rule)
    pairs, reordered, regrouped = _by_identity(old, new, identity) if identity else _by_place(old, new, rule)
    items += [(one, other, one, other) for one, other in pairs if one != other]
    if regrouped:
        yield ValueDifference(path=path, what="value", old=old, new=new, old_holder=row[2], new_holder=row[3])
    elif reordered and (rule is None or rule.compare != "set"):
        yield ValueDifference(path=path, what="order", old=old, new=new, old_holder=row[2], new_holder=row[3])


_Pairs = tuple[list[tuple[JsonValue, JsonValue]], bool, bool]
"""The pairs of items; whether their order differs; whether there are more, fewer or other items."""


def _by_identity(old: list[JsonValue], new: list[JsonValue], name: Callable[[JsonValue], object]) -> _Pairs:
    before, after = {name(one): one for one in old}, {name(one): one for one in new}
    kept = [one for one in before if one in after]
    pairs = [(before[one], after[one]) for one in kept]
    return pairs, kept != [one for one in after if one in before], before.keys() != after.keys()


def _by_place(old: list[JsonValue], new: list[JsonValue], rule: AnswerRule | None) -> _Pairs:
    regrouped = len(old) != len(new)
    if not regrouped and old != new:
        if _counted(old) == _counted(new):
            return [], True, False
        scalars = not any(isinstance(one, dict | list) for one in (*old, *new))
        if scalars and rule is not None and rule.compare == "set":
            return [], False, True
    return list(zip(old, new, strict=False)), False, regrouped


def _counted(items: list[JsonValue]) -> Counter[str]:
    return Counter(json.dumps(item, sort_keys=True) for item in items)


def _identity(
    old: list[JsonValue], new: list[JsonValue], rule: AnswerRule | None
) -> Callable[[JsonValue], object] | None:
    """A function that returns the identity of an item of both lists; None where only positions identify items."""
    names = (rule.key,) if rule is not None and rule.key is not None else _IDENTITIES
    for name in names:
        before, after = _names(old, name), _names(new, name)
        if before and after and (len(before & after) * 2 >= min(len(before), len(after)) or len(names) == 1):
            return lambda item, name=name: item.get(name) if isinstance(item, dict) else None  # type: ignore[misc]  # of a default
    return None


def _names(items: list[JsonValue], name: str) -> set[object]:
    """The items' names; empty where they are not unique."""
    named = [one.get(name) if isinstance(one, dict) else None for one in items]
    if not all(isinstance(one, str | int) for one in named):
        return set()
    found: set[object] = set(named)
    return found if len(found) == len(items) else set()


def _same(old: JsonValue, new: JsonValue, rule: AnswerRule | None) -> bool:
    if rule is not None and rule.pattern is not None:
        return isinstance(new, str) and fits(rule.pattern, new, field=f"drift: the rule at {rule.at!r}: pattern")
    if kind_of(old) != kind_of(new):
        return False
    if isinstance(old, str) and isinstance(new, str):
        return old == new or masked(old) == masked(new)
    if isinstance(old, int | float) and isinstance(new, int | float):
        return _same_number(old, new, None if rule is None else rule.tolerance)
    return old == new


def _same_number(old: float, new: float, tolerance: float | None) -> bool:
    if tolerance is not None:
        return abs(old - new) <= tolerance
    if isinstance(old, int) and isinstance(new, int):
        return old == new  # a large number may be an id, and its neighbour another id
    return math.isclose(old, new, rel_tol=_SMALLEST, abs_tol=_SMALLEST)
