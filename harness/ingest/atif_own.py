"""Data without a field in ATIF, stored under `extra.harness`: written by the export, read back by the import.

A step's `extra.harness` holds those fields of `Step` that the format cannot hold; a result's holds the observation's
error, replay tier and duration, and whether its text is JSON; the trajectory's holds the trial.
"""

from collections.abc import Mapping

from harness.case import Case
from harness.ingest.content import text_of
from harness.ingest.foreign import ForeignResult
from harness.ingest.reading import Record, embedded_json
from harness.trace import Outcome, ReplayTier, Step, ToolFailure
from harness.values import Frozen, JsonValue

OWN = "harness"


class OwnRun(Frozen):
    """The trial around an exported trajectory."""

    case_id: str
    attempt: int
    outcome: Outcome
    reason: str | None = None
    duration_s: float | None = None
    trace_id: str
    version: str | None = None
    final_output: JsonValue = None
    case: Case | None = None


class OwnResult(Frozen):
    """The fields of an observation besides its text."""

    error: ToolFailure | None = None
    replayed: ReplayTier | None = None
    duration_ms: float | None = None
    json_text: bool = False


def own_facts(record: Record) -> Record | None:
    """The data that this harness wrote into a record's `extra`."""
    extra = record.value("extra")
    if not isinstance(extra, dict) or not isinstance(extra.get(OWN), dict):
        return None
    return record.within("extra", extra).record(OWN)


def own_run(document: Record) -> OwnRun | None:
    own = own_facts(document)
    return None if own is None else own.shaped(OwnRun)


def own_result(step: Record, result: Record, content: JsonValue) -> ForeignResult:
    """A result with its extra data: this harness's, or the mark of other tools for a failed call."""
    facts = own_facts(result)
    own = OwnResult() if facts is None else facts.shaped(OwnResult)
    call_id = result.identifier("source_call_id")
    return ForeignResult(
        call_id=call_id,
        content=embedded_json(content) if own.json_text and isinstance(content, str) else content,
        error=own.error or _marked(step, result, call_id, content),
        replayed=own.replayed,
        duration_ms=own.duration_ms,
    )


def overlaid(steps: tuple[Step, ...], own: Mapping[int, Record]) -> tuple[Step, ...]:
    """The steps with the fields that this harness stored in `extra`."""
    return tuple(_overlaid(step, own.get(step.index)) for step in steps)


def _overlaid(step: Step, own: Record | None) -> Step:
    if own is None:
        return step
    return Record(path=own.path, data={**step.model_dump(mode="json"), **own.data}, at=own.at).shaped(Step)


def _marked(step: Record, result: Record, call_id: str | None, content: JsonValue) -> ToolFailure | None:
    """ATIF has no field for a failed call; converters mark it in `extra` of the result or of the step."""
    places = [result.value("extra")]
    extra = step.value("extra")
    if isinstance(extra, dict):
        metadata = extra.get("tool_result_metadata")
        raw = metadata.get("raw_tool_result") if isinstance(metadata, dict) else None
        mine = isinstance(raw, dict) and raw.get("tool_use_id") in (None, call_id)
        places += [raw if mine else None, {"is_error": extra.get("tool_result_is_error")}]
    if not any(isinstance(place, dict) and place.get("is_error") is True for place in places):
        return None
    return ToolFailure(type="tool_error", message=(text_of(content) or "")[:500])
