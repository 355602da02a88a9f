"""Foreign files and conversations read as ordinary suites and trials, in each format by name."""

import hashlib
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pydantic import JsonValue

from harness.cassettes.credentials import Cleaner
from harness.errors import HarnessError, InvalidDocument, UsageError
from harness.plugins import Registry, described
from harness.suite import scenarios
from harness.suite.cases import Case
from harness.suite.suites import Suite
from harness.traces.formats.found import (
    Found,
    FoundRun,
    FoundTool,
    Importer,
    ImportNote,
    ImportNotes,
    ImportOptions,
    Source,
    read_tools,
    trace_id,
)
from harness.traces.formats.otel import readable_conversation
from harness.traces.formats.suites import SuiteBuilder
from harness.traces.formats.transcript import final_output
from harness.traces.spans import Span, prompts_of, spans_of
from harness.traces.trajectory import Trajectory
from harness.traces.trial import Trial

if TYPE_CHECKING:
    from harness.traces.formats.found import Reader


IMPORTERS: Final = Registry(
    seam="importer",
    built_in={
        "adk": "harness.traces.formats.adk:IMPORTER",
        "anthropic": "harness.traces.formats.anthropic:IMPORTER",
        "atif": "harness.traces.formats.atif:IMPORTER",
        "inspect": "harness.traces.formats.inspect_log:IMPORTER",
        "langfuse": "harness.traces.formats.langfuse:IMPORTER",
        "openai-chat": "harness.traces.formats.openai_chat:IMPORTER",
        "otel": "harness.traces.formats.otel:IMPORTER",
        "tau2": "harness.traces.formats.tau2:IMPORTER",
    },
)


def importers() -> tuple[str, ...]:
    """Names of the formats."""
    return IMPORTERS.names


def import_file(format: str, path: Path, options: "ImportOptions | None" = None) -> "ImportedRun":
    """Reads a file, or every file of a folder that the format could be in.

    Raises UsageError for an unknown format, InvalidDocument (file, record, field) for a file that is not what it should
    be, or that an importer of a package fails on. What was read otherwise than it is written is in the run's notes.
    """
    from harness.traces.formats.found import Importer, ImportOptions

    found = IMPORTERS.find(format)
    if not isinstance(found, Importer):
        raise UsageError(f"importer {format!r}: expected an Importer, found {type(found).__name__}")
    if format not in IMPORTERS.built_in:
        found = replace(found, read=_refusing(format, found.read))
    return import_with(found, path, options or ImportOptions())


def _refusing(format: str, read: "Reader") -> "Reader":
    """Reads as `read` does, and refuses the file that it fails on. The built-in importers are not excused like this."""

    def reading(source: "Source") -> "Iterator[Found]":
        try:
            yield from read(source)
        except HarnessError:
            raise
        except Exception as error:
            problem = f"importer {format!r} failed on it: {described(error)}"
            remedy = f"correct the file, or report it with the error to the authors of importer {format!r}"
            raise InvalidDocument(source.path, problem, remedy=remedy) from error

    return reading


# Every file is read twice. The first reading checks all of it and keeps cases, tools and rewards: a wrong file is
# refused before anybody stores a part of it, and the notes are complete from the beginning. The second gives the trials
# one by one, so that memory is bounded by one file (one trajectory if a format has records that can be read apart).

TrialKey = tuple[str, int]
ImportedTrial = tuple[Trial, tuple[Span, ...]]
_LARGEST_TOOLS = 4 * 1024 * 1024
"""Bytes up to which a file that is refused is read as definitions of tools."""


@dataclass(frozen=True, kw_only=True)
class _File:
    """One file of the import: its content's digest, and the keys of its trials in order."""

    path: Path
    sha256: str
    keys: tuple[TrialKey, ...]


@dataclass(frozen=True, kw_only=True)
class ImportedTrials:
    """The trials, read from the files again by every iteration."""

    importer: Importer
    options: ImportOptions
    files: tuple[_File, ...]

    def __len__(self) -> int:
        return sum(len(file.keys) for file in self.files)

    @property
    def keys(self) -> tuple[TrialKey, ...]:
        """Case and attempt of each, known from the first reading."""
        return tuple(key for file in self.files for key in file.keys)

    def __iter__(self) -> Iterator[ImportedTrial]:
        """Raises InvalidDocument if a file is no longer what it was when it was imported."""
        for file in self.files:
            if _sha256(file.path) != file.sha256:
                raise InvalidDocument(file.path, "was changed while it was being imported", remedy="import it again")
            keys = iter(file.keys)
            for found in self.importer.read(_source_of(file.path, self.options, ImportNotes())):
                if found.run is not None:
                    yield _trial(found, found.run, next(keys), file.sha256)


@dataclass(frozen=True, kw_only=True)
class ImportedRun:
    """The content of a foreign file or folder."""

    suite: Suite
    trials: ImportedTrials
    rewards: Mapping[TrialKey, float]
    """Rewards that the file gives, by case and attempt."""
    notes: tuple[ImportNote, ...]


