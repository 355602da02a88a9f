"""What a listing declares, held against the one that is kept: references, unions and limits included."""

from typing import Any

import pytest

from harness.drift.listings import ServerSurface, ToolSurface, exercised_surfaces, surface_findings


def _changes(old: dict[str, Any], new: dict[str, Any]) -> list[str]:
    before, now = (ToolSurface(name="t", input={"type": "object", **schema}) for schema in (old, new))
    surface = ServerSurface(server="s", before={"t": before}, now={"t": now})
    return [f"{one.change} {one.path}" for one in surface_findings([surface], {"t": ("c",)})]


def _one(schema: dict[str, Any], *required: str) -> dict[str, Any]:
    return {"properties": {"a": schema}, "required": list(required)}


TEXT, NUMBER = {"type": "string"}, {"type": "number"}
CHANGED, NEEDED = ["surface.input_type_changed listing.input.a"], ["surface.input_required_added listing.input.a"]
SCHEMAS: list[tuple[dict[str, Any], dict[str, Any], list[str]]] = [
    (_one(TEXT), _one(TEXT, "a"), NEEDED),
    (_one(TEXT, "a"), _one(TEXT), []),
    ({}, _one(TEXT), ["surface.input_added listing.input.a"]),
    (_one(TEXT), {}, CHANGED),
    (_one(TEXT), _one(NUMBER), CHANGED),
    (_one(TEXT), _one({"anyOf": [TEXT, {"type": "null"}]}), []),
    (_one({"anyOf": [TEXT, {"type": "null"}]}), _one(TEXT), CHANGED),
    (_one({"type": ["string", "null"]}), _one({"anyOf": [TEXT, {"type": "null"}]}), []),
    (_one({"enum": ["x"]}), _one({"enum": ["x", "y"]}), []),
    (_one({"enum": ["x", "y"]}), _one({"enum": ["x"]}), CHANGED),
    (_one({**TEXT, "maxLength": 9}), _one(TEXT), []),
    (_one(TEXT), _one({**TEXT, "maxLength": 9}), CHANGED),
    (_one({**TEXT, "description": "old"}), _one({**TEXT, "description": "new"}), []),
    (_one({"$ref": "#/$defs/A"}) | {"$defs": {"A": TEXT}}, _one(TEXT), []),
    (
        _one({"$ref": "#/$defs/A"}) | {"$defs": {"A": {"properties": {"b": TEXT}}}},
        _one({"$ref": "#/$defs/A"}) | {"$defs": {"A": {"properties": {"b": NUMBER}}}},
        ["surface.input_type_changed listing.input.a.b"],
    ),
    (
        _one({"type": "array", "items": {"properties": {"b": TEXT}}}),
        _one({"type": "array", "items": {"properties": {"b": TEXT}, "required": ["b"]}}),
        ["surface.input_required_added listing.input.a[].b"],
    ),
]


@pytest.mark.parametrize(("old", "new", "expected"), SCHEMAS)
def test_what_made_a_call_valid_and_does_no_more_is_breaking(
    old: dict[str, Any], new: dict[str, Any], expected: list[str]
) -> None:
    assert expected == _changes(old, new)


def test_a_schema_that_refers_to_itself_is_read_to_an_end() -> None:
    loop = {"properties": {"next": {"$ref": "#"}}}
    assert [] == _changes(loop, loop)


def test_a_source_that_could_not_be_asked_says_nothing() -> None:
    silent = ServerSurface(server="s", before={"t": ToolSurface(name="t")}, now={}, problem="gone")
    assert () == surface_findings([silent], {})
    assert {} == exercised_surfaces([silent], {})
