"""Run folders: found by name or path, written trial by trial, and read with their later scorings."""

import gc
import hashlib
import os
import re
import shutil
import stat
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Self, TypeVar

from pydantic import BaseModel

from harness.disk import is_folder, make_folder, read_plain_file, write_atomically
from harness.errors import ResultsError, UsageError
from harness.processes import partial_name
from harness.runs.store.figures import (
    Counts,
    Pool,
    Row,
    Stamp,
    counts_of,
    digest_of_stamps,
    read_head,
    stored_rows,
    write_figures,
)
from harness.runs.store.manifest import (
    MANIFEST,
    RunManifest,
    Scoring,
    check_below,
    check_run_name,
    check_trial,
    read_manifest,
    take_name,
)
from harness.runs.store.storage import (
    CHECKSUMS_FILE,
    WriterLock,
    commit_folder,
    json_bytes,
    json_line,
    open_checked,
    parsed,
    read_as,
    read_checked,
    read_part,
    remove_unfinished,
    verify_checksums,
)
from harness.scoring.scorecard import Scorecard
from harness.suite.suites import Suite
from harness.text import alternatives
from harness.traces.spans import Span
from harness.traces.trial import Trial


def run_path(project: Path, name: str) -> Path:
    """The folder of a run, from its name or path. Raises UsageError, with the nearest names, if it does
    not exist.
    """
    named = project / "runs" / name
    if is_folder(named) or os.path.exists(name):  # `Path.exists` raises OSError for a name too long
        return named if is_folder(named) else Path(name)
    runs = [path.name for path in (project / "runs").glob("[!.]*") if path.is_dir()]
    raise UsageError(
        f"{name[:200]!r} is neither a run folder nor a run in {project / 'runs'}", remedy=alternatives(name, runs)
    )


END_STATE = "end_state.tar"

TrialKey = tuple[str, int]
"""Case id and attempt."""

_Document = TypeVar("_Document", Trial, Scorecard)


@dataclass(frozen=True, kw_only=True)
class StoredTrial:
    """A committed trial; its spans are read on first access."""

    trial: Trial
    folder: Path

    @property
    def spans(self) -> tuple[Span, ...]:
        """The spans of the trial."""
        path = self.folder / "spans.jsonl"
        lines = read_checked(self.folder, path.name).splitlines()
        return tuple(parsed(path, line, Span) for line in lines)

    @property
    def end_state(self) -> Path | None:
        """The archive of the files that the agent changed; None if none was stored."""
        path = self.folder / END_STATE
        return path if path.exists() else None


def commit_times(trials: Path, keys: Iterable[TrialKey]) -> dict[TrialKey, int]:
    """The time of the commit of those that are there: nanoseconds since the epoch."""
    found: dict[TrialKey, int] = {}
    for case_id, attempt in keys:
        try:
            seen = os.lstat(f"{trials}/{case_id}/{attempt}")
        except OSError:
            continue
        if stat.S_ISDIR(seen.st_mode):
            found[case_id, attempt] = seen.st_mtime_ns
    return found


def set_failed_aside(target: Path) -> Path:
    """Renames a trial that the harness could not finish, so that the second try takes its place; where it is now."""
    if not target.exists():
        return target
    if first_scorecard(target).outcome != "harness_failed":
        raise ResultsError(f"{target} is already committed", remedy="a finished trial is never overwritten")
    number = 1
    while (aside := target.with_name(f"{target.name}.failed-{number}")).exists():
        number += 1
    return target.rename(aside)


def stored_trial(folder: Path) -> StoredTrial:
    """The trial in the folder; raises ResultsError naming a damaged file."""
    return StoredTrial(trial=_document_of_trial(folder, "trial.json", Trial), folder=folder)


def first_scorecard(folder: Path) -> Scorecard:
    """The scorecard that the trial was committed with; raises ResultsError naming a damaged file."""
    return _document_of_trial(folder, "scorecard.json", Scorecard)


