"""Objects that a log prints in Python's notation."""

import ast
import json
from typing import Final

from harness.ingest.reading import embedded_json
from harness.values import JsonObject

_LONGEST: Final = 100_000
"""Characters that Python's own reader is given."""


def object_in(text: str) -> JsonObject | None:
    """An object in Python's notation or JSON; None where the text is none."""
    try:
        found = embedded_json(text)
        if not isinstance(found, dict) and len(text) <= _LONGEST:
            found = embedded_json(json.dumps(ast.literal_eval(text.strip()), allow_nan=False))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
