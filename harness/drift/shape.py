"""The shape of answers, path by path: kinds of values, how often a member was there, and which texts stood there.

Read column by column and not value by value, which is what makes big answers quick.
"""

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain

from harness.drift.kinds import kind_of_type
from harness.drift.paths import ANY, ITEM, member
from harness.frozen import JsonObject, JsonValue

_DATA_KEY = re.compile(r"[\d.,:-]+|\d{4}-\d\d.*|[0-9a-fA-F-]{16,}|/.+|[a-z]+://.+", re.DOTALL)
"""A key that is data, such as a date, an id, or a file's place: the object is a map."""
_MAP_SIZE = 20
_MOST_TEXTS = 8
_LONGEST_TEXT = 40


@dataclass(kw_only=True)
class Place:
    """What was seen at one path."""

    kinds: Counter[str] = field(default_factory=Counter)
    present: int = 0
    holders: int = 0
    """Objects that could have had it; of items and of the whole, as many as there were."""
    texts: Counter[str] | None = field(default_factory=Counter)
    """The texts, while they are few and short enough to be words of a fixed list; None: they are not."""

    @property
    def is_required(self) -> bool:
        return self.present == self.holders

    def add(self, other: "Place") -> None:
        self.kinds.update(other.kinds)
        self.present += other.present
        self.holders += other.holders
        if self.texts is not None and other.texts is not None and len({*self.texts, *other.texts}) <= _MOST_TEXTS:
            self.texts.update(other.texts)
        else:
            self.texts = None


Shape = dict[str, Place]


def shape_of(values: Sequence[JsonValue], maps: Collection[str] = ()) -> Shape:
    """The shape of all these values together; `maps`: paths whose objects are known to be maps."""
    shape: Shape = {}
    _fill(shape, "", list(values), len(values), maps)
    return shape


def merged(shapes: Sequence[Mapping[str, Place]]) -> Shape:
    """What all have together. A member that some of them lack was absent from the objects of those."""
    together: Shape = {}
    for shape in shapes:
        for path, place in shape.items():
            together.setdefault(path, Place()).add(place)
    for path, place in together.items():
        holder = together.get(_holder(path))
        if holder is not None and not path.endswith(ITEM) and not path.endswith(ANY):
            place.holders = max(place.holders, holder.kinds["object"])
    return together


def maps_of(shape: Mapping[str, Place]) -> set[str]:
    """The paths whose objects were read as maps."""
    return {_holder(path) for path in shape if path.endswith((f".{ANY}", ANY))}


def is_map(members: Sequence[JsonObject]) -> bool:
    """Whether the keys of these objects are data and not names."""
    keys = list(chain.from_iterable(members))
    if not keys:
        return False
    if all(map(_DATA_KEY.fullmatch, keys)):
        return True
    return any(len(one) >= _MAP_SIZE and len(set(map(type, one.values()))) == 1 for one in members)


def _holder(path: str) -> str:
    if path.endswith("']"):
        return path[: path.rindex("['")]
    return path.rpartition(".")[0]


def _fill(shape: Shape, path: str, column: list[JsonValue], holders: int, maps: Collection[str]) -> None:
    types = Counter(map(type, column))
    place = shape[path] = Place(present=len(column), holders=holders)
    for kind, count in types.items():
        place.kinds[kind_of_type(kind)] += count
    if str in types:
        place.texts = _words(column)
    if dict in types:
        _fill_members(shape, path, [one for one in column if isinstance(one, dict)], maps)
    if list in types:
        items = list(chain.from_iterable(one for one in column if isinstance(one, list)))
        if items:
            _fill(shape, f"{path}{ITEM}", items, len(items), maps)


def _fill_members(shape: Shape, path: str, objects: list[JsonObject], maps: Collection[str]) -> None:
    if path in maps or is_map(objects):
        values = [value for one in objects for value in one.values()]
        if values:
            _fill(shape, member(path, ANY), values, len(values), maps)
        return
    for name in sorted(set(chain.from_iterable(objects))):
        column = [one[name] for one in objects if name in one]
        _fill(shape, member(path, name), column, len(objects), maps)


def _words(column: list[JsonValue]) -> Counter[str] | None:
    found = Counter(one for one in column if isinstance(one, str))
    few = len(found) <= _MOST_TEXTS and all(len(text) <= _LONGEST_TEXT for text in found)
    return found if few else None
