"""Classifies objects of an answer as maps, whose keys are data, or records, whose keys are names.

The distinction decides what a missing key means: a record that loses one has lost a field, a map only contains other
data. In the order of authority: a rule of the suite (`compare: map`), a declared schema (MCP output schema, OpenAPI
response, `output:` of a tool), what earlier samples showed, and the keys themselves. The number of keys is no
criterion.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain

from harness.drift.comparing.declared import branches_of
from harness.drift.comparing.paths import ANY, ITEM, member
from harness.drift.comparing.rules import PathRules
from harness.results import holder_of
from harness.values import JsonObject, JsonValue

_DATA_KEY = re.compile(r"[\d.,:-]+|\d{4}-\d\d-\d\d.*|[0-9a-fA-F-]{16,}|/.+|[a-z]+://.+", re.DOTALL)
"""A key that is data by its form: a number, a date, an id, or a file's place."""
_SAMPLES = 3
_SHARED = 0.25
_GROWTH = 2.0
_LEAST_KEYS = 8
_DEEPEST = 8


@dataclass(frozen=True, kw_only=True)
class Forms:
    """What is known of the objects at some paths; other objects are classified by their keys."""

    maps: frozenset[str] = frozenset()
    records: frozenset[str] = frozenset()
    rules: PathRules = field(default_factory=lambda: PathRules(()))
    """The form that the suite declares; it overrides the other sources."""

    def are_maps(self, path: str, objects: Sequence[JsonObject]) -> bool:
        """Whether the keys of these objects, all found at `path`, are data."""
        if path in self.maps or self.rules.is_map(path):
            return True
        return path not in self.records and (_keys_are_data(objects) or _keys_vary(objects))

    def over(self, other: "Forms") -> "Forms":
        """Both combined; where they disagree, this one takes precedence."""
        return Forms(
            maps=self.maps | (other.maps - self.records),
            records=self.records | (other.records - self.maps),
            rules=self.rules,
        )


UNKNOWN = Forms()


def forms_seen(paths: Iterable[str]) -> Forms:
    """The forms in a shape with these paths: an object with a member `*` is a map, one with a named member a record."""
    maps, records = set[str](), set[str]()
    for path in paths:
        if path and not path.endswith(ITEM):
            (maps if path == ANY or path.endswith(f".{ANY}") else records).add(holder_of(path))
    return Forms(maps=frozenset(maps), records=frozenset(records - maps))


def declared_forms(schema: JsonObject, at: str = "") -> Forms:
    """The forms that a JSON Schema declares for the objects of the value at `at`; objects that it does not describe are
    left out.
    """
    found = list(_declared(schema, schema, at, 0))
    maps = frozenset(path for path, is_map in found if is_map)
    records = frozenset(path for path, is_map in found if not is_map)
    return Forms(maps=maps - records, records=records)


def _declared(schema: JsonObject, root: JsonObject, path: str, depth: int) -> Iterator[tuple[str, bool]]:
    if depth > _DEEPEST:
        return
    for branch in branches_of(schema, root):
        named, free = branch.get("properties"), _free_values(branch)
        if isinstance(named, dict) and named:
            yield path, False
            for name, inner in named.items():
                if isinstance(inner, dict):
                    yield from _declared(inner, root, member(path, name), depth + 1)
        elif free is not None:
            yield path, True
            yield from _declared(free, root, member(path, ANY), depth + 1)
        items = branch.get("items")
        if isinstance(items, dict):
            yield from _declared(items, root, f"{path}{ITEM}", depth + 1)


def _free_values(schema: JsonObject) -> JsonObject | None:
    """The schema of the values under any key; None where the schema does not declare free keys."""
    free: JsonValue = schema.get("additionalProperties")
    patterns = schema.get("patternProperties")
    if isinstance(patterns, dict) and patterns:
        free = next(iter(patterns.values()))
    if isinstance(free, dict):
        return free
    return {} if free is True and schema.get("type") == "object" else None


def _keys_are_data(objects: Sequence[JsonObject]) -> bool:
    keys = list(chain.from_iterable(objects))
    return bool(keys) and all(map(_DATA_KEY.fullmatch, keys))


def _keys_vary(objects: Sequence[JsonObject]) -> bool:
    """Whether several samples contain values of one kind under changing keys.

    A record repeats its names: at least two thirds of the objects contain most of them. Of a map, few keys are shared
    by all samples, and each further sample brings new ones.
    """
    filled = [one for one in objects if one]
    if len({frozenset(one) for one in filled}) < _SAMPLES:
        return False
    if len({type(value) for one in filled for value in one.values() if value is not None}) != 1:
        return False
    counts = Counter(chain.from_iterable(filled))
    usual = sum(map(len, filled)) / len(filled)
    shared = sum(1 for count in counts.values() if count == len(filled))
    return len(counts) >= max(_LEAST_KEYS, _GROWTH * usual) and shared <= _SHARED * usual
