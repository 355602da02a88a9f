"""Recording: a trial writes a journal while it runs, which is merged into the case's cassette when it ends.

Recordings stay on a cassette, because other agent versions need them. The journal of a killed process is merged by the
next recording of the suite, so that no recording is lost; a file lock shows which journals are still in use.
"""

import fcntl
import os
import shlex
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

from pydantic import Field, ValidationError

from harness.cassettes.cassette import (
    Cassette,
    cassette_path,
    load_cassette,
    open_cassette,
    refuse_secrets,
    save_cassette,
)
from harness.cassettes.keys import WORLD
from harness.cassettes.recordings import Recording
from harness.cassettes.redaction import Redactor
from harness.disk import UnusableEntry, check_entries
from harness.errors import CassetteError
from harness.processes import partial_name
from harness.suite.problems import first_words
from harness.values import Frozen

# The rules by which a trial's recordings are merged into a cassette.
#
# An answer that the cassette has is kept, because other agents' recordings depend on it; a different one replaces it
# only on `refresh`, or if it was recorded after a write that was lost, so that only the present trial knows its answer.


@dataclass(frozen=True, kw_only=True)
class Merge:
    """How many recordings a merge has added, kept and replaced."""

    added: int = 0
    kept: int = 0
    """Of the trial's answers, the number that the cassette had already."""
    replaced: int = 0
    differs: int = 0
    """Of the trial's answers, the number that differ from the cassette's; the cassette keeps its own unless it is
    refreshed.
    """
    differing: tuple[str, ...] = ()
    """The tools that gave the different answers."""


def merged_recordings(
    held: Iterable[Recording], new: Iterable[Recording], *, refresh: bool = False
) -> tuple[tuple[Recording, ...], Merge]:
    """The cassette's recordings after the trial's, which are in the order in which they were made."""
    cassette = {recording.place: recording for recording in held}
    before = dict(cassette)
    renewed: set[str] = set()
    added = kept = replaced = 0
    differing: list[str] = []
    for recording in new:
        old = before.get(recording.place)
        if old is None:
            added += 1
            if recording.mark.effect == "write":
                renewed.add(recording.mark.state_name)
        elif recording.answers_like(old):
            kept += 1
            if refresh:
                cassette[recording.place] = old.with_provenance(recording.mark.provenance)
            continue
        else:
            differing.append(recording.mark.tool)
            if not (refresh or _rests_on(recording, renewed)):
                kept += 1
                continue
            replaced += 1
        cassette[recording.place] = recording
    done = Merge(
        added=added,
        kept=kept,
        replaced=replaced,
        differs=len(differing),
        differing=tuple(sorted(set(differing))),
    )
    return tuple(cassette.values()), done


def _rests_on(recording: Recording, renewed: set[str]) -> bool:
    """Whether the recording was made after a write whose answer the cassette did not have."""
    mark = recording.mark
    return bool(renewed) and (mark.server == WORLD or mark.state_name in renewed or bool(mark.elsewhere))


class _Heading(Frozen):
    """First line of a journal."""

    suite: str
    case: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._~-]{0,199}$")
    """The name of the cassette: the case, and for a judge the kind of question too (`CASE~compare`)."""


class TrialJournal:
    """The recordings of one trial, on disk line by line. Has one writer, and is not thread-safe."""

    def __init__(
        self,
        cassettes: Path,
        *,
        suite: str,
        case: str,
        redactor: Redactor,
        kept: bool = False,
        wrote: Callable[[int], None] = lambda _: None,
    ) -> None:
        """`kept` marks a journal that only its own trial uses: the journal of a killed trial is deleted,
        never merged. `wrote` is called with the size of each recording.
        """
        self._wrote = wrote
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
        """Raises CassetteError, and writes nothing, if the recording contains a known secret."""
        _refuse_secrets(recording, self.redactor, self.path)
        line = recording.model_dump_json() + "\n"
        self._wrote(len(line))
        self._file.write(line)
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
    """Adds new recordings, and keeps the existing ones.

    Only one thread of one process writes at a time. A cassette without new recordings is not written. Raises
    CassetteError if the cassette would contain a secret that `redactor` knows.
    """
    with only_writer(path.parent):
        held = open_cassette(path).recordings if path.exists() else ()
        merged, done = merged_recordings(held, recordings, refresh=refresh)
        if merged != held:
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
        raise CassetteError(f"{path}: is not a recording journal: {_problem_text(error)}", remedy="delete it") from None
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
            f"{path}:{number}: is not a recording: {_problem_text(error)}",
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


def _problem_text(error: ValidationError) -> str:
    field, problem = first_words(error)
    return f"field {field!r}: {problem}" if field else problem


# Live answers, stored with a run or probe as cassettes of its own, which drift checks compare with the recordings.
#
# <run>/live/<suite>/<case>.<attempt>.yaml     one trial
# <run>/live/<suite>/probe.yaml                reads that were sent again without an agent

FOLDER = "live"
PROBE = "probe"


@dataclass(frozen=True, kw_only=True)
class LiveCassette:
    """The live answers of one trial; of a probe, case and attempt are None."""

    suite: str
    case: str | None
    attempt: int | None
    path: Path

    def load(self) -> Cassette:
        """Raises CassetteError if the file is damaged."""
        return load_cassette(self.path)


def keep_live(journal: TrialJournal, folder: Path, suite: str, name: str) -> None:
    """The journal as a cassette; one of an earlier attempt is replaced."""
    save_cassette(folder / suite / f"{name}.yaml", Cassette(journal.recordings), suite=suite, case=name)
    journal.remove()


def live_cassettes(run: Path) -> Iterator[LiveCassette]:
    """All live cassettes of a run or probe, by file name. Raises CassetteError for a link or a pipe among them."""
    _refuse_links(run)
    for path in sorted((run / FOLDER).glob("*/*.yaml")):
        if path.name.startswith("."):
            continue
        case, _, attempt = path.stem.rpartition(".")
        trial = attempt.isdigit() and bool(case)
        yield LiveCassette(
            suite=path.parent.name, case=case if trial else None, attempt=int(attempt) if trial else None, path=path
        )


def _refuse_links(run: Path) -> None:
    try:
        check_entries(run, besides=frozenset({"trials"}))
    except UnusableEntry as error:
        raise CassetteError(str(error), remedy="remove it: the harness never writes such an entry") from None
