"""Operations of an OpenAPI document are tools; what cannot become one is refused by name."""

import json
from typing import Any

import pytest

from harness.gateway.toolbox import check_schema
from harness.suite.documents import read_plain
from harness.suite.openapi import openapi_tools
from harness.suite.tool_groups import OpenApiTools
from harness.suite.tools import ToolSpec
from tests.suite.tool_sources.conftest import Project

NODE = {
    "type": "object",
    "properties": {
        "name": {"type": "string", "nullable": True, "example": "x"},
        "children": {"type": "array", "items": {"$ref": "#/components/schemas/Node"}},
    },
}

UNKNOWN = {"name": "q", "in": "query", "style": "deepObject", "schema": {"type": "object"}}


def document(method: str, path: str, **operation: Any) -> dict[str, Any]:
    return {
        "openapi": "3.0.3",
        "paths": {path: {method: {"operationId": "op", **operation}}},
        "components": {"schemas": {"Node": NODE}},
    }


def tools(document: Any, **group: Any) -> list[ToolSpec]:
    """As a suite gets them: checked as its own."""
    found = openapi_tools(OpenApiTools(openapi="x.json", server="s", **group), document)
    specs = [ToolSpec.model_validate(tool) for tool in found]
    for spec in specs:
        check_schema(spec)
    return specs


def test_patterns_fit_by_the_name_in_the_document_and_in_the_suite() -> None:
    get = {"responses": {}, "parameters": [{"name": "id", "in": "path", "required": True, "schema": {}}]}
    document = {"openapi": "3.0.0", "paths": {"/notes/{id}": {"get": get, "delete": get}, "/other": {"get": {}}}}
    for pattern in ("get_notes__id_", "get_notes/{id}", "get_notes*"):
        found = tools(document, only=["*notes*"], writes=[pattern], override={pattern: {"timeout_s": 2.5}})
        assert {"get_notes__id_": ("write", 2.5), "delete_notes__id_": ("write", 30.0)} == {
            tool.name: (tool.effect, tool.timeout_s) for tool in found
        }


def test_the_menu_services_own_document_gives_the_tools_that_the_suite_describes(project) -> None:
    menu = read_plain(project / "images/drive_thru/menu/menu_service/openapi.json")[0]
    described = read_plain(project / "suites/drive_thru/tools.yaml")[0]
    names = [tool["name"] for tool in described]
    found = {tool.name: tool for tool in tools(menu, only=names)}
    assert sorted(found) == sorted(names)
    for tool in described:
        same = ToolSpec.model_validate(tool)
        made = found[tool["name"]]
        assert made.effect == same.effect
        assert made.http == same.http
        assert made.parameters["properties"] == same.parameters["properties"]


def test_parameters_and_body_become_one_schema() -> None:
    body = {
        "required": True,
        "content": {"application/json": {"schema": {"properties": {"note": {"type": "string"}}, "required": ["note"]}}},
    }
    parameters = [
        {"name": "id", "in": "path", "required": True, "schema": {"type": "string"}, "description": "Which."},
        {"name": "tag", "in": "query", "schema": {"type": "array", "items": {"type": "string"}}},
        {"name": "X-Trace", "in": "header", "schema": {"type": "string"}},
    ]
    [tool] = tools(document("put", "/items/{id}", parameters=parameters, requestBody=body))
    assert (tool.effect, tool.http.method, tool.http.body, tool.http.query) == (
        "write",
        "PUT",
        "arguments",
        {"tag": "tag"},
    )
    assert tool.parameters == {
        "type": "object",
        "properties": {
            "id": {"type": "string", "description": "Which."},
            "tag": {"type": "array", "items": {"type": "string"}},
            "note": {"type": "string"},
        },
        "additionalProperties": False,
        "required": ["id", "note"],
    }


def test_recursive_schemas_stand_alone() -> None:
    body = {"content": {"application/json": {"schema": {"$ref": "#/components/schemas/Node"}}}}
    [tool] = tools(document("post", "/nodes", requestBody=body))
    assert tool.parameters["$defs"]["Node"] == {
        "type": "object",
        "properties": {
            "name": {"type": ["string", "null"]},
            "children": {"type": "array", "items": {"$ref": "#/$defs/Node"}},
        },
    }


def test_a_body_that_is_no_plain_object_is_an_argument_of_its_own() -> None:
    schema = {"type": "array", "items": {"type": "integer"}}
    body = {"required": True, "content": {"application/json": {"schema": schema}}}
    [tool] = tools(document("post", "/sums", requestBody=body))
    assert (tool.http.body, tool.parameters["properties"], tool.parameters["required"]) == (
        "body",
        {"body": schema},
        ["body"],
    )


@pytest.mark.parametrize(
    ("method", "more", "group", "effect"),
    [
        ("get", {}, {}, "read"),
        ("get", {"x-effect": "write"}, {}, "write"),
        ("post", {"x-effect": "read"}, {}, "read"),
        ("post", {}, {"reads": ["o*"]}, "read"),
        ("get", {}, {"writes": ["op"]}, "write"),
        ("delete", {}, {}, "write"),
    ],
)
def test_effects_come_from_the_method_the_document_or_the_suite(method, more, group, effect) -> None:
    assert [tool.effect for tool in tools(document(method, "/x", **more), **group)] == [effect]


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        ({"swagger": "1.2"}, "expected an OpenAPI 3 or a Swagger 2.0 document"),
        (document("get", "/x", parameters=[{"$ref": "other.json#/p"}]), "another document"),
        (document("get", "/x", parameters=[{"$ref": "#/components/p"}]), "there is no '#/components/p'"),
        (document("get", "/x", parameters=[{"name": "k", "in": "header", "required": True}]), "header parameter 'k'"),
        (document("get", "/x", parameters=[{**UNKNOWN, "required": True}]), "the query parameter 'q'"),
        (document("post", "/x", **{"x-effect": "maybe"}), "x-effect"),
    ],
)
def test_what_cannot_become_a_tool_is_refused(broken: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said.replace("(", r"\(")):
        tools(json.loads(json.dumps(broken)))


def test_what_is_unknown_is_left_out_with_a_note(own_project: Project) -> None:
    many = document("get", "/x", parameters=[UNKNOWN])
    many["paths"]["/y"] = {"post": {"operationId": "send", "requestBody": {"content": {"text/csv": {}}}}}
    (own_project.suite / "api.json").write_text(json.dumps(many), encoding="utf-8")
    server = {"s": {"base_url": "http://127.0.0.1:1"}}
    own_project.write([{"openapi": "api.json", "server": "s"}], [], servers=server)
    listed = own_project.type("tool", "list", "s").splitlines()
    assert "s  http  read   op()" == listed[0]
    assert ["op: the query parameter 'q' is", "send: its body is text/csv, an"] == [line[:30] for line in listed[1:3]]
    named = [{"openapi": "api.json", "server": "s", "only": ["send"]}]
    own_project.write(named, [], servers=server)
    assert "send: its body is text/csv" in own_project.type("tool", "list", "s", status=2)
