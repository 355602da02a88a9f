"""The queues of all people who annotate in the app, and what they are made from."""

import os
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from pathlib import Path
from threading import Event, Lock, Thread
from typing import Final, Generic, TypeVar

from harness.errors import HarnessError, UsageError
from harness.judging.annotation import AnnotationQueue, AnnotationTask, AnnotatorSession, work_of
from harness.judging.judge import JudgedTrial
from harness.judging.labels import LabelItem, SortedLabels, label_path, sort_labels
from harness.judging.rubrics import Criterion, Rubric, load_rubric, rubric_names
from harness.runs.measured_trials import judged_outcomes, suite_of
from harness.runs.store.folder import RunFolder, TrialKey
from harness.suite.cases import Case
from harness.suite.suite_file import suite_folder, suite_names
from harness.suite.suites import Suite

# The questions of a run by one rubric, found once: each trial is read for that, and none is kept in memory.

_AT_ONCE: Final = 100
"""Trials that are read before the first question is shown; a thread reads the others meanwhile."""


@dataclass(frozen=True, kw_only=True)
class StoredQuestion:
    """One question of a stored trial, which is read again when the question is shown."""

    folder: RunFolder
    case: Case | None
    item: LabelItem
    criterion: Criterion
    attempt: int

    @property
    def run(self) -> str:
        return self.folder.manifest.run

    def loaded(self) -> AnnotationTask:
        """Raises ResultsError for a damaged trial, UsageError for one that was replaced by another."""
        trial = self.folder.trial(self.item.case_id, self.attempt)
        if trial is None or trial.trajectory.digest != self.item.trajectory:
            raise UsageError(f"trial {self.item.case_id} / {self.attempt} of {self.run} is another one than before")
        return AnnotationTask(subject=JudgedTrial.of(self.run, trial, self.case), criterion=self.criterion)


@dataclass(kw_only=True)
class RunQuestions:
    """Safe to use from several threads. Of a run in flight only the new trials are read."""

    folder: RunFolder
    suite: Suite
    rubric: Rubric
    closing: Event
    problems: dict[TrialKey, str] = field(default_factory=dict)
    """Why trials cannot be read."""
    _found: dict[LabelItem, StoredQuestion] = field(default_factory=dict)
    unread: int = 0
    """Trials that a thread is still reading."""
    _read: set[TrialKey] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock)

    def found(self) -> tuple[StoredQuestion, ...]:
        """The questions so far. A call reads the first of the trials that have ended since, and leaves many others to
        a thread.
        """
        with self._lock:
            if not self.unread:
                planned = ((one.case_id, one.attempt) for one in self.folder.manifest.planned)
                fresh = list(self.folder.committed_among(key for key in planned if key not in self._read))
                self._take(fresh[:_AT_ONCE])
                self.unread = len(fresh[_AT_ONCE:])
                if self.unread:
                    Thread(target=self._take_all, args=(fresh[_AT_ONCE:],), name="questions", daemon=True).start()
            return tuple(self._found.values())

    def _take_all(self, keys: Sequence[TrialKey]) -> None:
        for key in keys:
            with self._lock:
                self._take((key,))
                self.unread -= 1

    def _take(self, keys: Iterable[TrialKey]) -> None:
        """A trial is checked for links when it is read."""
        for key in keys:
            if self.closing.is_set():
                return
            try:
                for one in self._questions(key):
                    self._found.setdefault(one.item, one)
            except HarnessError as error:
                self.problems[key] = error.message
            self._read.add(key)

    @cached_property
    def _cases(self) -> Mapping[str, Case]:
        return {case.id: case for case in self.suite.cases}

    def _questions(self, key: TrialKey) -> Iterator[StoredQuestion]:
        trial, case = self.folder.trial(*key), self._cases.get(key[0])
        if trial is None or trial.outcome not in judged_outcomes(self.rubric):
            return
        subject = JudgedTrial.of(self.folder.manifest.run, trial, case)
        for work in work_of([subject], self.rubric):
            yield StoredQuestion(
                folder=self.folder, case=case, item=work.item, criterion=work.criterion, attempt=work.attempt
            )


def _asks(rubric: Rubric, subject: JudgedTrial) -> bool:
    """A rubric of the user needs one who speaks more than once."""
    spoken = sum(piece.kind == "user" for piece in subject.transcript.pieces)
    if subject.trial.outcome not in judged_outcomes(rubric) or (rubric.of_user and spoken < 2):
        return False
    return any(work.evidence for work in work_of([subject], rubric))


