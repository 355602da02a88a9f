"""An OpenAPI document that is served elsewhere: what it has gained and lost since it was fetched."""

import shutil
from copy import deepcopy
from typing import Any

import pytest

from tests.drift.conftest import Project, told

TEXT = {"type": "string"}
ITEM_SCHEMA = {"type": "object", "properties": {"id": {"type": "integer"}, "name": TEXT}}


def operation(name: str, schema: Any, *parameters: dict[str, Any]) -> dict[str, Any]:
    good = {"description": "An answer.", "content": {"application/json": {"schema": deepcopy(schema)}}}
    return {"get": {"operationId": name, "parameters": list(parameters), "responses": {"200": good}}}


def parameter(name: str, place: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "in": place, "schema": TEXT, "required": place == "path", **more}


DOCUMENT: dict[str, Any] = {
    "openapi": "3.0.3",
    "info": {"title": "Shop", "version": "1"},
    "paths": {
        "/items/{id}": operation("get_item", ITEM_SCHEMA, parameter("id", "path")),
        "/search": operation("search", {"type": "array", "items": ITEM_SCHEMA}, parameter("q", "query")),
    },
}


@pytest.fixture
def project(project_of_shop: Project) -> Project:
    shop = project_of_shop.shop
    shop.answers["GET /openapi.json"] = DOCUMENT
    source = {"openapi": f"{shop.url}/openapi.json", "server": "shop", "only": ["get_*", "search"]}
    project_of_shop.write({"one": [["get_item", {"id": "1"}]]}, tools=[source])
    project_of_shop.type("tool", "refresh", "s")
    shutil.rmtree(project_of_shop.folder / "cassettes" / "s")
    project_of_shop.record()
    return project_of_shop


def listed(report: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    return [(one["severity"], *found[:3]) for one, found in zip(report["findings"], told(report), strict=True)]


def test_additions_are_reported_as_information(project: Project) -> None:
    now = deepcopy(DOCUMENT)
    get = now["paths"]["/items/{id}"]["get"]
    get["parameters"].append(parameter("unit", "query"))
    get["responses"]["200"]["content"]["application/json"]["schema"]["properties"]["price"] = {"type": "number"}
    now["paths"]["/orders"] = operation("get_orders", ITEM_SCHEMA)
    now["paths"]["/secret"] = operation("get_secret", ITEM_SCHEMA, parameter("key", "header", required=True))
    project.shop.answers["GET /openapi.json"] = now
    report = project.probe()
    assert [] == report["unavailable"]
    assert [
        ("info", "get_item", "surface.input_added", "listing.input.unit"),
        ("info", "get_item", "surface.output_added", "listing.output.price"),
        ("info", "shop", "surface.tool_added", "tools.get_orders"),
        ("info", "shop", "surface.tool_added", "tools.get_secret"),
    ] == sorted(listed(report))


def test_what_is_gone_is_reported_too_where_a_pattern_named_it(project: Project) -> None:
    now = deepcopy(DOCUMENT)
    del now["paths"]["/search"]
    del now["paths"]["/items/{id}"]["get"]["responses"]["200"]["content"]["application/json"]["schema"]["properties"][
        "name"
    ]
    project.shop.answers["GET /openapi.json"] = now
    assert [
        ("breaking", "search", "surface.tool_removed", "listing"),
        ("warning", "get_item", "surface.output_changed", "listing.output.name"),
    ] == sorted(listed(project.probe(status=1)))


def test_a_document_that_stayed_is_clean(project: Project) -> None:
    assert [] == told(project.probe())
