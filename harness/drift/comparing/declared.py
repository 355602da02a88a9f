"""A flattened JSON Schema: each declared place, by path, with its valid values."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from harness.drift.comparing.paths import ITEM, member
from harness.values import JsonObject, JsonValue

_DEEPEST = 8
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
                yield from _place(inner, root, member(path, name), name in needed, depth)
        items = branch.get("items")
        if isinstance(items, dict):
            yield from _place(items, root, f"{path}{ITEM}", False, depth)


def _place(
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
        found = _at(root, reference)
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


def _at(root: JsonObject, reference: str) -> JsonObject | None:
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
