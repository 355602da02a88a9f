"""Attributes of a span, out of what Langfuse keeps of it: metadata whose values are texts, and input and output.

The attributes of spans that its own SDK did not make stand below `attributes` in the metadata, flat or nested, each
value as a text; the attributes that Langfuse reads as input and output are left out there.
"""

from typing import Final

from harness.ingest import names as ours
from harness.ingest.otel.dumped import opened
from harness.ingest.reading import Record
from harness.trace import names
from harness.values import JsonObject, JsonValue

_ATTRIBUTES: Final = "attributes"
_NOT_TEXTS: Final = frozenset(
    (
        ours.STEP_INDEX, ours.STEP_PARENT, ours.CALL_ORDER, ours.OBSERVATION_ORDER, ours.DURATION, ours.STEP_COUNT,
        names.ATTEMPT, names.COST_USD, names.STARTED_MONOTONIC, names.ENDED_MONOTONIC, names.INJECTED,
        names.INPUT_TOKENS, names.OUTPUT_TOKENS, names.CACHE_READ_TOKENS, names.CACHE_WRITE_TOKENS,
        names.FIRST_CHUNK_S, names.HTTP_STATUS, names.FINISH_REASONS, names.EVALUATION_SCORE,
    )
)  # fmt: skip
"""Attributes whose values are numbers, booleans or lists."""


def span_attributes(observation: Record) -> JsonObject:
    """Attributes by name; none where the metadata has none."""
    given = observation.value("metadata")
    found = _below_attributes(given) if isinstance(given, dict) else {}
    found = {name: opened(value) if name in _NOT_TEXTS else value for name, value in found.items()}
    match found.get(names.OPERATION):
        case names.CHAT:
            carried = {names.INPUT_MESSAGES: "input", names.OUTPUT_MESSAGES: "output"}
        case names.EXECUTE_TOOL:
            carried = {names.TOOL_ARGUMENTS: "input", names.TOOL_RESULT: "output"}
        case _:
            carried = {}
    read = {name: observation.value(field) for name, field in carried.items()}
    return {**{name: value for name, value in read.items() if value is not None}, **found}


def _below_attributes(metadata: JsonObject) -> JsonObject:
    nested = opened(metadata.get(_ATTRIBUTES))
    found = dict(nested) if isinstance(nested, dict) else {}
    prefix = f"{_ATTRIBUTES}."
    found |= {name.removeprefix(prefix): value for name, value in metadata.items() if name.startswith(prefix)}
    return {name: value for name, value in found.items() if _is_kept(name, value)}


def _is_kept(name: str, value: JsonValue) -> bool:
    """What Langfuse itself tells of the observation is no attribute of the span."""
    return value is not None and not name.startswith("langfuse.")
