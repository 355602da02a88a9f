"""OpenTelemetry traces: OTLP JSON, and this harness's own spans.jsonl. One conversation is one trial.

Traces that name the same conversation are one trial, in the order of their time; a trace that names none is one by
itself (option `conversations`: every trace is).
"""

from collections.abc import Iterator

from harness.case import Case
from harness.ingest.found import REDACTED, Found, FoundRun, Importer, Source
from harness.ingest.names import CONVERSATION_NAMES
from harness.ingest.naming import case_id, task_id
from harness.ingest.otel import conventions as says
from harness.ingest.otel.dialects import as_genai
from harness.ingest.otel.files import spans_in
from harness.ingest.otel.ours import is_ours, trajectory_of_ours
from harness.ingest.otel.trace import ConversationReader, task_of
from harness.trace import Span, Step, names
from harness.values import JsonObject


def read(source: Source) -> Iterator[Found]:
    """Every conversation of the file, in the order in which they begin in it."""
    groups: dict[str, list[Span]] = {}
    spans = spans_in(source)
    named = _conversations(spans) if source.options.conversations else {}
    for span in spans:
        groups.setdefault(named.get(span.trace_id, span.trace_id), []).append(cleaned_span(source, span))
    for group in groups.values():
        found = conversation_in(source, group)
        if found is not None:
            yield found


def conversation_in(source: Source, spans: list[Span]) -> Found | None:
    """The content of one conversation's spans; None, with a note, where they contain no agent, model or tool."""
    if is_ours(spans):
        return _ours(source, spans)
    translated = as_genai(spans)
    if any(says.kind_of_span(span) != "other" for span in translated):
        return _foreign(source, translated)
    source.note(f"trace {spans[0].trace_id}", "a trace tells of no agent, model or tool; it is left out")
    return None


IMPORTER = Importer(patterns=("spans.jsonl", "*.jsonl", "*.json"), read=read)


def _conversations(spans: list[Span]) -> dict[str, str]:
    found: dict[str, str] = {}
    for span in spans:
        conversation = says.first_text(span, CONVERSATION_NAMES)
        if conversation:
            found.setdefault(span.trace_id, f"conversation {conversation}")
    return found


def cleaned_span(source: Source, span: Span) -> Span:
    """The span without what looks like a credential."""
    before = source.cleaner.found
    attributes = source.cleaner.fields(span.attributes)
    events = tuple(source.cleaner.fields(event) for event in span.events)
    if source.cleaner.found == before:
        return span
    source.note(f"span {span.span_id}", REDACTED)
    return span.model_copy(update={"attributes": attributes, "events": events})


def _ours(source: Source, spans: list[Span]) -> Found:
    trajectory = trajectory_of_ours(source, spans)
    root = next((span for span in spans if names.CASE_ID in span.attributes), spans[0])
    attempt = root.attributes.get(names.ATTEMPT)
    name = f"trace {trajectory.trace_id}"
    identifier = says.first_text(root, (names.CASE_ID,)) or trajectory.trace_id
    task = next((step.message for step in trajectory.steps if step.source == "user" and step.message), None)
    return Found(
        case=source.case(name, {"id": case_id(identifier), "task": task, "origin": source.path.name}),
        record=name,
        run=FoundRun(
            steps=trajectory.steps,
            agent=trajectory.agent,
            version=trajectory.version,
            attempt=attempt if isinstance(attempt, int) and not isinstance(attempt, bool) else None,
            final_output=trajectory.final_output,
            trace_id=trajectory.trace_id,
            spans=tuple(spans),
        ),
    )


def _foreign(source: Source, spans: list[Span]) -> Found:
    name = f"trace {spans[0].trace_id}"
    transcript = source.transcript(name)
    conversation = ConversationReader(spans, transcript, lambda problem: source.note(name, problem))
    steps = conversation.steps()
    scores = {label: score for span in spans for label, score in says.scores_of_span(span).items()}
    chosen = source.options.score or next(iter(scores), None)
    ended = max(span.end_ns for span in spans)
    return Found(
        case=_case(source, name, conversation, steps),
        record=name,
        tools=conversation.tools,
        run=FoundRun(
            steps=steps,
            uncaptured=conversation.uncaptured(steps),
            agent=conversation.agent,
            version=says.first_text(conversation.root, ("gen_ai.agent.version",)) if conversation.root else None,
            reward=None if chosen is None else scores.get(chosen),
            final_output=conversation.answer(steps),
            trace_id=spans[0].trace_id,
            spans=tuple(spans),
            duration_s=max(0, ended - conversation.began_ns) / 1e9,
        ),
    )


def _case(source: Source, name: str, conversation: ConversationReader, steps: tuple[Step, ...]) -> Case:
    task = task_of(conversation, steps)
    system = next((step.message for step in steps if step.source == "system" and step.parent is None), None)
    fields: JsonObject = {
        "id": task_id(task, system),
        "task": task,
        "system": system,
        "origin": f"{source.path.name} {name}",
    }
    return source.case(name, fields)
