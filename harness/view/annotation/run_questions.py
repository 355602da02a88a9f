"""The questions of a run by one rubric, found once: each trial is read for that, and none is kept in memory."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from threading import Event, Lock, Thread

from harness.case import Case, Suite
from harness.errors import HarnessError, UsageError
from harness.judge import AnnotationTask, Criterion, JudgedTrial, LabelItem, Rubric, work_of
from harness.pipeline import judged_outcomes
from harness.results import RunFolder, TrialKey


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
    _read: set[TrialKey] = field(default_factory=set)
    _lock: Lock = field(default_factory=Lock)
    _reading: Thread | None = None

    def within(self, seconds: float) -> tuple[StoredQuestion, ...] | None:
        """All questions; None where finding them takes longer, which then goes on."""
        waiting = self._waiting()
        if waiting:
            self._begun().join(seconds)
            waiting = self._waiting()
        return None if waiting else self.questions

    @property
    def questions(self) -> tuple[StoredQuestion, ...]:
        """Those that were found so far."""
        with self._lock:
            return tuple(self._found.values())

    @property
    def progress(self) -> tuple[int, int]:
        """Trials that were read, of how many."""
        return len(self._read), len(self._read) + len(self._waiting())

    def _waiting(self) -> list[TrialKey]:
        """Trials that have ended and were not read; each is checked for links when it is read."""
        planned = [(one.case_id, one.attempt) for one in self.folder.manifest.planned]
        return list(self.folder.committed_among(key for key in planned if key not in self._read))

    def _begun(self) -> Thread:
        with self._lock:
            if self._reading is None or not self._reading.is_alive():
                self._reading = Thread(target=self._read_all, name="questions", daemon=True)
                self._reading.start()
            return self._reading

    def _read_all(self) -> None:
        cases = {case.id: case for case in self.suite.cases}
        for key in self._waiting():
            if self.closing.is_set():
                return
            try:
                found = list(self._questions(key, cases.get(key[0])))
            except HarnessError as error:
                self.problems[key] = error.message
                found = []
            with self._lock:
                for one in found:
                    self._found.setdefault(one.item, one)
                self._read.add(key)

    def _questions(self, key: TrialKey, case: Case | None) -> Iterator[StoredQuestion]:
        trial = self.folder.trial(*key)
        if trial is None or trial.outcome not in judged_outcomes(self.rubric):
            return
        subject = JudgedTrial.of(self.folder.manifest.run, trial, case)
        for work in work_of([subject], self.rubric):
            yield StoredQuestion(
                folder=self.folder, case=case, item=work.item, criterion=work.criterion, attempt=work.attempt
            )
