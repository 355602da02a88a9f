"""JSON Schemas (draft 2020-12) that values are validated against; references stay within the schema.

jsonschema calls Python's `re` without any limit. So `pattern` is evaluated here, and the members of
`patternProperties` are put under `properties`, for the names that the value has.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple, Self

from pydantic import Field, JsonValue, ValidationError, model_validator
from pydantic_core import CoreSchema, SchemaValidator, core_schema

from harness.suite.expressions import SECONDS, check_time, compiled, limited, time_limit
from harness.values import Frozen

if TYPE_CHECKING:
    from jsonschema.exceptions import ValidationError as InvalidValue
    from jsonschema.protocols import Validator

    from harness.values import JsonObject


_SHOWN = 1000
_SECONDS: Final = 20 * SECONDS
"""Of processor time, for a schema without expressions: a large value needs some in Python."""
_DATA: Final = frozenset({"const", "default", "enum", "examples"})
"""Keywords whose values are no schemas."""
_NAMED: Final = frozenset({"$defs", "definitions", "dependentSchemas", "patternProperties", "properties"})
"""Keywords whose values are schemas by names."""


class SchemaProblem(NamedTuple):
    """The first problem of an invalid value."""

    path: list[str | int]
    json_path: str
    message: str


_Length = Annotated[int, Field(ge=0)]
_Bound = Annotated[int, Field(ge=-(2**50), le=2**50)]
"""A float is exact up to here."""


class _SimpleSchema(Frozen, strict=True):
    """The form of most schemas of tools."""

    type: Literal["object", "array", "string", "integer", "number", "boolean", "null"]
    title: str = ""
    description: str = ""
    default: JsonValue = None
    enum: Annotated[list[str], Field(min_length=1)] | None = None
    properties: "dict[str, _SimpleSchema]" = {}
    required: list[str] = []
    additional: bool = Field(True, alias="additionalProperties")
    items: "_SimpleSchema | None" = None
    shortest: _Length | None = Field(None, alias="minLength")
    longest: _Length | None = Field(None, alias="maxLength")
    fewest: _Length | None = Field(None, alias="minItems")
    most: _Length | None = Field(None, alias="maxItems")
    minimum: _Bound | None = None
    maximum: _Bound | None = None

    @model_validator(mode="after")
    def _is_certain(self) -> Self:
        if not {*self.required} <= self.properties.keys() or len({*self.required}) < len(self.required):
            raise ValueError("required: expected names of properties, each once")
        if self.enum is not None and (self.type != "string" or self.shortest is not None or self.longest is not None):
            raise ValueError("enum: expected texts without limits")
        return self

    def core(self) -> CoreSchema:
        """What `pydantic` validates by."""
        match self.type:
            case "object":
                fields = {
                    name: core_schema.typed_dict_field(inner.core(), required=name in self.required)
                    for name, inner in self.properties.items()
                }
                return core_schema.typed_dict_schema(fields, extra_behavior="ignore" if self.additional else "forbid")
            case "array":
                inner = None if self.items is None else self.items.core()
                return core_schema.list_schema(inner, min_length=self.fewest, max_length=self.most)
            case "string" if self.enum is None:
                return core_schema.str_schema(min_length=self.shortest, max_length=self.longest)
            case "string":
                return core_schema.literal_schema(list(self.enum or ()))
            case "integer" | "number":
                made = core_schema.int_schema if self.type == "integer" else core_schema.float_schema
                return made(ge=self.minimum, le=self.maximum)
            case _:
                return core_schema.bool_schema() if self.type == "boolean" else core_schema.none_schema()


def simple_check(schema: JsonValue) -> Callable[[JsonValue], bool] | None:
    """A function that is true for valid values only, and for nearly all of them.

    None: the schema is not simple, or not well formed. It spares runs the import of `jsonschema`, which decides
    about the other values.
    """
    try:
        return partial(SchemaValidator(_SimpleSchema.model_validate(schema).core()).isinstance_python, strict=True)
    except ValidationError:
        return None


class Schema:
    """One compiled schema; `field` is its location, for errors. The schema must be well formed."""

    def __init__(self, schema: "JsonObject", *, field: str) -> None:
        self._schema = schema
        self._field = field
        self._accepts = simple_check(schema)
        self._expressions = tuple(_expressions(schema, field))
        self._has_names = any(name == "patternProperties" for _, name, _ in members(schema, field))

    @property
    def asks_expressions(self) -> bool:
        """Whether validation may take long, so that a caller with other clients should not wait for it."""
        return bool(self._expressions)

    def problem(self, value: JsonValue) -> SchemaProblem | None:
        """None: it fits. Raises OutOfTime, which names the expressions, and Unresolvable."""
        if self._fits(value):
            return None
        from jsonschema.exceptions import best_match

        with self._limit():
            found = best_match(self._validator_for(value).iter_errors(value))
        if found is None:
            return None
        return SchemaProblem(list(found.absolute_path), found.json_path, found.message[:_SHOWN])

    def fault(self, value: JsonValue) -> tuple[str, str] | None:
        """As `problem`: the kind of what is wrong, and words for it."""
        if self._fits(value):
            return None
        with self._limit():
            return _fault_in(self._validator_for(value), value)

    def _fits(self, value: JsonValue) -> bool:
        return self._accepts is not None and self._accepts(value)

    def _limit(self) -> AbstractContextManager[None]:
        if not self._expressions:
            return time_limit(self._field, _SECONDS)
        places = ", ".join(f"{place}: {expression[:200]!r}" for place, expression in self._expressions[:3])
        more = f" and {len(self._expressions) - 3} more" if len(self._expressions) > 3 else ""
        return time_limit(f"{places}{more}")

    def _validator_for(self, value: JsonValue) -> "Validator":
        return _validator(_with_names(self._schema, _names_in(value))) if self._has_names else self._validator

    @cached_property
    def _validator(self) -> "Validator":
        """Made when a value is first validated: importing the library takes long."""
        return _validator(self._schema)


# Kinds of what is wrong with a call's arguments, by the keyword of the schema that they do not fit.

_ORDER: Final = ("unknown", "missing", "wrong_type", "out_of_range", "other")
_KINDS: Final[dict[str, str]] = {
    **dict.fromkeys(("additionalProperties", "unevaluatedProperties", "propertyNames"), "unknown"),
    **dict.fromkeys(("required", "dependentRequired"), "missing"),
    "type": "wrong_type",
    **dict.fromkeys(("enum", "const", "pattern", "format", "multipleOf", "uniqueItems"), "out_of_range"),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), "out_of_range"),
    **dict.fromkeys(("minLength", "maxLength", "minItems", "maxItems"), "out_of_range"),
    **dict.fromkeys(("minProperties", "maxProperties"), "out_of_range"),
}


def _fault_in(validator: "Validator", value: Any) -> tuple[str, str] | None:
    """Kind and words; None if the value fits. Of several faults the first in the order of the kinds."""
    if validator.is_valid(value):
        return None
    from jsonschema.exceptions import best_match

    errors = sorted(validator.iter_errors(value), key=lambda error: _ORDER.index(_kind_of_error(error)))
    kind = _kind_of_error(errors[0])
    error = best_match([one for one in errors if _kind_of_error(one) == kind]) or errors[0]
    place = "".join(f"/{part}" for part in error.absolute_path)
    return kind, f"{place or 'arguments'}: {error.message[:200]}"


def _kind_of_error(error: "InvalidValue") -> str:
    """The kind of an error; for a choice between schemas (`anyOf`), that of the nearest one, as far as it can be
    determined.
    """
    from jsonschema.exceptions import best_match

    inner = best_match(error.context) if error.context else None
    return _KINDS.get(str(error.validator), "other") if inner is None else _kind_of_error(inner)


def _validator(schema: Any) -> "Validator":
    from referencing import Registry

    # An empty registry: a reference to another document is never fetched.
    validator: Validator = _validator_class()(schema, registry=Registry())
    return validator


@cache
def _validator_class() -> Any:
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import ValidationError
    from jsonschema.validators import extend

    def pattern(validator: Any, expression: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
        del schema
        if validator.is_type(instance, "string") and not _is_found(expression, instance):
            yield ValidationError(f"{instance!r} does not match {expression!r}")

    def unique(validator: Any, asked: bool, instance: Any, schema: Any) -> Iterator[ValidationError]:
        del schema
        if asked and validator.is_type(instance, "array") and len({*map(_hashable, instance)}) < len(instance):
            yield ValidationError(f"{instance!r} has non-unique elements")

    def within_time(keyword: Any) -> Any:
        def checked(*of: Any) -> Iterator[ValidationError]:
            check_time()
            yield from keyword(*of) or ()

        return checked

    extended: Any = extend
    keywords = Draft202012Validator.VALIDATORS | {"pattern": pattern, "uniqueItems": unique}
    return extended(Draft202012Validator, {name: within_time(keyword) for name, keyword in keywords.items()})


def _hashable(value: JsonValue) -> Any:
    """A value that is equal for equal JSON: 1 and 1.0 are, 1 and true are not. The library compares all pairs."""
    match value:
        case bool():
            return bool, value
        case list():
            return (list, *map(_hashable, value))
        case dict():
            return dict, frozenset((name, _hashable(item)) for name, item in value.items())
        case _:
            return value


def _is_found(expression: str, text: str) -> bool:
    return limited(lambda left: compiled(expression).search(text, timeout=left)) is not None


def _with_names(schema: Any, names: frozenset[str]) -> Any:
    """The schema with `properties` in place of `patternProperties`, for these names."""
    match schema:
        case list():
            return [_with_names(item, names) for item in schema]
        case dict():
            changed = {keyword: _with_names_in(keyword, item, names) for keyword, item in schema.items()}
        case _:
            return schema
    by_expression = changed.pop("patternProperties", None)
    if isinstance(by_expression, dict):
        properties = dict(changed.get("properties", {}))
        for expression, inner in by_expression.items():
            for name in names:
                if _is_found(expression, name):
                    properties[name] = {"allOf": [properties[name], inner]} if name in properties else inner
        changed["properties"] = properties
    return changed


def _with_names_in(keyword: str, item: Any, names: frozenset[str]) -> Any:
    if keyword in _DATA:
        return item
    if keyword in _NAMED and isinstance(item, dict):
        return {name: _with_names(inner, names) for name, inner in item.items()}
    return _with_names(item, names)


def _names_in(value: JsonValue) -> frozenset[str]:
    """The names of the members of every object in a value."""
    found, waiting = set[str](), [value]
    while waiting:
        match waiting.pop():
            case dict() as members_of:
                found |= members_of.keys()
                waiting += members_of.values()
            case list() as items:
                waiting += items
            case _:
                pass
    return frozenset(found)


def _expressions(schema: JsonValue, path: str) -> Iterator[tuple[str, str]]:
    """The expressions in a schema with their locations; values that only look like expressions do no harm."""
    for place, name, item in members(schema, path):
        if name == "pattern" and isinstance(item, str):
            yield place, item
        if name == "patternProperties" and isinstance(item, dict):
            yield from ((place, expression) for expression in item)


def members(schema: JsonValue, path: str) -> Iterator[tuple[str, str, JsonValue]]:
    """Every named value in a schema, at any depth: its location, its name, and the value."""
    match schema:
        case dict():
            for name, item in schema.items():
                yield f"{path}.{name}", name, item
                yield from members(item, f"{path}.{name}")
        case list():
            for index, item in enumerate(schema):
                yield from members(item, f"{path}[{index}]")
        case _:
            pass
