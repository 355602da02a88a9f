"""JSONPaths of suites and rubrics, whose expressions are evaluated within a limit.

An expression may be a part of the path itself, or be read from the queried document.
"""

from functools import lru_cache
from typing import TYPE_CHECKING, cast

from harness.suite.expressions import time_limit

if TYPE_CHECKING:
    from jsonpath import JSONPath
    from jsonpath.path import CompoundJSONPath
    from pydantic import JsonValue


@lru_cache(maxsize=256)
def strict_path(path: str) -> "JSONPath | CompoundJSONPath":
    """A path of RFC 9535, without what others have added. Raises ValueError in words if it is none."""
    from jsonpath import JSONPathError

    from harness.suite.path_environment import PathEnvironment

    try:
        return PathEnvironment(strict=True).compile(path)
    except (JSONPathError, OverflowError, RecursionError) as error:
        raise ValueError(f"invalid JSONPath {path!r}: {str(error).splitlines()[0]}") from None


def found_at(path: str, document: "JsonValue", *, field: str) -> "list[JsonValue]":
    """Every value that it leads to. Raises OutOfTime, which names the field."""
    with time_limit(_question(path, field)):
        return cast("list[JsonValue]", strict_path(path).findall(document))


def selects(path: str, document: "JsonValue", *, field: str) -> bool:
    """Whether a strict path finds anything; what does not fit the document finds nothing.

    Raises OutOfTime, which names the field.
    """
    from jsonpath import JSONPathError

    with time_limit(_question(path, field)):
        try:
            return strict_path(path).match(document) is not None
        except JSONPathError:  # a comparison of values that cannot be compared: nothing was found
            return False


def _question(path: str, field: str) -> str:
    return f"{field}: {path[:200]!r}"
