"""JSONPaths of suites and rubrics; those that contain expressions are evaluated in a process of their own.

An expression may be a part of the path itself, or be read from the queried document.
"""

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:  # the answering process does without the last one, and most runs without a path
    from jsonpath import JSONPath
    from jsonpath.path import CompoundJSONPath

    from harness.values import JsonValue

SECONDS = 3.0
"""Of processor time, for one path and one document."""
_EXPRESSIONS = re.compile(r"=~|\b(?:match|search)\(")
"""Matches the parts of a path that evaluate an expression: an operator, and two functions of RFC 9535."""


@lru_cache(maxsize=256)
def strict_path(path: str) -> "JSONPath | CompoundJSONPath":
    """A path of RFC 9535, without what others have added. Raises ValueError in words where it is none."""
    from jsonpath import JSONPathEnvironment, JSONPathError

    try:
        return JSONPathEnvironment(strict=True).compile(path)
    except (JSONPathError, OverflowError, RecursionError) as error:
        raise ValueError(f"invalid JSONPath {path!r}: {str(error).splitlines()[0]}") from None


def found_at(path: str, document: "JsonValue", *, field: str) -> "list[JsonValue]":
    """Every value that it leads to. Raises OutOfTime, which names the field."""
    if not _EXPRESSIONS.search(path):
        return cast("list[JsonValue]", leads_to(path, document))
    return cast("list[JsonValue]", _asked("leads_to", path, document, field))


def selects(path: str, document: "JsonValue", *, field: str) -> bool:
    """Whether a strict path finds anything; what does not fit the document finds nothing.

    Raises OutOfTime, which names the field.
    """
    if not _EXPRESSIONS.search(path):
        return selected(path, document)
    return bool(_asked("selected", path, document, field))


def leads_to(path: str, document: Any) -> list[object]:
    """`found_at`, without a limit."""
    import jsonpath

    return jsonpath.findall(path, document)


def selected(path: str, document: Any) -> bool:
    """`selects`, without a limit."""
    from jsonpath import JSONPathError

    try:
        return strict_path(path).match(document) is not None
    except JSONPathError:  # a comparison of values that cannot be compared: nothing was found
        return False


def _asked(question: Any, path: str, document: "JsonValue", field: str) -> object:
    from harness.validation.worker_pool import evaluate

    return evaluate(question, path, document, seconds=SECONDS, what=f"{field}: {path[:200]!r}")
