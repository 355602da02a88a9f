"""How the tools of a session answered: errors, and the structure of their answers without values."""

import hashlib
import json
from contextlib import suppress
from typing import Final

from harness.online.scores.scores import ToolFacts
from harness.trace import Trajectory
from harness.values import JsonValue

_MAX_DEPTH: Final = 3
_MAX_NAMES: Final = 60
_MAX_SHAPES: Final = 20
_MAX_TEXT: Final = 100_000
_NO_ERRORS: Final = frozenset({"replay_miss", "limit_reached"})


def tool_facts(trajectory: Trajectory) -> dict[str, ToolFacts]:
    """By tool: calls that were answered, those answered by an error, and the structures of the other answers."""
    seen, has_results = trajectory.observations, "results" not in trajectory.uncaptured
    found: dict[str, tuple[int, int, set[str]]] = {}
    for call in trajectory.calls:
        answered = seen.get(call.id)
        if answered is None:
            continue
        calls, errors, shapes = found.get(call.name, (0, 0, set()))
        if answered.error is None:
            if has_results and len(shapes) < _MAX_SHAPES:
                shapes.add(shape_digest(answered.content))
        elif answered.error.type not in _NO_ERRORS:
            errors += 1
        found[call.name] = (calls + 1, errors, shapes)
    return {
        name: ToolFacts(calls=calls, errors=errors, shapes=tuple(sorted(shapes)))
        for name, (calls, errors, shapes) in sorted(found.items())
    }


def shape_digest(content: JsonValue) -> str:
    """Eight hexadecimal digits of an answer's structure; an answer in JSON text is opened."""
    if isinstance(content, str) and content[:1] in "[{" and len(content) <= _MAX_TEXT:
        with suppress(ValueError, RecursionError):  # no JSON: a text
            content = json.loads(content)
    return hashlib.sha256(_shape(content, 0).encode("utf-8", "replace")).hexdigest()[:8]


def _shape(value: JsonValue, depth: int) -> str:
    match value:
        case dict() if depth < _MAX_DEPTH:
            names = sorted(value)[:_MAX_NAMES]
            return "{" + ",".join(f"{name}:{_shape(value[name], depth + 1)}" for name in names) + "}"
        case list() if depth < _MAX_DEPTH:
            return "[" + "|".join(sorted({_shape(item, depth + 1) for item in value[:_MAX_NAMES]})) + "]"
        case dict() | list():
            return "deeper"
        case _:
            return type(value).__name__.replace("float", "int")
