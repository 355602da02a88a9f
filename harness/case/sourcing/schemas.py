"""Makes schemas of an OpenAPI document self-contained: references point to `$defs`, and keywords of 3.0 become those of
JSON Schema.

Recursive schemas stay recursive; a reference into another document is rejected.
"""

from urllib.parse import unquote

from harness.case.sourcing.listing import own_name
from harness.values import JsonObject, JsonValue

_NOT_SCHEMA = frozenset({"example", "examples", "discriminator", "xml", "externalDocs"})
_BY_NAME = frozenset({"properties", "patternProperties", "$defs", "dependentSchemas"})
_DATA = frozenset({"default", "const", "enum"})
_LIMITS = {"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"}
_MAX_HOPS = 50


def resolved(value: JsonValue, document: JsonObject) -> JsonObject:
    """The object that `value` is or refers to; empty where none is. Raises ValueError for a reference to nothing."""
    for _ in range(_MAX_HOPS):
        if not isinstance(value, dict):
            return {}
        reference = value.get("$ref")
        if not isinstance(reference, str):
            return value
        value = _at(reference, document)
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
            found[self._names[reference]] = self._plain(_at(reference, self._document))
        return found

    def object(self, schema: JsonObject) -> JsonObject:
        kept = {key: value for key, value in schema.items() if key not in _NOT_SCHEMA and not key.startswith("x-")}
        return _plain_schema({key: self._member(key, value) for key, value in kept.items()})

    def _member(self, key: str, value: JsonValue) -> JsonValue:
        if key == "$ref" and isinstance(value, str):
            return self._refer(value)
        if key in _DATA:
            return value
        if key in _BY_NAME and isinstance(value, dict):
            return {name: self._plain(item) for name, item in value.items()}
        return self._plain(value)

    def _plain(self, value: JsonValue) -> JsonValue:
        match value:
            case dict():
                return self.object(value)
            case list():
                return [self._plain(item) for item in value]
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


def _at(reference: str, document: JsonObject) -> JsonValue:
    if not reference.startswith("#/"):
        raise ValueError(f"{reference!r} leads into another document: bundle them into one")
    value: JsonValue = document
    for part in reference[2:].split("/"):
        name = unquote(part).replace("~1", "/").replace("~0", "~")
        if not isinstance(value, dict) or name not in value:
            raise ValueError(f"there is no {reference!r} in the document")
        value = value[name]
    return value
