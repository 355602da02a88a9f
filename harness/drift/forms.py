"""What is at a path of an answer: a map or a record, the kind of a value, what a schema or a rule says of it."""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from itertools import chain

from pydantic import JsonValue

from harness.cassettes.profiles import ANY, ITEM, found_at, member, parts_of
from harness.runs.store.drift_report import holder_of
from harness.suite.suites import AnswerRule, Suite
from harness.suite.tools import pointer_parts
from harness.values import JsonObject, canonical_json

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


_LIMITS = (
    "const",
    "exclusiveMaximum",
    "exclusiveMinimum",
    "format",
    "maxItems",
    "maxLength",
    "maximum",
    "minItems",
    "minLength",
    "minimum",
    "pattern",
)
_ANYTHING = frozenset({"anything"})


@dataclass(frozen=True, kw_only=True)
class Declared:
    """One place of a schema."""

    kinds: frozenset[str]
    required: bool
    words: str
    """Kinds, and whether an enum or limits narrow them; no values."""
    choices: frozenset[str] | None
    """The enum, each value as JSON; None: the schema has none."""
    limits: str
    schema: JsonObject

    def fits_into(self, other: "Declared") -> bool:
        """Whether all values valid here are valid in `other`, as far as kinds, enums and limits show."""
        wider = other.kinds == _ANYTHING or self.kinds <= other.kinds
        listed = other.choices is None or (self.choices is not None and self.choices <= other.choices)
        return wider and listed and other.limits in ("", self.limits)


def declared_in(schema: JsonObject, path: str) -> dict[str, Declared]:
    """Every member and item that the schema declares, below `path`. References are followed, cyclic ones once."""
    return dict(_members(schema, schema, path, 0))


def _members(schema: JsonObject, root: JsonObject, path: str, depth: int) -> Iterator[tuple[str, Declared]]:
    if depth > _DEEPEST:
        return
    for branch in branches_of(schema, root):
        required = branch.get("required")
        needed = required if isinstance(required, list) else []
        properties = branch.get("properties")
        for name, inner in properties.items() if isinstance(properties, dict) else ():
            if isinstance(inner, dict):
                yield from _declared_at(inner, root, member(path, name), name in needed, depth)
        items = branch.get("items")
        if isinstance(items, dict):
            yield from _declared_at(items, root, f"{path}{ITEM}", False, depth)


def _declared_at(
    schema: JsonObject, root: JsonObject, path: str, required: bool, depth: int
) -> Iterator[tuple[str, Declared]]:
    branches = list(branches_of(schema, root))
    kinds = frozenset(kind for branch in branches for kind in _kinds(branch)) or _ANYTHING
    lists = [branch["enum"] for branch in branches if isinstance(branch.get("enum"), list)]
    choices = frozenset(json.dumps(one) for found in lists if isinstance(found, list) for one in found)
    limits = (
        json.dumps([_limits(branch) for branch in branches if _limits(branch)]) if any(map(_limits, branches)) else ""
    )
    words = " or ".join(sorted(kinds))
    yield (
        path,
        Declared(
            kinds=kinds,
            required=required,
            words=words + (" of a list" if lists else "") + (" with limits" if limits else ""),
            choices=choices if lists else None,
            limits=limits,
            schema=schema,
        ),
    )
    yield from _members(schema, root, path, depth + 1)


def branches_of(schema: JsonObject, root: JsonObject, hops: int = 0) -> Iterator[JsonObject]:
    """The schema itself, or each of its alternatives."""
    reference = schema.get("$ref")
    if isinstance(reference, str) and hops < _DEEPEST:
        found = _object_at(root, reference)
        if found is not None:
            yield from branches_of(found, root, hops + 1)
        return
    chosen = False
    for union in ("anyOf", "oneOf", "allOf"):
        choices = schema.get(union)
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict) and hops < _DEEPEST:
                chosen = True
                yield from branches_of(choice, root, hops + 1)
    if not chosen or "type" in schema or "properties" in schema:
        yield schema


def _object_at(root: JsonObject, reference: str) -> JsonObject | None:
    value: JsonValue = root
    for part in reference.removeprefix("#").split("/")[1:]:
        value = value.get(part.replace("~1", "/").replace("~0", "~")) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else None


def _kinds(schema: Mapping[str, JsonValue]) -> list[str]:
    kind = schema.get("type")
    if isinstance(kind, list):
        return [str(one) for one in kind]
    return [str(kind)] if isinstance(kind, str) else []


