"""What another program stored of a step, its calls and their results, before it is read as a trajectory."""

import json
from dataclasses import dataclass

from harness.ingest.reading import embedded_json
from harness.trace import ReplayTier, ToolFailure, Usage
from harness.trace.trajectory import Source
from harness.values import JsonObject, JsonValue


@dataclass(frozen=True, kw_only=True)
class ForeignCall:
    """A call as a file tells it; `arguments` may be an object, or JSON text that was never looked at."""

    id: str | None
    name: str
    arguments: JsonValue
    unparsed: str | None = None
    """Given where the file itself says that the arguments could not be read."""


@dataclass(frozen=True, kw_only=True)
class ForeignResult:
    """What a call gave back."""

    call_id: str | None
    name: str | None = None
    content: JsonValue
    error: ToolFailure | None = None
    replayed: ReplayTier | None = None
    duration_ms: float | None = None


@dataclass(frozen=True, kw_only=True)
class ForeignStep:
    """One message, or one model reply with all its parallel calls."""

    source: Source
    message: str | None = None
    calls: tuple[ForeignCall, ...] = ()
    agent: str | None = None
    parent: int | None = None
    thought: str | None = None
    plan: tuple[str, ...] | None = None
    model: str | None = None
    usage: Usage | None = None
    started_ns: int | None = None
    ended_ns: int | None = None
    span_id: str | None = None


def read_arguments(told: JsonValue) -> tuple[JsonObject | None, str | None]:
    """(the arguments, None), or (None, the text) where they are no JSON object. Nothing at all is no argument."""
    match told:
        case dict():
            return told, None
        case None:
            return {}, None
        case str():
            if not told.strip():
                return {}, None
            parsed = embedded_json(told)
            return (parsed, None) if isinstance(parsed, dict) else (None, told)
        case _:
            return None, json.dumps(told, ensure_ascii=False)
