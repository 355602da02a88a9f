"""Documents of Swagger 2.0 give the tools that the same document gives in OpenAPI 3."""

from typing import Any

import pytest

from tests.suite.tool_sources.test_openapi import tools


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


def test_lists_in_the_query_are_sent_as_the_document_says_or_the_operation_is_refused() -> None:
    def listed(style: str) -> dict[str, Any]:
        ids = {"name": "ids", "in": "query", "type": "array", "items": {"type": "string"}, "collectionFormat": style}
        return swagger(**{"/many": {"get": {"operationId": "many", "parameters": [ids]}}})

    (many,) = tools(listed("multi"), only=["many"])
    assert {"type": "array", "items": {"type": "string"}} == many.parameters["properties"]["ids"]
    with pytest.raises(ValueError, match="query parameter 'ids'"):
        tools(listed("pipes"), only=["many"])


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
