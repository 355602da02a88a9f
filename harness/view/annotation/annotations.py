"""The queues of all people who annotate in the app, and what they are made from."""

from collections import OrderedDict
from collections.abc import Callable
from pathlib import Path
from threading import Event, Lock
from typing import Final, Generic, TypeVar

from harness.case import Suite
from harness.errors import UsageError
from harness.judge import (
    AnnotationQueue,
    AnnotatorSession,
    LabelFile,
    Rubric,
    SortedLabels,
    label_path,
    load_rubric,
    rubric_names,
    sort_labels,
)
from harness.pipeline import suite_of
from harness.results import RunFolder
from harness.view.annotation.run_questions import RunQuestions, StoredQuestion

_RUNS: Final = 8
_QUEUES: Final = 64

T = TypeVar("T")


class Annotations:
    """Safe to use from several threads. What is used least is forgotten: all of it can be read again."""

    def __init__(self, project: Path) -> None:
        self._project = project
        self._closing = Event()
        self._questions: _Recent[RunQuestions] = _Recent(_RUNS)
        self._queues: _Recent[AnnotationQueue] = _Recent(_QUEUES)

    def close(self) -> None:
        """Ends what is being read."""
        self._closing.set()

    def suite(self, folder: RunFolder) -> Suite:
        """The suite of a run. Raises UsageError, InvalidDocument."""
        return suite_of(self._project, folder)

    def rubric(self, suite: Suite, name: str) -> Rubric:
        """A rubric of the suite or of the package, by name alone: an address never names a file of the machine."""
        if name not in rubric_names(suite.folder):
            known = ", ".join(rubric_names(suite.folder))
            raise UsageError(f"there is no rubric {name[:100]!r}", remedy=f"one of: {known}")
        return load_rubric(name, suite.folder).with_violations(suite.cases)

    def labels(self, suite: Suite, rubric: Rubric) -> SortedLabels:
        return sort_labels(self.file(suite, rubric), rubric)

    def file(self, suite: Suite, rubric: Rubric) -> LabelFile:
        return LabelFile(label_path(self._project, suite.name, rubric.name))

    def questions(self, folder: RunFolder, suite: Suite, rubric: Rubric) -> RunQuestions:
        """The questions of the run, read or being read."""
        key = (str(folder.path), folder.manifest.created, suite.digest, rubric.digest)
        return self._questions.got(
            key, lambda: RunQuestions(folder=folder, suite=suite, rubric=rubric, closing=self._closing)
        )

    def queue(
        self, questions: RunQuestions, found: tuple[StoredQuestion, ...], person: AnnotatorSession, criterion: str = ""
    ) -> AnnotationQueue:
        """The queue of one person, with what was labelled by now; of one criterion where one is named."""
        rubric, suite = questions.rubric, questions.suite
        wanted = [one for one in found if criterion in ("", one.criterion.id, one.criterion.id.rpartition(".")[0])]
        key = (str(questions.folder.path), rubric.digest, person.model_dump_json(), criterion, len(wanted))
        queue = self._queues.got(key, lambda: AnnotationQueue(rubric, self.file(suite, rubric), person, wanted))
        queue.refresh()
        return queue


class _Recent(Generic[T]):
    """The values that were used last, by key."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._kept: OrderedDict[tuple[object, ...], T] = OrderedDict()
        self._lock = Lock()

    def got(self, key: tuple[object, ...], make: Callable[[], T]) -> T:
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
            made = self._kept[key] = make()
            while len(self._kept) > self._most:
                self._kept.popitem(last=False)
            return made
