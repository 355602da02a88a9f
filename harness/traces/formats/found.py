"""What an importer finds in a file, the options of an import, and its notes."""

import re
from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from pydantic import Field, JsonValue

from harness.cassettes.credentials import Cleaner
from harness.suite.cases import UNTOLD_TASK, Case
from harness.suite.scenarios import case_id
from harness.traces.foreign_json import LINES, Record, kind_of, read_json, read_lines, read_text
from harness.traces.formats.transcript import TranscriptBuilder
from harness.traces.outcomes import Outcome
from harness.traces.spans import Span
from harness.traces.trajectory import Content, Step
from harness.values import Frozen, JsonObject, digest_of

READS = (
    "get_*", "list_*", "search_*", "find_*", "lookup_*", "read_*", "view_*", "show_*", "check_*", "query_*",
    "count_*", "describe_*", "fetch_*", "calculate*", "think", "can_*", "is_*", "has_*", "test_*", "*_test",
)  # fmt: skip


class ImportOptions(Frozen):
    """Every field is optional and adds information that a file lacks."""

    suite: str | None = None
    """Name of the suite; None: that of the file or folder."""
    tools: Path | None = None
    """A JSON file with the tools' definitions (OpenAI or Anthropic shape), for formats that do not carry them."""
    reads: tuple[str, ...] = READS
    """Names (with wildcards) of tools that only read: no format says it, and what is not declared counts as a write."""
    score: str | None = None
    """Which of several scores is the reward; None: the first."""
    conversations: bool = True
    """Traces of one conversation are one trial; else every trace is one."""
    secrets: dict[str, str] = Field(default={}, repr=False)
    """Known secret values by name, to be taken out beside what looks like a credential."""


class ImportNote(Frozen):
    """A part of the input that was changed or omitted, and how often."""

    file: Path
    record: str | None
    """The first record in which it was met."""
    field: str | None
    problem: str
    remedy: str | None = None
    count: int = 1


class ImportNotes:
    """Collects notes, one for each kind of problem in each file."""

    def __init__(self) -> None:
        self._notes: dict[tuple[Path, str | None, str], ImportNote] = {}

    @property
    def notes(self) -> tuple[ImportNote, ...]:
        """In the order in which they were first met."""
        return tuple(self._notes.values())

    def add(
        self,
        file: Path,
        record: str | None,
        field: str | None,
        problem: str,
        *,
        remedy: str | None = None,
        count: int = 1,
    ) -> None:
        """Counts a problem; only the first record of a kind is named."""
        known = self._notes.get((file, field, problem))
        total = count + (known.count if known else 0)
        first = known.record if known else record
        self._notes[file, field, problem] = ImportNote(
            file=file, record=first, field=field, problem=problem, remedy=remedy, count=total
        )


# Converts foreign names to names that are valid in a suite; deterministic and without collisions.

_TOOL = re.compile(r"[A-Za-z0-9_-]+(?:\.[A-Za-z0-9_-]+)*")
_LONGEST_TOOL = 64
_NANO = 1_000_000_000
_EPOCH_LIMIT = 253_402_300_800
"""Year 10000 in seconds: a larger value is in milliseconds."""


def task_id(*raw: JsonValue) -> str:
    """An id for a case that has none: equal tasks have equal ids, so that attempts at one are found together."""
    return f"task-{digest_of(list(raw))[:10]}"


def is_tool_name(raw: str) -> bool:
    return len(raw) <= _LONGEST_TOOL and _TOOL.fullmatch(raw) is not None


def trace_id(*raw: JsonValue) -> str:
    """32 hexadecimal digits derived from the arguments."""
    return digest_of(list(raw))[:32]


def wall_ns(raw: JsonValue) -> int | None:
    """ISO 8601 text, or seconds (milliseconds) since the epoch, as nanoseconds; None if it is neither.

    A time without an offset is read as UTC.
    """
    match raw:
        case str():
            return _iso_ns(raw)
        case bool():
            return None
        case int() | float() if 0 < raw < _EPOCH_LIMIT * 1000:
            return int(raw * _NANO) if raw < _EPOCH_LIMIT else int(raw * 1_000_000)
        case _:
            return None


def since(began: int | None, now: int | None) -> int | None:
    """Nanoseconds of a trial; None if either time is not known."""
    return None if now is None or began is None else max(0, now - began)


def _iso_ns(text: str) -> int | None:
    whole = re.fullmatch(r"([^.,]+)(?:[.,](\d{1,9})\d*)?(Z|[+-]\d{2}:?\d{2})?", text.strip())
    if whole is None:
        return None
    try:
        moment = datetime.fromisoformat(whole[1] + (whole[3] or "").replace("Z", "+00:00"))
        aware = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
        seconds = int(aware.timestamp())
    except (ValueError, OverflowError, OSError):
        return None
    return seconds * _NANO + int((whole[2] or "0").ljust(9, "0"))


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
    """None: the agent's last message, if it called no tool after it."""
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
    """One record: a case, the tools that it offers (None: not given) and the attempt at it, if one exists."""

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

    def conversation_case(
        self, record: str, named: str | None, task: str | None, system: str | None, origin: str | None = None
    ) -> Case:
        """The case of a conversation: under its name in the file, else under an id made of what was asked."""
        fields: JsonObject = {
            "id": task_id(task, system) if named is None else case_id(named),
            "task": task,
            "system": system,
            "origin": f"{self.path.name} {record}" if origin is None else origin,
        }
        return self.case(record, fields)

    def transcript(self, record: str) -> TranscriptBuilder:
        """An empty transcript whose problems are noted for `record`."""
        return TranscriptBuilder(lambda problem: self.note(record, problem), self.cleaner)


Reader = Callable[[Source], Iterator[Found]]


@dataclass(frozen=True, kw_only=True)
class Importer:
    """A format: how its files are found in a folder, and how one is read."""

    patterns: tuple[str, ...]
    read: Reader


# Tool definitions in the shapes of the model providers, converted to one.


def read_tools(path: Path) -> tuple[FoundTool, ...]:
    """The tools of a JSON file: a list of definitions, or an object with one under `tools`."""
    value = read_json(path)
    outer = Record(path=path, data=value if isinstance(value, dict) else {"tools": value})
    return tools_of(outer.records("tools"))


def tools_of(definitions: Iterable[Record]) -> tuple[FoundTool, ...]:
    """OpenAI (`function.parameters`), Anthropic and MCP (`input_schema`) or bare definitions."""
    return tuple(map(tool_of, definitions))


def tool_of(definition: Record) -> FoundTool:
    """The tool of one definition."""
    function = definition.value("function")
    inner = definition.within("function", function) if isinstance(function, dict) else definition
    name = inner.text("name") or inner.text("type")
    if not name:
        raise inner.refusal("name", f"is {kind_of(inner.data.get('name'))}: every tool has a name")
    schema = inner.value("parameters", "input_schema", "inputSchema", "parameters_json_schema")
    schema = schema["json"] if isinstance(schema, dict) and schema.keys() == {"json"} else schema  # Bedrock's
    if schema is not None and not isinstance(schema, dict):
        raise inner.refusal("parameters", f"is {kind_of(schema)}, not a schema")
    hints = inner.value("annotations")
    reads = hints.get("readOnlyHint") if isinstance(hints, dict) else None
    return FoundTool(
        name=name,
        description=inner.text("description") or "",
        parameters=schema,
        reads=reads if isinstance(reads, bool) else None,
    )
