"""JSON Schemas (draft 2020-12) that values are validated against; references stay within the schema.

A schema with regular expressions is evaluated in a process of its own, because jsonschema calls Python's `re` without
any limit: for `pattern`, `patternProperties`, and all keywords that depend on their results.
"""

from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, cast

if TYPE_CHECKING:  # the answering process does without values, and runs without tools without the library
    from jsonschema.protocols import Validator

    from harness.values import JsonObject, JsonValue

SECONDS = 3.0
"""Of processor time, for one schema and one value."""
_SHOWN = 1000


class SchemaProblem(NamedTuple):
    """The first problem of an invalid value."""

    path: list[str | int]
    json_path: str
    message: str


class Schema:
    """One compiled schema; `field` is its location, for errors. The schema must be well formed."""

    def __init__(self, schema: "JsonObject", *, field: str) -> None:
        self._schema = schema
        self._expressions = tuple(_expressions(schema, field))
        self._field = field

    @cached_property
    def _validator(self) -> "Validator":
        """Made when a value is first validated: importing the library takes long, and most values are found valid
        without it.
        """
        return _validator(self._schema)

    @property
    def asks_expressions(self) -> bool:
        """Whether validation may take long, so that a caller with other clients should not wait for it."""
        return bool(self._expressions)

    def problem(self, value: "JsonValue") -> SchemaProblem | None:
        """None: it fits. Raises OutOfTime, which names the expressions, and Unresolvable."""
        if not self._expressions:
            return _problem_in(self._validator, value)
        found = self._asked("problem", value)
        return None if found is None else SchemaProblem(*cast("tuple[list[str | int], str, str]", found))

    def fault(self, value: "JsonValue") -> tuple[str, str] | None:
        """As `problem`: the kind of what is wrong (see `faults`), and words for it."""
        if not self._expressions:
            from harness.validation.faults import fault_in

            return fault_in(self._validator, value)
        found = self._asked("fault", value)
        return None if found is None else cast("tuple[str, str]", tuple(cast("list[str]", found)))

    def _asked(self, question: Any, value: "JsonValue") -> object:
        from referencing.exceptions import Unresolvable

        from harness.validation.worker_pool import evaluate

        places = ", ".join(f"{place}: {expression[:200]!r}" for place, expression in self._expressions[:3])
        more = f" and {len(self._expressions) - 3} more" if len(self._expressions) > 3 else ""
        try:
            return evaluate(question, self._schema, value, seconds=SECONDS, what=f"{places}{more}")
        except ValueError as error:
            raise Unresolvable(ref=str(error)) from None


def problem_of(schema: Any, value: Any) -> SchemaProblem | None:
    """The function that the answering process calls."""
    return _problem_in(_validator(schema), value)


def _validator(schema: Any) -> "Validator":
    from jsonschema import Draft202012Validator
    from referencing import Registry

    # An empty registry: a reference to another document is never fetched.
    validator: Validator = Draft202012Validator(schema, registry=Registry())
    return validator


def _problem_in(validator: "Validator", value: Any) -> SchemaProblem | None:
    from jsonschema.exceptions import best_match

    found = best_match(validator.iter_errors(value))
    if found is None:
        return None
    return SchemaProblem(list(found.absolute_path), found.json_path, found.message[:_SHOWN])


def _expressions(schema: "JsonValue", path: str) -> Iterator[tuple[str, str]]:
    """The expressions in a schema with their locations; values that only look like expressions do no harm."""
    for place, name, item in members(schema, path):
        if name == "pattern" and isinstance(item, str):
            yield place, item
        if name == "patternProperties" and isinstance(item, dict):
            yield from ((place, expression) for expression in item)


def members(schema: "JsonValue", path: str) -> "Iterator[tuple[str, str, JsonValue]]":
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