def import_with(importer: Importer, path: Path, options: ImportOptions) -> ImportedRun:
    """Reads the file, or every file of the folder that the format could be in."""
    book = ImportNotes()
    builder = SuiteBuilder(
        name=scenarios.case_id(options.suite or path.name.split(".")[0]),
        folder=path if path.is_dir() else path.parent,
        options=options,
        book=book,
        given=read_tools(options.tools) if options.tools else (),
    )
    reading = _FirstReading(importer=importer, options=options, book=book, builder=builder)
    refused: list[InvalidDocument] = []
    for file in _files(importer, path):
        try:
            if path.is_dir():  # a file that is refused is passed over, and leaves nothing behind
                deque(importer.read(_source_of(file, options, ImportNotes())), maxlen=0)
            reading.take(file)
        except InvalidDocument as found:
            error = _with_remedy(found)
            if not path.is_dir():
                raise error from None
            refused.append(error)
            book.add(file, None, None, f"is left out: {error.problem}", remedy=error.remedy)
    suite = builder.build(path)
    if suite is None:
        raise refused[0] if refused else _with_remedy(InvalidDocument(path, "tells of no case and no run"))
    trials = ImportedTrials(importer=importer, options=options, files=tuple(reading.files))
    return ImportedRun(suite=suite, trials=trials, rewards=reading.rewards, notes=book.notes)


@dataclass(kw_only=True)
class _FirstReading:
    """Reads files one by one."""

    importer: Importer
    options: ImportOptions
    book: ImportNotes
    builder: SuiteBuilder
    files: list[_File] = field(default_factory=list)
    rewards: dict[TrialKey, float] = field(default_factory=dict)
    _taken: dict[str, "_Attempts"] = field(default_factory=dict)

    def take(self, file: Path) -> None:
        """Raises InvalidDocument for a file that is not what it should be."""
        sha256 = _sha256(file)
        keys: list[TrialKey] = []
        for found in self.importer.read(_source_of(file, self.options, self.book)):
            self._add(file, found, keys)
        self.files.append(_File(path=file, sha256=sha256, keys=tuple(keys)))

    def _add(self, file: Path, found: Found, keys: list[TrialKey]) -> None:
        case_id = self.builder.add(file, found)
        if found.run is None:
            return
        keys.append((case_id, self._taken.setdefault(case_id, _Attempts()).take(found.run.attempt)))
        if found.run.reward is not None:
            self.rewards[keys[-1]] = found.run.reward


class _Attempts:
    """Attempts at one case: a number that is taken, or not given, becomes the next free one."""

    def __init__(self) -> None:
        self._taken: set[int] = set()
        self._next = 0

    def take(self, claimed: int | None) -> int:
        if claimed is not None and claimed not in self._taken:
            self._taken.add(claimed)
            return claimed
        while self._next in self._taken:
            self._next += 1
        self._taken.add(self._next)
        return self._next


def _files(importer: Importer, path: Path) -> list[Path]:
    if not path.is_dir():
        if not path.exists():
            raise InvalidDocument(path, "does not exist")
        if not path.is_file():
            raise InvalidDocument(path, "is not a regular file", remedy="store what it gives in a file, and name that")
        return [path]
    named = [pattern for pattern in importer.patterns if "*" not in pattern and any(path.rglob(pattern))]
    # a folder of ours holds more than its spans: a file that a format names stands for the folder
    patterns = named or importer.patterns
    found = {file for pattern in patterns for file in path.rglob(pattern) if file.is_file() and not file.is_symlink()}
    if not found:
        raise UsageError(f"{path} holds no file of this format", remedy=f"searched for {', '.join(importer.patterns)}")
    return sorted(found)


def _with_remedy(error: InvalidDocument) -> InvalidDocument:
    """The same error, with what to do about it."""
    if error.remedy is not None:
        return error
    try:
        small = error.path.stat().st_size <= _LARGEST_TOOLS
        are_tools = small and any(tool.parameters is not None for tool in read_tools(error.path))
    except (UsageError, OSError):
        are_tools = False
    remedy = "correct the file, choose the format that it is in, or name the files that hold the runs"
    if are_tools:
        remedy = "these are definitions of tools and no runs: give them with the option `tools` (--tools FILE)"
    return error.with_remedy(remedy)


def _source_of(path: Path, options: ImportOptions, book: ImportNotes) -> Source:
    return Source(path=path, options=options, book=book, cleaner=Cleaner(options.secrets))


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as stream:
            return hashlib.file_digest(stream, "sha256").hexdigest()
    except OSError as error:
        raise InvalidDocument(path, f"cannot be read: {error.strerror}") from None


def _trial(found: Found, run: FoundRun, key: TrialKey, sha256: str) -> ImportedTrial:
    trajectory = Trajectory(
        trace_id=run.trace_id or trace_id(sha256, found.record),
        agent=run.agent,
        version=run.version,
        steps=run.steps,
        final_output=final_output(run.steps) if run.final_output is None else run.final_output,
        prompts=prompts_of(run.spans or ()),
        uncaptured=run.uncaptured,
    )
    trial = Trial(
        case_id=key[0],
        attempt=key[1],
        outcome=run.outcome,
        reason=run.reason,
        trajectory=trajectory,
        duration_s=run.duration_s,
    )
    spans = run.spans if run.spans is not None else spans_of(trial, started_ns=run.started_ns)
    return trial, spans


# The spans of one conversation, however they came, as a trial: what an importer does with a file, without the file.


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
    """The conversation called `name` in notes; None if the spans contain no agent, model or tool.

    Spans of this harness are read as its own projection reads them, with the provenance that they claim: whoever does
    not trust the sender removes it (`unattributed`).
    """
    book = ImportNotes()
    cleaner = Cleaner(secrets or {}, key=b"")
    source = Source(path=Path(name), options=ImportOptions(), book=book, cleaner=cleaner)
    found = readable_conversation(source, None, spans)
    if found is None or found.run is None:
        return None
    return ConversationSpans(
        case=found.case,
        trajectory=_trajectory(found.run, spans),
        tools=found.tools,
        duration_s=found.run.duration_s,
        notes=book.notes,
    )


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
