"""The records that an importer finds in a file, before their conversion to a suite and trials."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.case import UNTOLD_TASK, Case
from harness.ingest.credentials import Cleaner
from harness.ingest.options import ImportNotes, ImportOptions
from harness.ingest.reading import LINES, Record, read_json, read_lines, read_text
from harness.ingest.transcript import TranscriptBuilder
from harness.trace import Content, Outcome, Span, Step
from harness.values import JsonObject, JsonValue

REDACTED = "what looks like a credential was replaced by a pseudonym"


@dataclass(frozen=True, kw_only=True)
class FoundTool:
    """A tool's definition in a file."""

    name: str
    description: str = ""
    parameters: JsonObject | None = None
    """JSON Schema; None: not given."""
    reads: bool | None = None


@dataclass(frozen=True, kw_only=True)
class FoundRun:
    """One attempt in a file."""

    steps: tuple[Step, ...]
    agent: str = "agent"
    version: str | None = None
    attempt: int | None = None
    outcome: Outcome = "finished"
    reason: str | None = None
    reward: float | None = None
    final_output: JsonValue = None
    """None: the agent's last message, where it called no tool after it."""
    uncaptured: tuple[Content, ...] = ()
    """What the file does not carry of the steps."""
    trace_id: str | None = None
    started_ns: int | None = None
    """Wall time, nanoseconds since the epoch."""
    duration_s: float | None = None
    spans: tuple[Span, ...] | None = None
    """None: the file contains no spans, and they are built from the steps."""


@dataclass(frozen=True, kw_only=True)
class Found:
    """One record: a case, the tools that it offers (None: not given) and the attempt at it, where one exists."""

    case: Case
    record: str
    tools: tuple[FoundTool, ...] | None = None
    run: FoundRun | None = None


@dataclass(frozen=True, kw_only=True)
class Source:
    """One file to read, and the notes about its problems."""

    path: Path
    options: ImportOptions
    book: ImportNotes
    cleaner: Cleaner

    def document(self) -> JsonValue:
        """The whole file as JSON."""
        return read_json(self.path)

    def text(self) -> str:
        """The whole file as text. Raises InvalidDocument for one that is too large, or is not UTF-8."""
        return read_text(self.path)

    def records(self) -> Iterator[Record]:
        """The JSON objects of the file: one per line (`.jsonl`, `.ndjson`), those of a list, or its only one."""
        if self.path.suffix in LINES:
            for number, value in read_lines(self.path):
                yield self.whole(value, line=number)
            return
        document = self.document()
        if isinstance(document, list):
            for index, value in enumerate(document):
                yield self.whole(value, str(index))
        else:
            yield self.whole(document)

    def whole(self, value: JsonValue, at: str = "", *, line: int | None = None) -> Record:
        """A value of this file as a record."""
        outer = Record(path=self.path, data={}, line=line)
        return outer.within(at, value)

    def note(self, record: str | None, problem: str, *, field: str | None = None, remedy: str | None = None) -> None:
        self.book.add(self.path, record, field, problem, remedy=remedy)

    def count_unread(self, record: str, read: Record, known: Collection[str], within: str = "") -> None:
        """Notes each field that is none of the `known`: it is left out."""
        for name, value in read.data.items():
            if name not in known and value is not None:
                place = f"{within}.{name}" if within else name
                self.note(record, "a field that is not read is left out", field=place)

    def case(self, record: str, fields: JsonObject) -> Case:
        """A case without credentials; a missing task is replaced by a text that states this."""
        before = self.cleaner.found
        task = fields.get("task") or UNTOLD_TASK
        case = Case.model_validate(self.cleaner.fields({**fields, "task": task}))
        if self.cleaner.found > before:
            self.note(record, REDACTED, field="case")
        return case

    def transcript(self, record: str) -> TranscriptBuilder:
        """An empty transcript whose problems are noted for `record`."""
        return TranscriptBuilder(lambda problem: self.note(record, problem), self.cleaner)


Reader = Callable[[Source], Iterator[Found]]


@dataclass(frozen=True, kw_only=True)
class Importer:
    """A format: how its files are found in a folder, and how one is read."""

    patterns: tuple[str, ...]
    read: Reader
