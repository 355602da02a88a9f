"""A run folder: the manifest, one checksummed folder a trial, and the scores of later scorers beside the first ones.

    <run>/manifest.json, run_scores.json, suite.json (imported runs)
    <run>/trials/<case>/<attempt>/         trial.json, spans.jsonl, scorecard.json, seal.json, end_state.tar, page-*.png
    <run>/trials/<case>/<attempt>.failed-1/  an earlier try that the harness could not finish
    <run>/scores/<n>/                        scorecards.jsonl, run_scores.json, scoring.json, seal.json: n-th scoring

Append-only: no committed file is changed or removed. Incomplete files of a killed harness are not results, and are
removed when the run is resumed.
"""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from threading import Lock
from types import TracebackType
from typing import Self

from harness.case import Suite
from harness.disk import make_folder
from harness.documents import write_atomically
from harness.errors import ResultsError, UsageError
from harness.process_identity import partial_name
from harness.results.gc_pause import gc_paused
from harness.results.lock import WriterLock
from harness.results.manifest import RunManifest, Scoring
from harness.results.naming import check_run_name
from harness.results.opening import MANIFEST, check_below, check_trial, read_manifest, take_name
from harness.results.scorings import RUN_SCORES, Scorings
from harness.results.storage import (
    CHECKSUMS_FILE,
    commit_folder,
    json_bytes,
    json_line,
    read_as,
    remove_unfinished,
    verify_checksums,
)
from harness.results.stored import (
    END_STATE,
    StoredTrial,
    TrialKey,
    commit_times,
    first_scorecard,
    key_of,
    set_failed_aside,
    stored_trial,
)
from harness.score import Score, Scorecard
from harness.trace import Span, Trial

SUITE = "suite.json"
TRIALS = "trials"
_FEW = 100
"""Trials up to which each is checked by itself, and not the whole folder."""


