"""A foreign file or folder as an ordinary suite with ordinary trials.

Every file is read twice. The first reading checks all of it and keeps cases, tools and rewards: a wrong file is
refused before anybody stores a part of it, and the notes are complete from the beginning. The second gives the trials
one by one, so that memory is bounded by one file (one trajectory where a format has records that can be read apart).
"""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.case import Suite
from harness.errors import InvalidDocument, UsageError
from harness.ingest.credentials import Cleaner
from harness.ingest.definitions import read_tools
from harness.ingest.found import Found, FoundRun, Importer, Source
from harness.ingest.naming import case_id as safe_name
from harness.ingest.naming import trace_id
from harness.ingest.options import ImportOptions, Note, NoteBook
from harness.ingest.spans import spans_of
from harness.ingest.suites import SuiteBuilder
from harness.ingest.transcript import final_output
from harness.trace import Trajectory, Trial
from harness.trace.prompts import prompts_of
from harness.trace.span import Span

TrialKey = tuple[str, int]
ImportedTrial = tuple[Trial, tuple[Span, ...]]


@dataclass(frozen=True, kw_only=True)
class _File:
    """One file of the import: its content's digest, and the keys of its trials in order."""

    path: Path
    sha256: str
    keys: tuple[TrialKey, ...]


@dataclass(frozen=True, kw_only=True)
class ImportedTrials:
    """The trials, read anew from the files by every iteration."""

    importer: Importer
    options: ImportOptions
    files: tuple[_File, ...]

    def __len__(self) -> int:
        return sum(len(file.keys) for file in self.files)

    def __iter__(self) -> Iterator[ImportedTrial]:
        """Raises InvalidDocument where a file is no longer what it was when it was imported."""
        for file in self.files:
            if _sha256(file.path) != file.sha256:
                raise InvalidDocument(file.path, "was changed while it was being imported", remedy="import it again")
            keys = iter(file.keys)
            for found in self.importer.read(_source(file.path, self.options, NoteBook())):
                if found.run is not None:
                    yield _trial(found, found.run, next(keys), file.sha256)


@dataclass(frozen=True, kw_only=True)
class ImportedRun:
    """What a foreign file or folder tells."""

    suite: Suite
    trials: ImportedTrials
    rewards: Mapping[TrialKey, float]
    """Rewards that the file gives, by case and attempt."""
    notes: tuple[Note, ...]


def import_with(importer: Importer, path: Path, options: ImportOptions) -> ImportedRun:
    """Reads the file, or every file of the folder that the format could be in."""
    book = NoteBook()
    builder = SuiteBuilder(
        name=safe_name(options.suite or path.name.split(".")[0]),
        folder=path if path.is_dir() else path.parent,
        options=options,
        book=book,
        given=read_tools(options.tools) if options.tools else (),
    )
    rewards: dict[TrialKey, float] = {}
    taken: dict[str, _Attempts] = {}
    files = []
    for file in _files(importer, path):
        sha256 = _sha256(file)
        keys = []
        for found in importer.read(_source(file, options, book)):
            case_id = builder.add(file, found)
            if found.run is not None:
                attempts = taken.setdefault(case_id, _Attempts())
                keys.append((case_id, attempts.take(found.run.attempt)))
                if found.run.reward is not None:
                    rewards[keys[-1]] = found.run.reward
        files.append(_File(path=file, sha256=sha256, keys=tuple(keys)))
    suite = builder.build(path)
    if suite is None:
        raise InvalidDocument(path, "tells of no case and no run")
    trials = ImportedTrials(importer=importer, options=options, files=tuple(files))
    return ImportedRun(suite=suite, trials=trials, rewards=rewards, notes=book.notes)


class _Attempts:
    """Attempts at one case: a number that is taken, or not told, becomes the next free one."""

    def __init__(self) -> None:
        self._taken: set[int] = set()
        self._next = 0

    def take(self, told: int | None) -> int:
        if told is not None and told not in self._taken:
            self._taken.add(told)
            return told
        while self._next in self._taken:
            self._next += 1
        self._taken.add(self._next)
        return self._next


def _files(importer: Importer, path: Path) -> list[Path]:
    if not path.is_dir():
        if not path.exists():
            raise InvalidDocument(path, "does not exist")
        return [path]
    for pattern in importer.patterns:
        found = sorted(file for file in path.rglob(pattern) if file.is_file())
        if found:
            return found
    raise UsageError(f"{path} holds no file of this format", remedy=f"looked for {', '.join(importer.patterns)}")


def _source(path: Path, options: ImportOptions, book: NoteBook) -> Source:
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