def key_of(folder: Path) -> TrialKey:
    """Which trial the folder `<case>/<attempt>` holds."""
    return folder.parent.name, int(folder.name)


def _document_of_trial(folder: Path, name: str, shape: type[_Document]) -> _Document:
    """A document that belongs to the folder's trial: its case becomes part of paths, and may be a path itself."""
    found = parsed(folder / name, read_checked(folder, name), shape)
    if (found.case_id, str(found.attempt)) != (folder.parent.name, folder.name):
        raise ResultsError(
            f"{folder / name} is of another trial: {found.case_id[:100]!r} attempt {found.attempt}",
            remedy="the run folder is damaged: run again under another name",
        )
    return found


_SCORING = "scoring.json"
_SCORECARDS = "scorecards.jsonl"
_PLACES = "places.txt"
"""A line for each scorecard: digest, offset and length of its line, and its trial."""
_NUMBER = re.compile(r"[1-9][0-9]{0,8}")


class Scorings:
    """Of the run folder `run`. Each reading call raises ResultsError naming a damaged file."""

    def __init__(self, run: Path) -> None:
        self._folder = run / "scores"
        self._read: tuple[str, Scoring] | None = None

    def folders(self) -> list[Path]:
        """One a scoring, the first one first; empty if the run was not scored again."""
        if not self._folder.is_dir():  # as before every commit of a first run
            return []
        found = (path for path in self._folder.iterdir() if _NUMBER.fullmatch(path.name))
        return sorted(found, key=lambda path: int(path.name))

    @property
    def state(self) -> str:
        """Changes with the latest scoring; empty if there is none."""
        folder = self._last()
        return "" if folder is None else f"{folder.name} {read_as(folder / CHECKSUMS_FILE, dict[str, str])}"

    def add(self, scorecards: Iterable[Scorecard], scoring: Scoring) -> Path:
        """Commits a further scoring, of which one card at a time is in memory, and gives its folder; the earlier ones
        stay as they are.
        """
        last = self._last()
        number = 1 if last is None else int(last.name) + 1
        target = self._folder / str(number)
        cards, places = self._folder.with_name(partial_name(_SCORECARDS)), list[bytes]()
        try:
            with cards.open("xb") as stream:
                for card in scorecards:
                    line = json_line(card)
                    where = f"{hashlib.sha256(line).hexdigest()} {stream.tell()} {len(line)}"
                    places.append(f"{where} {card.case_id}/{card.attempt}\n".encode())
                    stream.write(line)
            files: dict[str, bytes | Path] = {
                _SCORECARDS: cards,
                _PLACES: b"".join(places),
                _SCORING: json_bytes(scoring),
            }
            commit_folder(target, files)
        finally:
            cards.unlink(missing_ok=True)
        return target

    def latest(self) -> Scoring | None:
        """By which suite and scorers the run was scored last; None if it was not scored again."""
        folder = self._last()
        if folder is None:
            return None
        if self._read is None or self._read[0] != folder.name:  # a scoring is never changed
            self._read = folder.name, parsed(folder / _SCORING, read_checked(folder, _SCORING), Scoring)
        return self._read[1]

    def scorecards(self) -> Iterator[Scorecard]:
        """One a trial that was scored again."""
        folder = self._last()
        if folder is not None:
            with open_checked(folder, _SCORECARDS) as lines:
                for line in lines:
                    yield parsed(folder / _SCORECARDS, line, Scorecard)

    def scorecard(self, key: TrialKey) -> Scorecard | None:
        """That of one trial, read alone; None if it was not scored again."""
        folder = self._last()
        places = b"" if folder is None else read_checked(folder, _PLACES)
        end = places.find(f" {key[0]}/{key[1]}\n".encode())
        if folder is None or end < 0:
            return None
        try:
            digest, start, length = places[places.rfind(b"\n", 0, end) + 1 : end].split()
            line = read_part(folder / _SCORECARDS, int(start), int(length), digest.decode())
            found = parsed(folder / _SCORECARDS, line, Scorecard)
        except (ValueError, OverflowError):
            found = None
        if found is None or (found.case_id, found.attempt) != key:
            raise ResultsError(f"{folder / _PLACES} does not lead to the trial", remedy="score the run again")
        return found

    def _last(self) -> Path | None:
        return next(reversed(self.folders()), None)


