"""Eligibility that asks no judge: a JSONPath over the trajectory and what is known of its case."""

from functools import lru_cache
from typing import Any

from jsonpath import JSONPath, JSONPathEnvironment, JSONPathError
from jsonpath.path import CompoundJSONPath


def check_expression(expression: str) -> None:
    """Raises ValueError where it is no JSONPath."""
    _compiled(expression)


def selects(expression: str, document: Any) -> bool:
    """Whether the expression finds anything in the document; what does not fit the document finds nothing."""
    try:
        return _compiled(expression).match(document) is not None
    except JSONPathError:  # a comparison of values that cannot be compared: nothing was found
        return False


@lru_cache(maxsize=256)
def _compiled(expression: str) -> JSONPath | CompoundJSONPath:
    try:
        return JSONPathEnvironment(strict=True).compile(expression)
    except (JSONPathError, OverflowError, RecursionError) as error:
        raise ValueError(f"{expression!r} is no JSONPath: {str(error).splitlines()[0]}") from None
