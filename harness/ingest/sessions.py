"""The spans of one conversation, however they came, as a trial: what an importer does with a file, without the file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.case import Case
from harness.errors import InvalidDocument
from harness.ingest.credentials import Cleaner
from harness.ingest.formats.otel import conversation_in
from harness.ingest.found import FoundRun, FoundTool, Source
from harness.ingest.options import ImportNote, ImportNotes, ImportOptions
from harness.ingest.transcript import final_output
from harness.trace import Span, Trajectory, prompts_of
from harness.values import JsonValue

_OWN = "harness."
"""What attributes of this harness begin with."""


@dataclass(frozen=True, kw_only=True)
class ConversationSpans:
    """What the spans of one conversation tell. `case` holds the task and the system prompt as far as they are known."""

    case: Case
    trajectory: Trajectory
    tools: tuple[FoundTool, ...] | None
    duration_s: float | None
    notes: tuple[ImportNote, ...] = ()


def conversation_of(
    name: str, spans: Sequence[Span], secrets: Mapping[str, str] | None = None
) -> ConversationSpans | None:
    """The conversation called `name` in notes; None where the spans tell of no agent, model or tool.

    Spans of this harness are read as its own projection reads them, with the provenance that they claim: whoever does
    not trust the sender removes it (`unattributed`).
    """
    book = ImportNotes()
    cleaner = Cleaner(secrets or {}, key=b"")
    source = Source(path=Path(name), options=ImportOptions(), book=book, cleaner=cleaner)
    try:
        found = conversation_in(source, list(spans))
    except InvalidDocument as error:  # marks of this harness that do not fit together excuse nobody from being read
        book.add(Path(name), None, None, error.problem)
        found = conversation_in(source, [_without_marks(span) for span in spans])
    if found is None or found.run is None:
        return None
    return ConversationSpans(
        case=found.case,
        trajectory=_trajectory(found.run, spans),
        tools=found.tools,
        duration_s=found.run.duration_s,
        notes=book.notes,
    )


def _without_marks(span: Span) -> Span:
    kept = {name: value for name, value in span.attributes.items() if not name.startswith(_OWN)}
    return span.model_copy(update={"attributes": kept})


def _trajectory(run: FoundRun, spans: Sequence[Span]) -> Trajectory:
    output: JsonValue = final_output(run.steps) if run.final_output is None else run.final_output
    return Trajectory(
        trace_id=run.trace_id or spans[0].trace_id,
        agent=run.agent,
        version=run.version,
        steps=run.steps,
        final_output=output,
        prompts=prompts_of(spans),
        uncaptured=run.uncaptured,
    )
