"""An ADK session as a trial: events are steps, and the author of an event is the agent of its step."""

from harness.case import Case
from harness.ingest.foreign import ForeignCall, ForeignResult, ForeignStep
from harness.ingest.formats.adk_conversation import calls_in, parts_of, responses_in, spoken, text_in, tool_of
from harness.ingest.found import Found, FoundRun, Source
from harness.ingest.naming import wall_ns
from harness.ingest.reading import Record
from harness.ingest.transcript import TranscriptBuilder
from harness.trace import ToolFailure, Usage
from harness.values import JsonValue


def session_found(source: Source, session: Record, case: Case, reward: float | None = None) -> Found:
    """The session as an attempt at `case`."""
    name = f"session {session.identifier('id') or case.id}"
    events = [event for event in session.records("events") if not event.flag("partial")]
    began = next((time for event in events if (time := wall_ns(event.value("timestamp"))) is not None), None)
    main = session.text("app_name", "appName") or "agent"
    transcript = source.transcript(name)
    for event in events:
        _add(transcript, event, began)
    return Found(
        case=case,
        record=name,
        run=FoundRun(steps=transcript.steps(), agent=main, reward=reward, started_ns=began),
    )


def _add(transcript: TranscriptBuilder, event: Record, began: int | None) -> None:
    content = event.record("content")
    parts = parts_of(content) if content else []
    for response in responses_in(parts):
        transcript.result(_result(response))
    author = event.text("author")
    now = wall_ns(event.value("timestamp"))
    started = None if now is None or began is None else max(0, now - began)
    if author == "user":
        if spoken(event) is not None:
            transcript.add(ForeignStep(source="user", message=spoken(event), started_ns=started))
        return
    thought, calls = text_in(parts, thoughts=True), calls_in(parts)
    if spoken(event) is None and thought is None and not calls:
        return  # a result alone, or an event that only changes the session's state
    transcript.add(
        ForeignStep(
            source="agent",
            agent=author,
            message=spoken(event),
            thought=thought,
            calls=tuple(_call(call) for call in calls),
            model=event.text("model_version", "modelVersion"),
            usage=_usage(event.record("usage_metadata", "usageMetadata")),
            started_ns=started,
        )
    )


def _call(call: Record) -> ForeignCall:
    return ForeignCall(id=call.identifier("id"), name=tool_of(call), arguments=call.value("args"))


def _result(response: Record) -> ForeignResult:
    content: JsonValue = response.value("response")
    failure = content.get("error") if isinstance(content, dict) else None
    failed = isinstance(failure, str) and bool(failure)
    return ForeignResult(
        call_id=response.identifier("id"),
        name=response.text("name"),
        content=content,
        error=ToolFailure(type="tool_error", message=str(failure)[:500]) if failed else None,
    )


def _usage(metadata: Record | None) -> Usage | None:
    if metadata is None:
        return None
    return Usage(
        input_tokens=metadata.count("prompt_token_count", "promptTokenCount"),
        output_tokens=metadata.count("candidates_token_count", "candidatesTokenCount"),
    )
