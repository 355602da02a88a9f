"""Describes why a document does not match its shape, with the cause first.

A misspelt field is reported by pydantic twice: its right name is missing, and its wrong name is extra. The wrong name
is what a person can correct, so it comes first, with the field that was probably meant.
"""

import json
import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any, Final

from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic_core import ErrorDetails

_EXPECTED: Final = {
    "string": "a text",
    "int": "a whole number",
    "float": "a number",
    "finite_number": "a finite number",
    "bool": "true or false",
    "dict": "a mapping",
    "list": "a list",
    "tuple": "a list",
    "set": "a list",
    "frozen_set": "a list",
    "model": "a mapping",
    "model_attributes": "a mapping",
    "mapping": "a mapping",
    "none_required": "nothing (null)",
}
"""What a type of error expected, without its ending (`_type`, `_parsing`)."""
_ENDINGS: Final = ("_type", "_parsing", "_from_float", "_parsing_size")
_LONGEST: Final = 60


def worded(error: ErrorDetails) -> str:
    """The problem in words; the validator's own sentence if it was written for people."""
    kind = error["type"]
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        return "unknown field"
    if kind in {"value_error", "assertion_error"}:
        return error["msg"].partition(", ")[2]
    expected = _EXPECTED.get(kind) or next(
        (_EXPECTED.get(kind.removesuffix(one)) for one in _ENDINGS if kind.endswith(one)), None
    )
    if kind == "string_pattern_mismatch":
        expected = f"a text that matches {error.get('ctx', {}).get('pattern')}"
    if expected is None and error["msg"].startswith("Input should be "):
        expected = error["msg"].removeprefix("Input should be ")
    return error["msg"] if expected is None else f"expected {expected}, found {found_words(error['input'])}"


def found_words(value: Any) -> str:
    """A value as a document has it, on one line; of a mapping or a list only what it is."""
    if value is None or isinstance(value, bool):
        return {None: "nothing", True: "true", False: "false"}[value]
    if isinstance(value, dict | list | tuple | set):
        return "a mapping" if isinstance(value, dict) else "a list"
    if isinstance(value, str):
        text = json.dumps(value[:_LONGEST], ensure_ascii=False)
        return text if len(value) <= _LONGEST else f'{text[:-1]}..."'
    is_huge = isinstance(value, int) and value.bit_length() > _LONGEST
    return "a number that is too large" if is_huge else str(value)[:_LONGEST]


Location = tuple[int | str, ...]
_PLAIN = (("str",), ("int",), ("float",), ("bool",))
"""The names of a union's plain members in pydantic's locations."""
_CONTAINER = re.compile(r"(dict|list|tuple)\[.*\]")
"""The name of a union's member that is a mapping or a list."""
_MANY = 12
"""The maximum number of fields in a message."""


def first_problem(shape: Any, error: ValidationError) -> tuple[Location, str]:
    """The location of the first problem, unknown fields first, and a message about all problems."""
    found = error.errors(include_url=False)
    errors = sorted(
        (one for one in found if not _of_another_branch(tuple(one["loc"]), found)),
        key=lambda one: one["type"] != "extra_forbidden",
    )
    first, others = errors[0], errors[1:]
    location = tuple(part for part in first["loc"] if not _CONTAINER.fullmatch(str(part)))
    if first["type"] != "extra_forbidden":
        more = f" (and {len(others)} more)" if others else ""
        return location, worded(first) + more
    said = f"unknown field{_known_fields_hint(shape, location)}"
    missing = [_dotted(tuple(one["loc"])) for one in others if one["type"] == "missing"]
    if missing:
        said += f"{'' if said.endswith('?') else '.'} Missing: {', '.join(missing[:3])}"
    more = f" (and {len(others)} more)" if len(others) > min(len(missing), 3) else ""
    return location, said + more


def first_words(error: ValidationError) -> tuple[str, str]:
    """The dotted field of the first problem and what is wrong with it, for documents that programs write."""
    first = error.errors(include_url=False)[0]
    return _dotted(tuple(first["loc"])), worded(first)


def _of_another_branch(location: Location, errors: Sequence[ErrorDetails]) -> bool:
    """Whether the error says only that an object is not a plain member of a union, and others describe its content."""
    union, branch = location[:-1], location[-1:]
    return branch in _PLAIN and any(
        len(one["loc"]) > len(union) + 1 and tuple(one["loc"][: len(union)]) == union for one in errors
    )


def _dotted(location: Location) -> str:
    return ".".join(map(str, location))


def _known_fields_hint(shape: Any, location: Location) -> str:
    known = _fields_at(shape, location[:-1])
    close = get_close_matches(str(location[-1]), known, n=1)
    if close:
        return f", did you mean {close[0]!r}?"
    listed = ", ".join(known[:_MANY]) + (", ..." if len(known) > _MANY else "")
    return f"; known here: {listed}" if known else ""


def _fields_at(shape: Any, location: Location) -> list[str]:
    """The names of the fields of the object at a location, sorted; empty if no schema of the shape can be made."""
    try:
        schema = shape.model_json_schema() if _is_model(shape) else TypeAdapter(shape).json_schema()
    except PydanticUserError:
        return []
    found = [schema]
    for part in location:
        deeper = [inner for one in found for inner in _sub_schemas(one, part, schema)]
        found = deeper or found  # the name of a union's member is part of the location, but not of the document
    branches = [branch for one in found for branch in _branches(one, schema)]
    return sorted({name for branch in branches for name in branch.get("properties", {})})


def _is_model(shape: Any) -> bool:
    return isinstance(shape, type) and issubclass(shape, BaseModel)


def _sub_schemas(schema: dict[str, Any], part: int | str, root: dict[str, Any]) -> list[dict[str, Any]]:
    inner = []
    for branch in _branches(schema, root):
        if isinstance(part, int):
            listed = branch.get("prefixItems", [])
            inner += [listed[part]] if part < len(listed) else [branch.get("items")]
        else:
            named = branch.get("properties", {}).get(part)
            inner += [named, branch.get("additionalProperties"), *branch.get("patternProperties", {}).values()]
    return [one for one in inner if isinstance(one, dict)]


def _branches(schema: dict[str, Any], root: dict[str, Any]) -> list[dict[str, Any]]:
    """The schema itself, or the members of its union; references are followed."""
    if "$ref" in schema:
        return _branches(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    members = [*schema.get("anyOf", ()), *schema.get("oneOf", ()), *schema.get("allOf", ())]
    return [branch for member in members for branch in _branches(member, root)] or [schema]
