"""The operations of an OpenAPI 3 or Swagger 2.0 document as tools: each one HTTP call, parameters and body one schema.

The document's own `servers` are not used: the suite declares the address of the service.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from urllib.parse import unquote

from pydantic import JsonValue

from harness.suite.tool_groups import OpenApiTools, chosen, effect_of, is_chosen, overridden, own_name
from harness.suite.tools import Effect
from harness.values import JsonObject

# Makes schemas of an OpenAPI document self-contained: references point to `$defs`, and keywords of 3.0 become those of
# JSON Schema.
#
# Recursive schemas stay recursive; a reference into another document is rejected.

_NOT_SCHEMA = frozenset({"example", "examples", "discriminator", "xml", "externalDocs"})
_BY_NAME = frozenset({"properties", "patternProperties", "$defs", "dependentSchemas"})
_DATA = frozenset({"default", "const", "enum"})
_LIMITS = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}
_MAX_HOPS = 50


def resolved(value: JsonValue, document: JsonObject) -> JsonObject:
    """The object that `value` is or refers to; empty if none is. Raises ValueError for a reference to nothing."""
    for _ in range(_MAX_HOPS):
        if not isinstance(value, dict):
            return {}
        reference = value.get("$ref")
        if not isinstance(reference, str):
            return value
        value = _value_at(reference, document)
    raise ValueError("references lead in a circle")


def bundled(schema: JsonObject, document: JsonObject) -> JsonObject:
    """The schema with everything that it refers to in its own `$defs`."""
    bundle = _Bundle(document)
    whole = bundle.object(schema)
    definitions = bundle.definitions()
    return {**whole, "$defs": definitions} if definitions else whole


class _Bundle:
    """What one schema refers to, each thing once."""

    def __init__(self, document: JsonObject) -> None:
        self._document = document
        self._names: dict[str, str] = {}
        self._waiting: list[str] = []

    def definitions(self) -> JsonObject:
        """All that was referred to, and what that refers to itself."""
        found: JsonObject = {}
        while self._waiting:
            reference = self._waiting.pop()
            found[self._names[reference]] = self._converted(_value_at(reference, self._document))
        return found

    def object(self, schema: JsonObject) -> JsonObject:
        kept = {key: value for key, value in schema.items() if key not in _NOT_SCHEMA and not key.startswith("x-")}
        return _plain_schema({key: self._converted_member(key, value) for key, value in kept.items()})

    def _converted_member(self, key: str, value: JsonValue) -> JsonValue:
        if key == "$ref" and isinstance(value, str):
            return self._refer(value)
        if key in _DATA:
            return value
        if key in _BY_NAME and isinstance(value, dict):
            return {name: self._converted(item) for name, item in value.items()}
        return self._converted(value)

    def _converted(self, value: JsonValue) -> JsonValue:
        match value:
            case dict():
                return self.object(value)
            case list():
                return [self._converted(item) for item in value]
            case _:
                return value

    def _refer(self, reference: str) -> str:
        if reference not in self._names:
            name = own_name("", reference.rpartition("/")[2])
            while name in self._names.values():
                name += "_"
            self._names[reference] = name
            self._waiting.append(reference)
        return f"#/$defs/{self._names[reference]}"


def _plain_schema(schema: JsonObject) -> JsonObject:
    """One schema of OpenAPI 3.0 in the words of JSON Schema; one of 3.1 has them already."""
    if schema.pop("nullable", False) is True:
        kind = schema.get("type")
        if isinstance(kind, str):
            schema["type"] = [kind, "null"]
        elif "$ref" in schema:
            schema = {"anyOf": [schema, {"type": "null"}]}
        values = schema.get("enum")
        if isinstance(values, list) and None not in values:
            schema["enum"] = [*values, None]
    for exclusive, limit in _LIMITS.items():
        flag = schema.get(exclusive)
        if isinstance(flag, bool):
            del schema[exclusive]
            if flag and limit in schema:
                schema[exclusive] = schema.pop(limit)
    return schema


def _value_at(reference: str, document: JsonObject) -> JsonValue:
    if not reference.startswith("#/"):
        raise ValueError(f"{reference!r} leads into another document: bundle them into one")
    value: JsonValue = document
    for part in reference[2:].split("/"):
        name = unquote(part).replace("~1", "/").replace("~0", "~")
        if not isinstance(value, dict) or name not in value:
            raise ValueError(f"there is no {reference!r} in the document")
        value = value[name]
    return value


# Swagger 2.0 documents as OpenAPI 3.0, so far as tools are made of them: parameters, bodies, answers and schemas.
#
# `host`, `basePath` and `schemes` are ignored, like `servers` of OpenAPI: the suite declares the address of the
# service, including the base path.

_SWAGGER_METHODS = ("get", "head", "post", "put", "patch", "delete", "options")
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
_JSON_TYPES: list[JsonValue] = ["application/json"]


def is_swagger(document: JsonValue) -> bool:
    """Whether a document declares Swagger 2.0."""
    return isinstance(document, dict) and document.get("swagger") in {"2.0", 2.0}


def openapi_of(document: JsonObject) -> JsonObject:
    """The same document in OpenAPI 3.0. Raises ValueError for a reference that leads nowhere."""
    paths = document.get("paths")
    said: JsonObject = {
        "openapi": "3.0.3",
        "info": document.get("info", {}),
        "paths": {path: _path(item, document) for path, item in _members(paths)},
        "components": {"schemas": dict(_members(document.get("definitions")))},
    }
    moved = _as_openapi_3(said)
    assert isinstance(moved, dict)
    return moved


def _path(item: JsonValue, document: JsonObject) -> JsonObject:
    plain = resolved(item, document)
    shared = _items(plain.get("parameters"))
    return {
        method: _operation(declared, shared, document)
        for method in _SWAGGER_METHODS
        if isinstance(declared := plain.get(method), dict)
    }


def _operation(declared: JsonObject, shared: list[JsonValue], document: JsonObject) -> JsonObject:
    own = [resolved(one, document) for one in _items(declared.get("parameters"))]
    named = {(one.get("name"), one.get("in")) for one in own}
    inherited = [resolved(one, document) for one in shared]
    parameters = [*(one for one in inherited if (one.get("name"), one.get("in")) not in named), *own]
    kinds = declared.get("consumes") or document.get("consumes") or _JSON_TYPES
    kept = {
        key: value for key, value in declared.items() if key not in {"parameters", "consumes", "produces", "schemes"}
    }
    body = _request_body(parameters, kinds)
    return {
        **kept,
        "parameters": [_parameter(one) for one in parameters if one.get("in") not in {"body", "formData"}],
        **({} if body is None else {"requestBody": body}),
        "responses": {
            status: _response(answer, declared, document) for status, answer in _members(declared.get("responses"))
        },
    }


def _parameter(parameter: JsonObject) -> JsonObject:
    about = {key: value for key, value in parameter.items() if key in {"name", "in", "description", "required"}}
    schema = {key: value for key, value in parameter.items() if key not in _OF_PARAMETER}
    style = _STYLES.get(str(parameter.get("collectionFormat", "csv")), {}) if parameter.get("type") == "array" else {}
    return {**about, "schema": schema, **style}


def _request_body(parameters: list[JsonObject], kinds: JsonValue) -> JsonObject | None:
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
        kinds = _items(operation.get("produces") or document.get("produces") or _JSON_TYPES)
        said["content"] = {str(kind): {"schema": plain["schema"]} for kind in kinds}
    return said


def _as_openapi_3(value: JsonValue) -> JsonValue:
    """References led to their places in OpenAPI 3.0, and `x-nullable` called `nullable`."""
    match value:
        case {"$ref": str(reference)}:
            old = next((old for old in _MOVED if reference.startswith(old)), "")
            return {"$ref": _MOVED.get(old, "") + reference.removeprefix(old)}
        case dict():
            return {"nullable" if key == "x-nullable" else key: _as_openapi_3(item) for key, item in value.items()}
        case list():
            return [_as_openapi_3(item) for item in value]
        case _:
            return value


def _members(value: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    yield from value.items() if isinstance(value, dict) else ()


_METHODS = ("get", "head", "post", "put", "patch", "delete")
_NOT_SENT = frozenset({"header", "cookie"})
_SEPARATORS = {"form": ",", "simple": ",", "spaceDelimited": " ", "pipeDelimited": "|", "tabDelimited": "\t"}
"""Style of a list in one query parameter or path part -> what stands between its items."""
_BODY = "body"
_JSON_TYPE_PATTERN = re.compile(r"application/(.*\+)?json")


class _NoTool(ValueError):
    """An operation that cannot be called by a tool; the others of its document can."""


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
    notes: list[str] = field(default_factory=list)


def openapi_tools(group: OpenApiTools, document: JsonValue, notes: list[str] | None = None) -> list[JsonObject]:
    """The group's tools as a suite would declare them; `notes` gets a line for each parameter and operation left out.

    An operation that no tool can call is left out if only the pattern `*` selects it. Raises ValueError for one that
    is named, and for a document that is malformed.
    """
    whole = _checked_document(document)
    found = {operation.name: operation for operation in _operations(whole)}
    tools, told = [], [] if notes is None else notes
    for name in chosen(group, list(found)):
        try:
            tools.append(_tool(group, found[name], whole))
        except _NoTool as error:
            if group.only != ("*",):
                raise
            told.append(f"{error}; the operation is left out")
        told += found[name].notes
    if found and not tools:
        raise ValueError("; ".join(told))
    return tools


def openapi_surface(group: OpenApiTools, document: JsonValue) -> dict[str, JsonObject | ValueError]:
    """Maps names in the suite to the tool, or to the reason why the operation cannot become one; only operations that
    the group selects.

    Unlike in `openapi_tools`, one unreadable operation does not hide the others. Raises ValueError for an invalid
    document.
    """
    whole = _checked_document(document)
    found: dict[str, JsonObject | ValueError] = {}
    for operation in _operations(whole):
        if is_chosen(group, operation.name):
            name = own_name(group.prefix, operation.name)
            try:
                found[name] = _tool(group, operation, whole)
            except ValueError as error:
                found[name] = error
    return found


def _checked_document(document: JsonValue) -> JsonObject:
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
    """`output`: the schema of the first successful JSON response; nothing if none can be read."""
    responses = operation.declared.get("responses")
    declared = responses if isinstance(responses, dict) else {}
    try:
        for status in sorted(name for name in declared if name.startswith("2")):
            content = resolved(declared[status], document).get("content")
            for kind, media in content.items() if isinstance(content, dict) else ():
                schema = media.get("schema") if isinstance(media, dict) else None
                if _JSON_TYPE_PATTERN.match(kind) and isinstance(schema, dict):
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
    what = f"{operation.name}: the {place} parameter {name!r}"
    if place in _NOT_SENT:
        if parameter.get("required") is True:
            raise _NoTool(
                f"{what} is required, and a tool has none: set `headers:` of the server, and name with `only:` the "
                "operations that need no other"
            )
        return
    separator = _separator(parameter, resolved(parameter.get("schema"), document), place)
    if separator is None:
        if place == "path" or parameter.get("required") is True:
            raise _NoTool(f"{what} is required, and written in a style that is not known: describe it by `http:`")
        operation.notes.append(f"{what} is left out: it is written in a style that is not known")
        return
    declared: JsonValue = parameter.get("schema", {})
    description = parameter.get("description")
    described = {"description": description} if isinstance(description, str) and isinstance(declared, dict) else {}
    operation.properties[name] = {**declared, **described} if isinstance(declared, dict) else declared
    if place == "query":
        operation.query[name] = f"{{{name}:{separator}}}" if separator else name
    if place == "path" or parameter.get("required") is True:
        _require(operation, name)


def _take_body(operation: _Operation, document: JsonObject) -> None:
    body = resolved(operation.declared.get("requestBody"), document)
    if not body:
        return
    content = body.get("content")
    kinds: Mapping[str, JsonValue] = content if isinstance(content, dict) else {}
    json_kind = next((kind for kind in kinds if _JSON_TYPE_PATTERN.match(kind)), None)
    if json_kind is None:
        raise _NoTool(f"{operation.name}: its body is {', '.join(kinds) or 'of no kind'}, and only JSON can be sent")
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


def _separator(parameter: JsonObject, schema: JsonObject, place: str) -> str | None:
    """What joins the items of a list in the parameter; empty if each is sent alone, None for a style not known."""
    default = "simple" if place == "path" else "form"
    style = parameter.get("style", default)
    kind = schema.get("type")
    kinds = set(kind) if isinstance(kind, list) else {kind}
    if "schema" not in parameter or "object" in kinds or "properties" in schema:
        return None
    if "array" not in kinds:
        return "" if style == default else None
    if place == "query" and parameter.get("explode", style == "form") is True:
        return ""
    return _SEPARATORS.get(str(style))


def _require(operation: _Operation, name: str) -> None:
    if name not in operation.required:
        operation.required.append(name)


def _items(value: JsonValue) -> list[JsonValue]:
    return value if isinstance(value, list) else []
