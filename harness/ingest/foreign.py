"""The steps, calls and results that another program stored, before their conversion to a trajectory."""

import json
from dataclasses import dataclass, replace

from harness.ingest.reading import embedded_json
from harness.trace import ReplayTier, ToolFailure, Usage
from harness.trace.trajectory import Source
from harness.values import JsonObject, JsonValue


@dataclass(frozen=True, kw_only=True)
class ForeignCall:
    """A call in a file; `arguments` may be an object, or unparsed JSON text."""

    id: str | None
    name: str
    arguments: JsonValue
    unparsed: str | None = None
    """Set where the file itself states that the arguments could not be parsed."""


@dataclass(frozen=True, kw_only=True)
class ForeignResult:
    """The result of a call."""

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


def joined(before: ForeignStep, after: ForeignStep) -> ForeignStep:
    """One reply of which a file tells the parts one after the other."""

    def text(*parts: str | None) -> str | None:
        return "\n".join(part for part in parts if part is not None) or None

    return replace(
        before,
        message=text(before.message, after.message),
        thought=text(before.thought, after.thought),
        calls=(*before.calls, *after.calls),
        usage=after.usage or before.usage,
    )


def read_arguments(raw: JsonValue) -> tuple[JsonObject | None, str | None]:
    """(the arguments, None), or (None, the text) where they are not a JSON object. None given: no arguments."""
    match raw:
        case dict():
            return raw, None
        case None:
            return {}, None
        case str():
            if not raw.strip():
                return {}, None
            parsed = embedded_json(raw)
            return (parsed, None) if isinstance(parsed, dict) else (None, raw)
        case _:
            return None, json.dumps(raw, ensure_ascii=False)
