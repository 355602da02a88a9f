"""The shape of answers by path: kinds of values, how often a member was present, and which texts occurred.

Values are read by column and not one by one, which makes large answers fast.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

from harness.drift.comparing.forms import UNKNOWN, Forms
from harness.drift.comparing.kinds import kind_of_type
from harness.drift.comparing.paths import ANY, ITEM, member
from harness.values import JsonObject, JsonValue

_MOST_TEXTS = 8
_LONGEST_TEXT = 40


@dataclass(kw_only=True)
class PathShape:
    """The observations at one path."""

    kinds: Counter[str] = field(default_factory=Counter)
    present: int = 0
    holders: int = 0
    """The number of objects that could have had it; for items and the whole answer, their own number."""
    texts: Counter[str] | None = field(default_factory=Counter)
    """The texts, as long as they are few and short enough for an enum; None: they are not."""

    @property
    def is_required(self) -> bool:
        return self.present == self.holders


Shape = dict[str, PathShape]


def shape_of(values: Sequence[JsonValue], forms: Forms = UNKNOWN) -> Shape:
    """The common shape of all these values; `forms`: the known forms of their objects."""
    shape: Shape = {}
    _fill(shape, "", list(values), len(values), forms)
    return shape


def _fill(shape: Shape, path: str, column: list[JsonValue], holders: int, forms: Forms) -> None:
    types = Counter(map(type, column))
    place = shape[path] = PathShape(present=len(column), holders=holders)
    for kind, count in types.items():
        place.kinds[kind_of_type(kind)] += count
    if str in types:
        place.texts = _words(column)
    if dict in types:
        _fill_members(shape, path, [one for one in column if isinstance(one, dict)], forms)
    if list in types:
        items = list(chain.from_iterable(one for one in column if isinstance(one, list)))
        if items:
            _fill(shape, f"{path}{ITEM}", items, len(items), forms)


def _fill_members(shape: Shape, path: str, objects: list[JsonObject], forms: Forms) -> None:
    if forms.are_maps(path, objects):
        values = [value for one in objects for value in one.values()]
        if values:
            _fill(shape, member(path, ANY), values, len(values), forms)
        return
    for name in sorted(set(chain.from_iterable(objects))):
        column = [one[name] for one in objects if name in one]
        _fill(shape, member(path, name), column, len(objects), forms)


def _words(column: list[JsonValue]) -> Counter[str] | None:
    found = Counter(one for one in column if isinstance(one, str))
    few = len(found) <= _MOST_TEXTS and all(len(text) <= _LONGEST_TEXT for text in found)
    return found if few else None
