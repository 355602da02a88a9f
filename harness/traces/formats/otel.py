"""OpenTelemetry traces: OTLP JSON, and this harness's own spans.jsonl. One conversation is one trial.

Traces that name the same conversation are one trial, in the order of their time; a trace that names none is one by
itself (option `conversations`: every trace is).
"""

import json
from collections.abc import Iterator, Sequence

from pydantic import JsonValue

from harness.errors import InvalidDocument, ResultsError
from harness.suite.cases import Case
from harness.suite.scenarios import case_id
from harness.traces import names
from harness.traces.formats import conventions
from harness.traces.formats.dialects import as_genai
from harness.traces.formats.found import REDACTED, Found, FoundRun, Importer, Source
from harness.traces.formats.otel_conversations import ConversationReader, task_of
from harness.traces.formats.span_files import spans_in
from harness.traces.names import CONVERSATION_NAMES
from harness.traces.projection import trajectory_from
from harness.traces.spans import Span
from harness.traces.trajectory import Step, Trajectory, unattributed


def is_ours(spans: Sequence[Span]) -> bool:
    """Whether the trace has the marks of a trial of this harness, recorded or imported."""
    return any(names.CASE_ID in span.attributes for span in spans)


def trajectory_of_ours(source: Source, spans: Sequence[Span]) -> Trajectory:
    """Of an imported trial its steps as they were; of a recorded one the projection that the harness itself uses."""
    held = [span for span in spans if names.IMPORTED_STEP in span.attributes]
    root = next((span for span in spans if span.attributes.get(names.OPERATION) == names.INVOKE_AGENT), None)
    count = None if root is None else root.attributes.get(names.STEP_COUNT)
    if not held and count is None:
        try:
            return trajectory_from(spans)
        except ResultsError as error:
            raise InvalidDocument(source.path, error.message) from None
    if root is None:
        raise InvalidDocument(source.path, "holds steps of a trial without its root span")
    steps = sorted((_step_in(source, span) for span in held), key=lambda step: step.index)
    if [step.index for step in steps] != [*range(len(steps))] or len(steps) != count:
        raise InvalidDocument(source.path, f"holds {len(steps)} of a trial's {count} steps")
    trajectory = Trajectory(
        trace_id=root.trace_id,
        agent=str(root.attributes.get(names.AGENT_NAME) or ""),
        version=conventions.first_text(root, (names.AGENT_VERSION,)),
        steps=tuple(steps),
        final_output=_decoded_attribute(source, root, names.FINAL_OUTPUT),
    )
    return unattributed(trajectory)


def _step_in(source: Source, span: Span) -> Step:
    step = _decoded_attribute(source, span, names.IMPORTED_STEP)
    place = f"span {span.span_id}.{names.IMPORTED_STEP}"
    return source.whole({}).within(place, step).shaped(Step)


def _decoded_attribute(source: Source, span: Span, name: str) -> JsonValue:
    raw = span.attributes.get(name)
    if not isinstance(raw, str):
        return raw
    try:
        value: JsonValue = json.loads(raw)
    except (ValueError, RecursionError):
        raise InvalidDocument(source.path, "is not JSON", field=f"span {span.span_id}.{name}") from None
    return value


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
    """The content of one conversation's spans; None, with a note, if they contain no agent, model or tool."""
    if is_ours(spans):
        return _found_own_trace(source, spans)
    translated = as_genai(spans)
    if any(conventions.kind_of_span(span) != "other" for span in translated):
        return _found_foreign_trace(source, translated)
    source.note(f"trace {spans[0].trace_id}", "a trace tells of no agent, model or tool; it is left out")
    return None


def readable_conversation(source: Source, record: str | None, spans: Sequence[Span]) -> Found | None:
    """The same; spans whose marks of this harness do not fit together are read as those of others."""
    try:
        return conversation_in(source, list(spans))
    except InvalidDocument as error:
        source.note(record, f"the trace of a harness is not complete, and read as one of others: {error.problem}")
    return conversation_in(source, [_without_marks(span) for span in spans])


def _without_marks(span: Span) -> Span:
    kept = {name: value for name, value in span.attributes.items() if not name.startswith("harness.")}
    return span.model_copy(update={"attributes": kept})


IMPORTER = Importer(patterns=("spans.jsonl", "*.jsonl", "*.json"), read=read)


def _conversations(spans: list[Span]) -> dict[str, str]:
    found: dict[str, str] = {}
    for span in spans:
        conversation = conventions.first_text(span, CONVERSATION_NAMES)
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


def _found_own_trace(source: Source, spans: list[Span]) -> Found:
    trajectory = trajectory_of_ours(source, spans)
    root = next((span for span in spans if names.CASE_ID in span.attributes), spans[0])
    attempt = root.attributes.get(names.ATTEMPT)
    name = f"trace {trajectory.trace_id}"
    identifier = conventions.first_text(root, (names.CASE_ID,)) or trajectory.trace_id
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


def _found_foreign_trace(source: Source, spans: list[Span]) -> Found:
    name = f"trace {spans[0].trace_id}"
    transcript = source.transcript(name)
    conversation = ConversationReader(spans, transcript, lambda problem: source.note(name, problem))
    steps = conversation.steps()
    scores = {label: score for span in spans for label, score in conventions.scores_of_span(span).items()}
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
            version=conventions.first_text(conversation.root, ("gen_ai.agent.version",)) if conversation.root else None,
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
    return source.conversation_case(name, None, task, system)