class RunFolder:
    """Created by `create`, `open` (to read) or `resume` (to continue); writers hold the lock until `close`."""

    def __init__(self, path: Path, manifest: RunManifest, lock: WriterLock | None) -> None:
        self.path = path
        self._manifest = manifest
        self._lock = lock
        self._scorings = Scorings(path)
        self._threads = Lock()
        self._is_plain = False
        """Whether the trials are known to be plain files and folders, as those are that this process writes."""

    @classmethod
    def create(cls, root: Path, manifest: RunManifest) -> Self:
        """A new folder `root/<run>`; raises UsageError where the name is taken, which is never overwritten."""
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
        """A folder to read; raises UsageError where there is none, ResultsError naming the damaged file.

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
        """The suite that is stored with the run; None where it is the project's suite with the manifest's name."""
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
                "scorer_versions": scoring.scorer_versions,
                "run_suite_digest": None if ran == scoring.suite_digest else ran,
            }
        )

    def commit(
        self, trial: Trial, spans: Sequence[Span], scorecard: Scorecard, end_state: Path | None = None, *pictures: Path
    ) -> Path:
        """Puts a whole trial on disk at once and gives its folder; safe from several threads.

        Where the harness failed at this trial before, that record moves to `<attempt>.failed-<n>`. Raises ResultsError
        where the trial was already committed, or is not planned.
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
        target = self._place(key)
        with self._threads:
            set_failed_aside(target)
            commit_folder(target, files)
        return target

    def adopt(self, other: "RunFolder") -> None:
        """Takes over every trial of another run as it was committed there, earlier tries too.

        Raises ResultsError where one is damaged, UsageError where the other was scored again, otherwise than it ran.
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
        return {key_of(folder): folder.stat().st_mtime_ns for folder in self._committed()}

    def committed_among(self, keys: Iterable[TrialKey]) -> dict[TrialKey, int]:
        """As `committed`, of these planned trials alone: fast where few are asked for."""
        return commit_times(self.path / TRIALS, (key for key in keys if key in self._planned))

    def first_scorecards(self, keys: Iterable[TrialKey]) -> tuple[Scorecard, ...]:
        """The scorecards that these trials were committed with; raises ResultsError naming a damaged file."""
        keys = tuple(keys)
        if len(keys) > _FEW:
            self._check_trials()
        for key in keys:
            self._check_trial(key)
        return tuple(first_scorecard(self._place(key)) for key in keys)

    def scorecard(self, case_id: str, attempt: int) -> Scorecard:
        """The latest scorecard of one committed trial; raises ResultsError naming a damaged file."""
        later = self._scorings.scorecards()
        found = next((card for card in later if (card.case_id, card.attempt) == (case_id, attempt)), None)
        return found or self.first_scorecards([(case_id, attempt)])[0]

    @property
    def scorings(self) -> int:
        """How often the run was scored again since it ran."""
        return len(self._scorings.folders())

    @gc_paused()
    def finished(self) -> frozenset[TrialKey]:
        """The trials that need not be run again: committed, and not failed by the harness."""
        done = [folder for folder in self._committed() if first_scorecard(folder).outcome != "harness_failed"]
        return frozenset(key_of(folder) for folder in done)

    def trials(self) -> Iterator[StoredTrial]:
        """The committed trials in the planned order; raises ResultsError naming a damaged file."""
        for folder in self._committed():
            yield stored_trial(folder)

    def trial(self, case_id: str, attempt: int) -> Trial | None:
        """One committed trial; None where there is none. Raises ResultsError naming a damaged file."""
        stored = self.stored(case_id, attempt)
        return None if stored is None else stored.trial

    def stored(self, case_id: str, attempt: int) -> StoredTrial | None:
        """As `trial`, with the folder that holds its other files."""
        folder = self._place((case_id, attempt))
        if (case_id, attempt) not in self._planned or not folder.is_dir():
            return None
        self._check_trial((case_id, attempt))
        return stored_trial(folder)

    @gc_paused()
    def scorecards(self) -> tuple[Scorecard, ...]:
        """The latest scorecard of each committed trial, in the planned order."""
        later = {(card.case_id, card.attempt): card for card in self._scorings.scorecards()}
        return tuple(later.get(key_of(folder)) or first_scorecard(folder) for folder in self._committed())

    def run_scores(self) -> tuple[Score, ...]:
        """The latest figures over the whole run; empty where none was written yet."""
        latest = self._scorings.run_scores()
        if latest is not None:
            return latest
        path = self.path / RUN_SCORES
        return read_as(path, tuple[Score, ...]) if path.exists() else ()

    def write_run_scores(self, run_scores: Sequence[Score]) -> None:
        """The run's own figures, at its end; a resumed run writes them anew."""
        self._must_write()
        write_atomically(self.path / RUN_SCORES, json_bytes([score.model_dump() for score in run_scores]))

    def write_scorecards(self, scorecards: Sequence[Scorecard], run_scores: Sequence[Score], scoring: Scoring) -> Path:
        """A further scoring beside the earlier ones, which stay as they are; gives its folder."""
        self._must_write()
        return self._scorings.add(scorecards, run_scores, scoring)

    def verify(self) -> None:
        """Reads everything against its checksums; raises ResultsError naming the first damaged file."""
        for folder in (*self._committed(), *self._scorings.folders()):
            verify_checksums(folder)

    def close(self) -> None:
        """Lets others write; safe to call twice."""
        if self._lock is not None:
            self._lock.close()
            self._lock = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _must_write(self) -> None:
        if self._lock is None:
            raise ResultsError(f"run folder {str(self.path)!r} is open for reading only")

    @cached_property
    def _planned(self) -> frozenset[TrialKey]:
        return frozenset((one.case_id, one.attempt) for one in self._manifest.planned)

    def _place(self, key: TrialKey) -> Path:
        return self.path.joinpath(TRIALS, key[0], str(key[1]))

    def _check_trial(self, key: TrialKey) -> None:
        if not self._is_plain:
            check_trial(self.path / TRIALS, self._place(key))

    def _check_trials(self) -> None:
        """Once, and only where trials are read: a folder can hold many. Raises ResultsError."""
        if not self._is_plain:
            check_below(self.path / TRIALS)
            self._is_plain = True

    def _committed(self) -> list[Path]:
        self._check_trials()
        places = [self._place((one.case_id, one.attempt)) for one in self._manifest.planned]
        return [place for place in places if place.is_dir()]