_RUNS: Final = 8
_QUEUES: Final = 64

T = TypeVar("T")


class Annotations:
    """Safe to use from several threads. What is used least is forgotten: all of it can be read again."""

    def __init__(self, project: Path) -> None:
        self._project = project
        self._closing = Event()
        self._suites: Recent[Suite] = Recent(_RUNS)
        self._questions: Recent[RunQuestions] = Recent(_RUNS)
        self._queues: Recent[AnnotationQueue] = Recent(_QUEUES)

    def close(self) -> None:
        """Ends what is being read."""
        self._closing.set()

    def suite(self, folder: RunFolder) -> Suite:
        """The suite of a run, read again if a file of it has changed. Raises UsageError, InvalidDocument."""
        name = folder.manifest.suite
        files = stamp_of(suite_folder(self._project, name)) if name in suite_names(self._project) else None
        return self._suites.got(
            (str(folder.path), folder.manifest.created, files), lambda: suite_of(self._project, folder)
        )

    def rubric(self, suite: Suite, name: str) -> Rubric:
        """A rubric of the suite or of the package, by name alone: an address never names a file of the machine."""
        if name not in rubric_names(suite.folder):
            known = ", ".join(rubric_names(suite.folder))
            raise UsageError(f"there is no rubric {name[:100]!r}", remedy=f"one of: {known}")
        return load_rubric(name, suite.folder).with_violations(suite.cases)

    def fitting(self, folder: RunFolder, suite: Suite) -> list[Rubric]:
        """The rubrics that ask something about one of the first trials; all of them while no trial can be read."""
        cases = {case.id: case for case in suite.cases}
        subjects = []
        planned = ((one.case_id, one.attempt) for one in folder.manifest.planned)
        for key in islice(filter(lambda key: folder.committed_among([key]), planned), 10):
            with suppress(HarnessError):  # the list of questions names what cannot be read
                if (trial := folder.trial(*key)) is not None:
                    subjects.append(JudgedTrial.of(folder.manifest.run, trial, cases.get(trial.case_id)))
        rubrics = [self.rubric(suite, name) for name in rubric_names(suite.folder)]
        return [one for one in rubrics if not subjects or any(_asks(one, subject) for subject in subjects)]

    def labels(self, suite: Suite, rubric: Rubric) -> SortedLabels:
        return sort_labels(self.file(suite, rubric), rubric)

    def file(self, suite: Suite, rubric: Rubric) -> Path:
        return label_path(self._project, suite.name, rubric.name)

    def questions(self, folder: RunFolder, suite: Suite, rubric: Rubric) -> RunQuestions:
        """The questions of the run."""
        key = (str(folder.path), folder.manifest.created, suite.digest, rubric.digest)
        return self._questions.got(
            key, lambda: RunQuestions(folder=folder, suite=suite, rubric=rubric, closing=self._closing)
        )

    def queue(self, questions: RunQuestions, person: AnnotatorSession, criterion: str = "") -> AnnotationQueue:
        """The queue of one person, with what was labelled by now; of one criterion where one is named."""
        rubric, suite = questions.rubric, questions.suite
        found = questions.found()
        wanted = [one for one in found if criterion in ("", one.criterion.id, one.criterion.id.rpartition(".")[0])]
        key = (str(questions.folder.path), rubric.digest, person.model_dump_json(), criterion, len(wanted))
        queue = self._queues.got(key, lambda: AnnotationQueue(rubric, self.file(suite, rubric), person, wanted))
        queue.refresh()
        return queue


def stamp_of(folder: Path) -> Hashable:
    """Changes with the files below the folder, without people's labels."""
    found = []
    for place, folders, names in os.walk(folder):
        if Path(place) == folder and "labels" in folders:
            folders.remove("labels")
        for name in names:
            with suppress(OSError):
                seen = os.lstat(f"{place}/{name}")
                found.append((place, name, seen.st_mtime_ns, seen.st_size))
    return frozenset(found)


class Recent(Generic[T]):
    """The values that were used last, by a key that changes with what they are made of."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[Hashable, T] = OrderedDict()
        self._lock = Lock()

    def got(self, key: Hashable, make: Callable[[], T]) -> T:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            made = self._kept[key] = make()
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
            return made