# Pauses Python's cyclic garbage collector while many stored values are read.
#
# The search walks over all values that live, as often as these have grown by a quarter: a run of 10,000 trials would
# cost half as much again a trial. Stored values are trees, and hold no cycles to be found.


@contextmanager
def gc_paused() -> Iterator[None]:
    """Holds for the whole process; from several threads it ends, at the latest, with the last of them."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


# A run folder: the manifest, one checksummed folder a trial, and the scores of later scorers beside the first ones.
#
#     <run>/manifest.json, suite.json (imported runs)
#     <run>/trials/<case>/<attempt>/         trial.json, spans.jsonl, scorecard.json, seal.json, end_state.tar,
#     page-*.png
#     <run>/trials/<case>/<attempt>.failed-1/  an earlier try that the harness could not finish
#     <run>/scores/<n>/                        scorecards.jsonl, scoring.json, seal.json: n-th
#     scoring
#
# Append-only: no committed file is changed or removed. Incomplete files of a killed harness are not results, and are
# removed when the run is resumed.

SUITE = "suite.json"
TRIALS = "trials"
_FEW = 100
"""Trials up to which each is checked by itself, and not the whole folder."""


class _Took(BaseModel):
    """The seconds of a trial, read without the rest."""

    duration_s: float | None = None


class RunFolder:
    """Created by `create`, `open` (to read) or `resume` (to continue); writers hold the lock until `close`."""

    def __init__(self, path: Path, manifest: RunManifest, lock: WriterLock | None) -> None:
        self.path = path
        self._manifest = manifest
        self._lock = lock
        self._scorings = Scorings(path)
        self._threads = Lock()
        self._pool = Pool()
        self._rows: dict[TrialKey, Row] = {}
        """Of trials that this process has committed or scored."""
        self._is_plain = False
        """Whether the trials are known to be plain files and folders, as those are that this process writes."""

    @classmethod
    def create(cls, root: Path, manifest: RunManifest) -> Self:
        """A new folder `root/<run>`; raises UsageError if the name is taken, which is never overwritten."""
        path = root / check_run_name(manifest.run)
        make_folder(root)
        unfinished = root / partial_name(f"unfinished-{manifest.run}")
        unfinished.mkdir()
        lock = WriterLock(unfinished)
        try:
            write_atomically(unfinished / MANIFEST, json_bytes(manifest))
            take_name(unfinished, path)
        except BaseException:
            lock.close()
            shutil.rmtree(unfinished, ignore_errors=True)
            raise
        made = cls(path, manifest, lock)
        made._is_plain = True
        return made

    @classmethod
    def open(cls, path: Path) -> Self:
        """A folder to read; raises UsageError if there is none, ResultsError naming the damaged file.

        ResultsError too for a link, a FIFO or a device in it: nothing in a run folder is followed, nor written through.
        """
        check_below(path, besides=frozenset({TRIALS}))
        return cls(path, read_manifest(path), None)

    @classmethod
    def resume(cls, path: Path) -> Self:
        """Opens a folder for further writing. Raises ResultsError if another process writes it."""
        check_below(path, besides=frozenset({TRIALS}))
        manifest = read_manifest(path)
        lock = WriterLock(path)
        remove_unfinished(path)
        return cls(path, manifest, lock)

    def keep_suite(self, suite: Suite) -> None:
        """Stores the suite with a run that belongs to no project: an imported run is scored by it."""
        self._must_write()
        write_atomically(self.path / SUITE, json_bytes(suite.model_dump(mode="json", by_alias=True)))

    @property
    def suite(self) -> Suite | None:
        """The suite that is stored with the run; None if it is the project's suite with the manifest's name."""
        path = self.path / SUITE
        return read_as(path, Suite) if path.exists() else None

    @property
    def manifest(self) -> RunManifest:
        """As the run was made, and with the suite and the scorers of its latest scoring."""
        scoring = self._scorings.latest()
        if scoring is None:
            return self._manifest
        ran = self._manifest.suite_digest
        return self._manifest.model_copy(
            update={
                "suite_digest": scoring.suite_digest,
                "case_digests": scoring.case_digests,
                "scorer_versions": scoring.scorer_versions,
                "run_suite_digest": None if ran == scoring.suite_digest else ran,
            }
        )

    def commit(
        self, trial: Trial, spans: Sequence[Span], scorecard: Scorecard, end_state: Path | None = None, *pictures: Path
    ) -> Path:
        """Puts a whole trial on disk at once and gives its folder; safe from several threads.

        If the harness failed at this trial before, that record moves to `<attempt>.failed-<n>`. Raises ResultsError
        if the trial was already committed, or is not planned.
        """
        self._must_write()
        if self._scorings.folders():
            raise ResultsError(
                f"run {self._manifest.run!r} was scored again since it ran, and takes no further trials",
                remedy="run the missing trials under another --run-name",
            )
        if (key := (trial.case_id, trial.attempt)) not in self._planned:
            raise ResultsError(f"trial {key[0]!r} attempt {key[1]} is not planned in run {self._manifest.run!r}")
        files: dict[str, bytes | Path] = {
            "trial.json": json_bytes(trial),
            "spans.jsonl": b"".join(json_line(span) for span in spans),
            "scorecard.json": json_bytes(scorecard),
        }
        if end_state is not None and end_state.exists():
            files[END_STATE] = end_state
        files |= {picture.name: picture for picture in pictures}
        target = self._trial_folder(key)
        with self._threads:
            aside = set_failed_aside(target)
            for name, file in files.items():
                if isinstance(file, Path) and file.parent == target:  # of the first record itself
                    files[name] = aside / name
            commit_folder(target, files)
            self._note(scorecard, trial.duration_s)
        return target

    def adopt(self, other: "RunFolder") -> None:
        """Takes over every trial of another run as it was committed there, earlier tries too.

        Raises ResultsError if one is damaged, UsageError if the other was scored again, otherwise than it ran.
        """
        self._must_write()
        if other.manifest != other._manifest:  # a second scoring at the end of the run itself does not count
            raise UsageError(f"run {other.path.name!r} was scored again since it ran", remedy="merge, then score again")
        other._check_trials()
        for trial in sorted((other.path / TRIALS).glob("*/[!.]*")):  # a dot: temporary
            verify_checksums(trial)
            commit_folder(
                self.path / trial.relative_to(other.path),
                {file.name: file for file in sorted(trial.iterdir()) if file.name != CHECKSUMS_FILE},
            )

    def committed(self) -> dict[TrialKey, int]:
        """The trials on disk, in the planned order, with the time of their commit: nanoseconds since the epoch."""
        return {key_of(folder): folder.stat().st_mtime_ns for folder in self._committed_folders()}

    def committed_among(self, keys: Iterable[TrialKey]) -> dict[TrialKey, int]:
        """As `committed`, of these planned trials alone: fast if few are asked for."""
        return commit_times(self.path / TRIALS, (key for key in keys if key in self._planned))

    def first_scorecards(self, keys: Iterable[TrialKey]) -> tuple[Scorecard, ...]:
        """The scorecards that these trials were committed with; raises ResultsError naming a damaged file."""
        keys = tuple(keys)
        if len(keys) > _FEW:
            self._check_trials()
        for key in keys:
            self._check_trial(key)
        return tuple(first_scorecard(self._trial_folder(key)) for key in keys)

    def scorecard(self, case_id: str, attempt: int) -> Scorecard:
        """The latest scorecard of one committed trial; raises ResultsError naming a damaged file."""
        return self._scorings.scorecard((case_id, attempt)) or self.first_scorecards([(case_id, attempt)])[0]

    @property
    def scorings(self) -> int:
        """How often the run was scored again since it ran."""
        return len(self._scorings.folders())

    @gc_paused()
    def finished(self) -> frozenset[TrialKey]:
        """The trials that need not be run again: committed, and not failed by the harness."""
        self._check_trials()
        rows = (row for _, row in self._all_rows() if row is not None)
        return frozenset(key for key, _, card, _ in rows if card.outcome != "harness_failed")

    def trials(self) -> Iterator[StoredTrial]:
        """The committed trials in the planned order; raises ResultsError naming a damaged file."""
        for folder in self._committed_folders():
            yield stored_trial(folder)

    def trial(self, case_id: str, attempt: int) -> Trial | None:
        """One committed trial; None if there is none. Raises ResultsError naming a damaged file."""
        stored = self.stored(case_id, attempt)
        return None if stored is None else stored.trial

    def stored(self, case_id: str, attempt: int) -> StoredTrial | None:
        """As `trial`, with the folder that holds its other files."""
        folder = self._trial_folder((case_id, attempt))
        if (case_id, attempt) not in self._planned or not folder.is_dir():
            return None
        self._check_trial((case_id, attempt))
        return stored_trial(folder)

    @gc_paused()
    def scorecards(self) -> tuple[Scorecard, ...]:
        """The latest scorecard of each committed trial, in the planned order."""
        return tuple(self.each_scorecard())

    def each_scorecard(self) -> Iterator[Scorecard]:
        """The same; of a run that was not scored again one at a time."""
        later = {(card.case_id, card.attempt): card for card in self._scorings.scorecards()}
        for folder in self._committed_folders():
            yield later.get(key_of(folder)) or first_scorecard(folder)

    def earlier_tries(self) -> tuple[Scorecard, ...]:
        """The scorecards of tries that another one followed."""
        asides = [aside for place in self._committed_folders() for aside in place.parent.glob(f"{place.name}.failed-*")]
        return tuple(parsed(one / "scorecard.json", read_checked(one, "scorecard.json"), Scorecard) for one in asides)

    @gc_paused()
    def cards(self) -> tuple[Scorecard, ...]:
        """As `scorecards`, without evidence of checks, reasons of passed ones and explanations of figures: for tables,
        and for runs of any length.
        """
        return tuple(self.each_card())

    def each_card(self) -> Iterator[Scorecard]:
        """The same, one at a time."""
        return (row[2] for _, row in self._all_rows() if row is not None)

    def timed_cards(self) -> Iterator[tuple[Scorecard, float | None]]:
        """As `each_card`, with the seconds that the trial took; None: not measured, or its file is damaged."""
        return (row[2:] for _, row in self._all_rows(timed=True) if row is not None)

    def counts(self) -> Counts:
        """How many trials succeeded and failed."""
        head = read_head(self.path, self._state())
        keys = ((one.case_id, one.attempt) for one in self._manifest.planned)
        if head is not None and head.stamps == digest_of_stamps(map(self._stamp, keys)):
            return head.counts
        return counts_of(self.each_card())

    def write_scorecards(self, scorecards: Iterable[Scorecard], scoring: Scoring) -> Path:
        """A further scoring beside the earlier ones, which stay as they are; gives its folder."""
        self._must_write()
        took = {(card.case_id, card.attempt): took_s for card, took_s in self.timed_cards()}
        noted = (self._note(card, took.get((card.case_id, card.attempt))) for card in scorecards)
        return self._scorings.add(noted, scoring)

    def verify(self) -> None:
        """Reads everything against its checksums; raises ResultsError naming the first damaged file."""
        for folder in (*self._committed_folders(), *self._scorings.folders()):
            verify_checksums(folder)

    def close(self) -> None:
        """Stores the figures and lets others write; safe to call twice."""
        if self._lock is not None:
            try:
                write_figures(self.path, self._state(), self._all_rows(timed=True))
            except (OSError, ResultsError):
                pass  # a damaged folder is told of when it is read
            finally:
                self._lock.close()
                self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _must_write(self) -> None:
        if self._lock is None:
            raise ResultsError(f"run folder {str(self.path)!r} is open for reading only")

    @cached_property
    def _trials(self) -> str:
        return str(self.path / TRIALS)

    @cached_property
    def _planned(self) -> frozenset[TrialKey]:
        return frozenset((one.case_id, one.attempt) for one in self._manifest.planned)

    def _trial_folder(self, key: TrialKey) -> Path:
        return self.path.joinpath(TRIALS, key[0], str(key[1]))

    def _check_trial(self, key: TrialKey) -> None:
        if not self._is_plain:
            check_trial(self.path / TRIALS, self._trial_folder(key))

    def _check_trials(self) -> None:
        """Once, and only if trials are read: a folder can hold many. Raises ResultsError."""
        if not self._is_plain:
            check_below(self.path / TRIALS)
            self._is_plain = True

    def _note(self, card: Scorecard, took_s: float | None) -> Scorecard:
        stamp = self._stamp(key := (card.case_id, card.attempt))
        if stamp is not None:
            self._rows[key] = key, stamp, self._pool.slim(card), took_s
        return card

    def _stamp(self, key: TrialKey) -> Stamp | None:
        """None: there is no such trial, or it is damaged."""
        try:
            found = os.lstat(f"{self._trials}/{key[0]}/{key[1]}/scorecard.json")
        except OSError:
            return None
        return found.st_size, found.st_mtime_ns

    def _state(self) -> str:
        return hashlib.sha256(read_plain_file(self.path / MANIFEST) + self._scorings.state.encode()).hexdigest()

    def _all_rows(self, *, timed: bool = False) -> Iterator[tuple[TrialKey, Row | None]]:
        """Of every planned trial its latest slim scorecard; None: it has none. What this process knows, then what is
        stored with the run, each if the trial has not changed since; else the trial's own files are read, the one that
        tells the time only if it is asked for.
        """
        stored = stored_rows(self.path, self._state())
        later: dict[TrialKey, Scorecard] | None = None
        for one in self._manifest.planned:
            key = one.case_id, one.attempt
            stamp, known = self._stamp(key), stored(key)
            row = self._rows.get(key, known)
            if stamp is not None and row is not None and row[1] == stamp:
                yield key, row
            elif stamp is not None or self._trial_folder(key).is_dir():
                self._check_trials()
                if later is None:
                    later = {(one.case_id, one.attempt): self._pool.slim(one) for one in self._scorings.scorecards()}
                first = first_scorecard(self._trial_folder(key))  # damage is named, even of a card that was replaced
                card = later.get(key, first)
                took_s = self.took_s(key) if timed else None
                yield key, (key, stamp or (-1, -1), self._pool.slim(card), took_s)
            else:
                yield key, None

    def took_s(self, key: TrialKey) -> float | None:
        """Seconds of a committed trial; None: not measured, or its file is damaged."""
        with suppress(OSError, ResultsError):
            folder = self._trial_folder(key)
            return parsed(folder, read_checked(folder, "trial.json"), _Took).duration_s
        return None

    def _committed_folders(self) -> Iterator[Path]:
        self._check_trials()
        places = (self._trial_folder((one.case_id, one.attempt)) for one in self._manifest.planned)
        return (place for place in places if place.is_dir())
