"""Documents of Swagger 2.0 give the tools that the same document gives in OpenAPI 3."""

from typing import Any

import pytest

from harness.gateway.toolbox import unroutable
from harness.gateway.upstream.http_tools import route_url
from tests.suite.tool_sources.test_openapi import document, tools


def swagger(**paths: Any) -> dict[str, Any]:
    return {
        "swagger": "2.0",
        "host": "api.example.com",
        "basePath": "/v1",
        "consumes": ["application/json"],
        "definitions": {
            "Record": {
                "type": "object",
                "required": ["title"],
                "properties": {
                    "title": {"type": "string", "x-nullable": True},
                    "parent": {"$ref": "#/definitions/Record"},
                    "size": {"type": "integer", "minimum": 0, "exclusiveMinimum": True},
                },
            }
        },
        "parameters": {
            "limit": {"name": "_limit", "in": "query", "type": "integer", "maximum": 100, "description": "At most."},
            "record": {"name": "data", "in": "body", "required": True, "schema": {"$ref": "#/definitions/Record"}},
        },
        "paths": {
            "/records": {
                "parameters": [{"$ref": "#/parameters/limit"}],
                "get": {"operationId": "list", "summary": "All records.", "responses": {"200": {"description": "ok"}}},
                "head": {"operationId": "count"},
                "post": {"operationId": "add", "parameters": [{"$ref": "#/parameters/record"}]},
            },
            "/records/{id}": {
                "delete": {
                    "operationId": "remove",
                    "parameters": [{"name": "id", "in": "path", "required": True, "type": "string", "pattern": "^r"}],
                }
            },
            **paths,
        },
    }


def test_operations_become_tools_with_their_parameters_and_bodies() -> None:
    found = {tool.name: tool for tool in tools(swagger())}

    assert {"list": "read", "count": "read", "add": "write", "remove": "write"} == {
        name: tool.effect for name, tool in found.items()
    }
    limit = {"type": "integer", "maximum": 100, "description": "At most."}
    assert {"_limit": limit} == found["list"].parameters["properties"]
    assert "All records." == found["list"].description
    assert ("HEAD", "/records") == (found["count"].http.method, found["count"].http.path)
    assert ["id"] == found["remove"].parameters["required"]
    assert "^r" == found["remove"].parameters["properties"]["id"]["pattern"]


def test_a_body_and_what_it_refers_to_stand_in_the_tools_own_schema() -> None:
    (add,) = tools(swagger(), only=["add"])

    assert {"_limit": "_limit"} == add.http.query
    schema = str(add.parameters)
    assert "#/definitions/" not in schema
    assert "#/components/" not in schema
    assert ["string", "null"] == add.parameters["properties"]["title"]["type"]
    assert 0 == add.parameters["properties"]["size"]["exclusiveMinimum"]
    assert ["title"] == add.parameters["required"]


def test_statuses_of_a_yaml_document_may_be_numbers() -> None:
    document = swagger()
    schema = {"type": "array", "items": {"type": "integer"}}
    document["paths"]["/records"]["get"]["responses"] = {404: {"description": "none"}, 200: {"schema": schema}}

    (listed,) = tools(document, only=["list"])

    assert schema == listed.output


@pytest.mark.parametrize(
    ("style", "sent"),
    [
        ("csv", "a/1,2?q=x%2Cy,z"),
        ("multi", "a/1,2?q=x%2Cy&q=z"),
        ("ssv", "a/1,2?q=x%2Cy%20z"),
        ("pipes", "a/1,2?q=x%2Cy%7Cz"),
    ],
)
def test_lists_are_sent_as_either_document_says(style: str, sent: str) -> None:
    items = {"type": "array", "items": {"type": "string"}}
    ids = {"name": "ids", "in": "path", "required": True}
    old = [{"name": "q", "in": "query", "collectionFormat": style, **items}, {**ids, **items}]
    named = {"csv": "form", "multi": "form", "ssv": "spaceDelimited", "pipes": "pipeDelimited"}[style]
    new = [{"name": "q", "in": "query", "style": named, "explode": style == "multi", "schema": items}]
    new += [{**ids, "schema": items}]
    (one,) = tools(swagger(**{"/a/{ids}": {"get": {"operationId": "many", "parameters": old}}}), only=["many"])
    (other,) = tools(document("get", "/a/{ids}", parameters=new))
    assert one.http == other.http
    assert one.http is not None
    arguments: Any = {"ids": [1, 2], "q": ["x,y", "z"]}
    assert None is unroutable(one, arguments)
    assert f"http://h/{sent}" == str(route_url("http://h", one.http, arguments))


@pytest.mark.parametrize(
    ("parameter", "said"),
    [
        ({"name": "f", "in": "formData", "type": "file"}, "multipart/form-data, and only JSON"),
        ({"name": "f", "in": "formData", "type": "string"}, "x-www-form-urlencoded, and only JSON"),
        ({"$ref": "#/parameters/none"}, "there is no '#/parameters/none'"),
        ({"name": "k", "in": "header", "type": "string", "required": True}, "header parameter 'k' is required"),
    ],
)
def test_what_cannot_become_a_tool_is_refused_by_name(parameter: dict[str, Any], said: str) -> None:
    document = swagger(**{"/form": {"post": {"operationId": "form", "parameters": [parameter]}}})
    with pytest.raises(ValueError, match=said):
        tools(document, only=["form"])