def _limits(schema: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
    return {name: schema[name] for name in _LIMITS if name in schema}


class PathRules:
    """The rules of one tool."""

    def __init__(self, rules: Iterable[AnswerRule]) -> None:
        placed = [(pointer_parts(rule.at), rule) for rule in rules]
        self._rules = [(at, rule) for at, rule in placed if rule.compare != "map"]
        self._maps = [at for at, rule in placed if rule.compare == "map"]
        self._known: dict[str, AnswerRule | None] = {}

    def at(self, path: str) -> AnswerRule | None:
        """The rule for the path: its own, or the first one of a path above it."""
        if not self._rules:
            return None
        if path not in self._known:
            parts = parts_of(path)
            self._known[path] = next((rule for at, rule in self._rules if _begins(parts, at)), None)
        return self._known[path]

    def is_map(self, path: str) -> bool:
        """Whether a rule declares the object at the path as a map; the rule does not apply to paths below it."""
        if not self._maps:
            return False
        parts = parts_of(path)
        return any(len(at) == len(parts) and _begins(parts, at) for at in self._maps)


def rules_of(suite: Suite, tool: str, more: Iterable[AnswerRule] = ()) -> PathRules:
    """All rules of the patterns that match the tool, in the suite's order, followed by `more`."""
    matching = [rules for pattern, rules in suite.drift.items() if fnmatchcase(tool, pattern)]
    return PathRules([*(rule for rules in matching for rule in rules), *more])


def _begins(path: Sequence[str], pointer: Sequence[str]) -> bool:
    return len(path) >= len(pointer) and all(
        theirs in (ours, "*") or (ours == ITEM and theirs.isdigit())
        for ours, theirs in zip(path, pointer, strict=False)
    )


# The distinction decides what a missing key means: a record that loses one has lost a field, a map only contains other
# data. In the order of authority: a rule of the suite (`compare: map`), several recordings with the same keys, a
# declared schema (MCP output schema, OpenAPI response, `output:` of a tool), what earlier samples showed, and the keys
# themselves. The number of keys is no criterion. A schema that says nothing of the values declares no map.

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

    def confirmed_by(self, values: Sequence[JsonValue]) -> "Forms":
        """These forms without the maps that several different recorded objects with the same keys contradict."""
        found = {path: distinct_objects(values, path) for path in self.maps}
        maps = {path for path, objects in found.items() if len(objects) < 2 or len(set(map(frozenset, objects))) > 1}
        return replace(self, maps=frozenset(maps))

    def over(self, other: "Forms") -> "Forms":
        """Both combined; if they disagree, this one takes precedence."""
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
    found = list(_declared_members(schema, schema, at, 0))
    maps = frozenset(path for path, is_map in found if is_map)
    records = frozenset(path for path, is_map in found if not is_map)
    return Forms(maps=maps - records, records=records)


def _declared_members(schema: JsonObject, root: JsonObject, path: str, depth: int) -> Iterator[tuple[str, bool]]:
    if depth > _DEEPEST:
        return
    for branch in branches_of(schema, root):
        named, free = branch.get("properties"), _free_values(branch)
        if isinstance(named, dict) and named:
            yield path, False
            for name, inner in named.items():
                if isinstance(inner, dict):
                    yield from _declared_members(inner, root, member(path, name), depth + 1)
        elif free is not None and _tells_one_kind(free, root):
            yield path, True
            yield from _declared_members(free, root, member(path, ANY), depth + 1)
        items = branch.get("items")
        if isinstance(items, dict):
            yield from _declared_members(items, root, f"{path}{ITEM}", depth + 1)


def _free_values(schema: JsonObject) -> JsonObject | None:
    """The schema of the values under any key; None if the schema does not declare free keys."""
    free: JsonValue = schema.get("additionalProperties")
    patterns = schema.get("patternProperties")
    if isinstance(patterns, dict) and patterns:
        free = next(iter(patterns.values()))
    if isinstance(free, dict):
        return free
    return {} if free is True and schema.get("type") == "object" else None


def _tells_one_kind(schema: JsonObject, root: JsonObject) -> bool:
    """Whether all values have one declared kind. An object with values of any kind is free: it may be a record that
    nobody described, such as a `dict` of a web framework.
    """
    kinds = {
        "number" if kind == "integer" else kind
        for branch in branches_of(schema, root)
        for kind in _kinds(branch) or (["object"] if "properties" in branch else ["", "anything"])
    }
    return len(kinds - {"null"}) == 1


def _keys_are_data(objects: Sequence[JsonObject]) -> bool:
    keys = list(chain.from_iterable(objects))
    return bool(keys) and all(map(_DATA_KEY.fullmatch, keys))


def distinct_objects(values: Iterable[JsonValue], path: str) -> list[JsonObject]:
    """The different objects at the path."""
    found = (one for value in values for one, _ in found_at(value, path))
    return list({canonical_json(one): one for one in found if isinstance(one, dict)}.values())


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
