"""Recording: a trial writes a journal while it runs, which is merged into the case's cassette when it ends.

Recordings stay on a cassette, because other agent versions need them. The journal of a killed process is merged by the
next recording of the suite, so that no recording is lost; a file lock shows which journals are still in use.
"""

import fcntl
import os
import shlex
import uuid
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pydantic import Field, ValidationError

from harness.cassette.cassette import Cassette, cassette_path, refuse_secrets, save_cassette
from harness.cassette.index import open_cassette
from harness.cassette.recorder.merging import Merge, merged_recordings
from harness.cassette.recording import Recording
from harness.cassette.redaction.redaction import Redactor
from harness.documents import first_words
from harness.errors import CassetteError
from harness.process_identity import partial_name
from harness.values import Frozen


class _Heading(Frozen):
    """First line of a journal."""

    suite: str
    case: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._~-]{0,199}$")
    """The name of the cassette: the case, and for a judge the kind of question too (`CASE~compare`)."""


class TrialJournal:
    """The recordings of one trial, on disk line by line. Has one writer, and is not thread-safe."""

    def __init__(self, cassettes: Path, *, suite: str, case: str, redactor: Redactor, kept: bool = False) -> None:
        """`kept` marks a journal that only its own trial uses: the journal of a killed trial is deleted,
        never merged.
        """
        folder = cassettes / suite
        folder.mkdir(parents=True, exist_ok=True)
        self.path = folder / (partial_name(case) if kept else f".{case}.{uuid.uuid4().hex[:8]}.journal")
        self.redactor = redactor
        self.recordings: list[Recording] = []
        # Line-buffered text: each recording is written before the agent receives its answer.
        self._file = self.path.open("x", encoding="utf-8", buffering=1)
        fcntl.flock(self._file, fcntl.LOCK_EX)
        try:
            self._file.write(_Heading(suite=suite, case=case).model_dump_json() + "\n")
        except OSError:  # the disk is full, and would have no room for a recording either
            self.path.unlink()
            raise

    def add(self, recording: Recording) -> None:
        """Raises CassetteError, and writes nothing, where the recording contains a known secret."""
        _refuse_secrets(recording, self.redactor, self.path)
        self._file.write(recording.model_dump_json() + "\n")
        self.recordings.append(recording)

    def close(self) -> None:
        """Leaves the journal for a later merge; safe to call twice."""
        self._file.close()

    def remove(self) -> None:
        """Everything in it is on the cassette."""
        self.path.unlink(missing_ok=True)
        self.close()


def merge(journal: TrialJournal, cassettes: Path, *, suite: str, case: str, refresh: bool = False) -> Merge:
    """Merges a journal into its cassette and removes it."""
    path = cassette_path(cassettes, suite, case)
    done = merge_recordings(path, journal.recordings, suite, case, refresh=refresh, redactor=journal.redactor)
    journal.remove()
    return done


def merge_recordings(
    path: Path,
    recordings: Iterable[Recording],
    suite: str,
    case: str,
    *,
    refresh: bool = False,
    redactor: Redactor | None = None,
) -> Merge:
    """Adds new recordings, and keeps the existing ones: see `harness.cassette.recorder.merging`.

    Only one thread of one process writes at a time. A cassette without new recordings is not written. Raises
    CassetteError where the cassette would contain a secret that `redactor` knows.
    """
    with only_writer(path.parent):
        held = open_cassette(path).recordings if path.exists() else ()
        merged, done = merged_recordings(held, recordings, refresh=refresh)
        if done.changes_cassette:
            if redactor is not None:
                refuse_secrets(path, merged, redactor)
            save_cassette(path, Cassette(merged), suite=suite, case=case)
        return done


def journals_left(cassettes: Path) -> list[Path]:
    """Journals of dead recordings, of every suite: what is in them is on no cassette yet."""
    left = []
    for path in sorted(cassettes.glob("*/.*.journal")):
        with path.open("rb") as file, suppress(BlockingIOError):  # a recording is in progress
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            left.append(path)
    return left


def recover_journals(cassettes: Path, suite: str, redactor: Redactor) -> int:
    """Merges the journals that killed recordings of a suite have left; returns their number."""
    recovered = 0
    for path in sorted((cassettes / suite).glob(".*.journal")):
        with path.open("rb+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue  # a recording is in progress
            _recover(path, file.read(), cassettes, redactor)
        recovered += 1
    return recovered


def _recover(path: Path, content: bytes, cassettes: Path, redactor: Redactor) -> None:
    # Text after the last line end is a line that was never finished, possibly in the middle of a character. Only that
    # character ends a line: an answer may contain the line ends of Unicode.
    lines = content.split(b"\n")[:-1]
    try:
        heading = _Heading.model_validate_json(lines[0]) if lines else None
    except ValidationError as error:
        raise CassetteError(f"{path}: is not a recording journal: {_words(error)}", remedy="delete it") from None
    recordings = [_recording(path, number, line) for number, line in enumerate(lines[1:], start=2)]
    if heading is not None and heading.suite != path.parent.name:
        raise CassetteError(
            f"{path}: is a journal of suite {heading.suite!r}, but is stored in the folder of {path.parent.name!r}",
            remedy="move it into the folder of its suite, or delete it",
        )
    if heading is not None and recordings:
        cassette = cassette_path(cassettes, heading.suite, heading.case)
        merge_recordings(cassette, recordings, heading.suite, heading.case, redactor=redactor)
    path.unlink(missing_ok=True)


def _recording(path: Path, number: int, line: bytes) -> Recording:
    try:
        return Recording.model_validate_json(line)
    except ValidationError as error:
        before = number - 2
        kept = f"the complete recordings before it ({before}) are kept"
        raise CassetteError(
            f"{path}:{number}: is not a recording: {_words(error)}",
            remedy=f"cut the journal there (`sed -i '{number},$d' {shlex.quote(str(path))}`), as if the trial had been "
            f"killed then: {kept}; or delete the file",
        ) from None


def _refuse_secrets(recording: Recording, redactor: Redactor, path: Path) -> None:
    name = redactor.left_in(recording.texts())
    if name is not None:
        raise CassetteError(
            f"{path}: a recording of {recording.mark.tool!r} still contains the secret {name!r}, so it was not written",
            remedy="the value is part of a number or a name: choose another secret value, or ignore that argument",
        )


@contextmanager
def only_writer(folder: Path) -> Iterator[None]:
    """Excludes other writers of cassettes from the folder. The lock is on the folder itself, and leaves no
    lock file.
    """
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def _words(error: ValidationError) -> str:
    field, problem = first_words(error)
    return f"field {field!r}: {problem}" if field else problem
