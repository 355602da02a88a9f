"""Swagger 2.0 documents as OpenAPI 3.0, so far as tools are made of them: parameters, bodies, answers and schemas.

`host`, `basePath` and `schemes` are ignored, like `servers` of OpenAPI: the suite declares the address of the service,
including the base path.
"""

from collections.abc import Iterator

from harness.case.sourcing.schemas import resolved
from harness.values import JsonObject, JsonValue

_METHODS = ("get", "head", "post", "put", "patch", "delete", "options")
_MOVED = {
    "#/definitions/": "#/components/schemas/",
    "#/parameters/": "#/components/parameters/",
    "#/responses/": "#/components/responses/",
}
_OF_PARAMETER = frozenset({"name", "in", "description", "required", "collectionFormat", "allowEmptyValue"})
_STYLES: dict[str, JsonObject] = {
    "csv": {"style": "form", "explode": False},
    "multi": {"style": "form", "explode": True},
    "ssv": {"style": "spaceDelimited", "explode": False},
    "pipes": {"style": "pipeDelimited", "explode": False},
    "tsv": {"style": "tabDelimited", "explode": False},
}
_JSON: list[JsonValue] = ["application/json"]


def is_swagger(document: JsonValue) -> bool:
    """Whether a document declares Swagger 2.0."""
    return isinstance(document, dict) and document.get("swagger") in {"2.0", 2.0}


def openapi_of(document: JsonObject) -> JsonObject:
    """The same document in OpenAPI 3.0. Raises ValueError for a reference that leads nowhere."""
    paths = document.get("paths")
    said: JsonObject = {
        "openapi": "3.0.3",
        "info": document.get("info", {}),
        "paths": {path: _path(item, document) for path, item in _pairs(paths)},
        "components": {"schemas": dict(_pairs(document.get("definitions")))},
    }
    moved = _moved(said)
    assert isinstance(moved, dict)
    return moved


def _path(item: JsonValue, document: JsonObject) -> JsonObject:
    plain = resolved(item, document)
    shared = _items(plain.get("parameters"))
    return {
        method: _operation(declared, shared, document)
        for method in _METHODS
        if isinstance(declared := plain.get(method), dict)
    }


def _operation(declared: JsonObject, shared: list[JsonValue], document: JsonObject) -> JsonObject:
    own = [resolved(one, document) for one in _items(declared.get("parameters"))]
    named = {(one.get("name"), one.get("in")) for one in own}
    inherited = [resolved(one, document) for one in shared]
    parameters = [*(one for one in inherited if (one.get("name"), one.get("in")) not in named), *own]
    kinds = declared.get("consumes") or document.get("consumes") or _JSON
    kept = {
        key: value for key, value in declared.items() if key not in {"parameters", "consumes", "produces", "schemes"}
    }
    body = _body(parameters, kinds)
    return {
        **kept,
        "parameters": [_parameter(one) for one in parameters if one.get("in") not in {"body", "formData"}],
        **({} if body is None else {"requestBody": body}),
        "responses": {
            status: _response(answer, declared, document) for status, answer in _pairs(declared.get("responses"))
        },
    }


def _parameter(parameter: JsonObject) -> JsonObject:
    about = {key: value for key, value in parameter.items() if key in {"name", "in", "description", "required"}}
    schema = {key: value for key, value in parameter.items() if key not in _OF_PARAMETER}
    style = _STYLES.get(str(parameter.get("collectionFormat", "csv")), {}) if parameter.get("type") == "array" else {}
    return {**about, "schema": schema, **style}


def _body(parameters: list[JsonObject], kinds: JsonValue) -> JsonObject | None:
    """The request's body, out of the parameter `in: body` or those `in: formData`."""
    whole = next((one for one in parameters if one.get("in") == "body"), None)
    if whole is not None:
        content: JsonObject = {str(kind): {"schema": whole.get("schema", {})} for kind in _items(kinds)}
        return {"content": content, "required": whole.get("required") is True}
    fields = [one for one in parameters if one.get("in") == "formData"]
    if not fields:
        return None
    is_file = any(one.get("type") == "file" for one in fields)
    kind = "multipart/form-data" if is_file else "application/x-www-form-urlencoded"
    return {"content": {kind: {}}, "required": any(one.get("required") is True for one in fields)}


def _response(answer: JsonValue, operation: JsonObject, document: JsonObject) -> JsonObject:
    plain = resolved(answer, document)
    said: JsonObject = {"description": plain.get("description", "")}
    if "schema" in plain:
        kinds = _items(operation.get("produces") or document.get("produces") or _JSON)
        said["content"] = {str(kind): {"schema": plain["schema"]} for kind in kinds}
    return said


def _moved(value: JsonValue) -> JsonValue:
    """References led to their places in OpenAPI 3.0, and `x-nullable` called `nullable`."""
    match value:
        case {"$ref": str(reference)}:
            old = next((old for old in _MOVED if reference.startswith(old)), "")
            return {"$ref": _MOVED.get(old, "") + reference.removeprefix(old)}
        case dict():
            return {"nullable" if key == "x-nullable" else key: _moved(item) for key, item in value.items()}
        case list():
            return [_moved(item) for item in value]
        case _:
            return value


def _pairs(value: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    yield from value.items() if isinstance(value, dict) else ()


def _items(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []
