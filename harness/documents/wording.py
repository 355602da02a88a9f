"""What is wrong with one value of a document, for the person who wrote it: what was expected, what was found."""

import json
from typing import Any, Final

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
    """The problem in words; the validator's own sentence where it was written for people."""
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
