"""The operations of an OpenAPI 3 or Swagger 2.0 document as tools: each one HTTP call, parameters and body one schema.

The document's own `servers` are not used: the suite declares the address of the service.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from harness.case.endpoints.tool import Effect
from harness.case.sourcing.declared import OpenApiTools
from harness.case.sourcing.listing import chosen, effect_of, is_chosen, overridden, own_name
from harness.case.sourcing.schemas import bundled, resolved
from harness.case.sourcing.swagger import is_swagger, openapi_of
from harness.values import JsonObject, JsonValue

_METHODS = ("get", "head", "post", "put", "patch", "delete")
_LEFT_OUT = frozenset({"header", "cookie"})
_BODY = "body"
_JSON = re.compile(r"application/(.*\+)?json")


@dataclass(kw_only=True)
class _Operation:
    """One operation while it becomes a tool."""

    name: str
    method: str
    path: str
    declared: JsonObject
    properties: JsonObject = field(default_factory=dict)
    required: list[JsonValue] = field(default_factory=list)
    query: JsonObject = field(default_factory=dict)
    body: str = "none"


def openapi_tools(group: OpenApiTools, document: JsonValue) -> list[JsonObject]:
    """The group's tools as a suite would declare them. Raises ValueError for what cannot become a tool."""
    whole = _checked(document)
    found = {operation.name: operation for operation in _operations(whole)}
    return [_tool(group, found[name], whole) for name in chosen(group, list(found))]


def openapi_surface(group: OpenApiTools, document: JsonValue) -> dict[str, JsonObject | ValueError]:
    """Maps names in the suite to the tool, or to the reason why the operation cannot become one; only operations that
    the group selects.

    Unlike in `openapi_tools`, one unreadable operation does not hide the others. Raises ValueError for an invalid
    document.
    """
    whole = _checked(document)
    found: dict[str, JsonObject | ValueError] = {}
    for operation in _operations(whole):
        if is_chosen(group, operation.name):
            name = own_name(group.prefix, operation.name)
            try:
                found[name] = _tool(group, operation, whole)
            except ValueError as error:
                found[name] = error
    return found


def _checked(document: JsonValue) -> JsonObject:
    document = _with_text_keys(document)
    if isinstance(document, dict) and is_swagger(document):
        return openapi_of(document)
    if not isinstance(document, dict) or not str(document.get("openapi", "")).startswith("3."):
        raise ValueError("expected an OpenAPI 3 or a Swagger 2.0 document")
    return document


def _with_text_keys(value: JsonValue) -> JsonValue:
    """The value as JSON has it: YAML reads a status such as `200` without quotes as a number."""
    if isinstance(value, dict):
        return {str(key): _with_text_keys(item) for key, item in value.items()}
    return [_with_text_keys(item) for item in value] if isinstance(value, list) else value


def _operations(document: JsonObject) -> Iterator[_Operation]:
    paths = document.get("paths")
    for path, item in (paths if isinstance(paths, dict) else {}).items():
        shared = resolved(item, document)
        for method in _METHODS:
            declared = shared.get(method)
            if isinstance(declared, dict):
                together: JsonObject = {
                    **declared,
                    "parameters": [*_items(shared.get("parameters")), *_items(declared.get("parameters"))],
                }
                name = declared.get("operationId")
                named = name if isinstance(name, str) else f"{method}_{path.strip('/')}"
                yield _Operation(name=named, method=method.upper(), path=path, declared=together)


def _tool(group: OpenApiTools, operation: _Operation, document: JsonObject) -> JsonObject:
    for parameter in _items(operation.declared.get("parameters")):
        _take_parameter(operation, resolved(parameter, document), document)
    _take_body(operation, document)
    schema: JsonObject = {"type": "object", "properties": operation.properties, "additionalProperties": False}
    if operation.required:
        schema["required"] = operation.required
    declared = operation.declared
    texts = [declared[key] for key in ("summary", "description") if isinstance(declared.get(key), str)]
    return {
        "name": own_name(group.prefix, operation.name),
        "description": "\n\n".join(str(text) for text in texts),
        "parameters": bundled(schema, document),
        "effect": effect_of(group, operation.name, _effect(operation)),
        "server": group.server,
        "http": {
            "method": operation.method,
            "path": operation.path,
            "query": operation.query,
            "body": operation.body,
        },
        **_output(operation, document),
        **overridden(group, operation.name),
    }


def _output(operation: _Operation, document: JsonObject) -> JsonObject:
    """`output`: the schema of the first successful JSON response; nothing where none can be read."""
    responses = operation.declared.get("responses")
    declared = responses if isinstance(responses, dict) else {}
    try:
        for status in sorted(name for name in declared if name.startswith("2")):
            content = resolved(declared[status], document).get("content")
            for kind, media in content.items() if isinstance(content, dict) else ():
                schema = media.get("schema") if isinstance(media, dict) else None
                if _JSON.match(kind) and isinstance(schema, dict):
                    return {"output": bundled(schema, document)}
    except ValueError:
        pass  # a response's schema is not needed to call the operation
    return {}


def _effect(operation: _Operation) -> Effect:
    match operation.declared.get("x-effect"):
        case "read":
            return "read"
        case "write":
            return "write"
        case None:
            return "read" if operation.method in {"GET", "HEAD"} else "write"
        case other:
            raise ValueError(f"{operation.name}: x-effect is read or write, not {other!r}")


def _take_parameter(operation: _Operation, parameter: JsonObject, document: JsonObject) -> None:
    name, place = str(parameter.get("name")), str(parameter.get("in"))
    if place in _LEFT_OUT:
        if parameter.get("required") is True:
            raise ValueError(
                f"{operation.name}: the {place} parameter {name!r} is required, and a tool has none: "
                "set `headers:` of the server, or leave the operation out with `only:`"
            )
        return
    schema = resolved(parameter.get("schema"), document)
    if place == "query" and not _is_plain(parameter, schema):
        raise ValueError(f"{operation.name}: the query parameter {name!r} is written in a style that is not known")
    declared: JsonValue = parameter.get("schema", {})
    description = parameter.get("description")
    described = {"description": description} if isinstance(description, str) and isinstance(declared, dict) else {}
    operation.properties[name] = {**declared, **described} if isinstance(declared, dict) else declared
    if place == "query":
        operation.query[name] = name
    if place == "path" or parameter.get("required") is True:
        _require(operation, name)


def _take_body(operation: _Operation, document: JsonObject) -> None:
    body = resolved(operation.declared.get("requestBody"), document)
    if not body:
        return
    content = body.get("content")
    kinds: Mapping[str, JsonValue] = content if isinstance(content, dict) else {}
    json_kind = next((kind for kind in kinds if _JSON.match(kind)), None)
    if json_kind is None:
        raise ValueError(f"{operation.name}: its body is {', '.join(kinds) or 'of no kind'}, and only JSON can be sent")
    media = kinds[json_kind]
    schema = media.get("schema", {}) if isinstance(media, dict) else {}
    plain = resolved(schema, document)
    fields = plain.get("properties")
    if _can_merge(operation, plain) and isinstance(fields, dict):
        operation.properties |= fields
        for name in _items(plain.get("required")):
            if body.get("required") is True:
                _require(operation, str(name))
        operation.body = "arguments"
        return
    if _BODY in operation.properties:
        raise ValueError(f"{operation.name}: a parameter is named `body`, the name that the request body would get")
    operation.properties[_BODY] = schema
    if body.get("required") is True:
        _require(operation, _BODY)
    operation.body = _BODY


def _can_merge(operation: _Operation, schema: JsonObject) -> bool:
    """Whether the body's fields and the parameters can be merged without a conflict of names."""
    fields = schema.get("properties")
    combined = {"allOf", "anyOf", "oneOf", "not", "if", "patternProperties", "nullable"} & set(schema)
    closed = schema.get("additionalProperties", False) is False
    kind = schema.get("type", "object")
    return (
        kind == "object"
        and isinstance(fields, dict)
        and not combined
        and closed
        and not set(fields) & set(operation.properties)
    )


def _is_plain(parameter: JsonObject, schema: JsonObject) -> bool:
    """Whether the parameter is sent in OpenAPI's default style: a list as `a=1&a=2`, and no object."""
    kind = schema.get("type")
    return (
        "schema" in parameter
        and parameter.get("style", "form") == "form"
        and (parameter.get("explode", True) is True or kind != "array")
        and kind != "object"
    )


def _require(operation: _Operation, name: str) -> None:
    if name not in operation.required:
        operation.required.append(name)


def _items(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []
