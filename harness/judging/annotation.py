"""The queue of one annotator: it selects the next question, and stores each answer on disk before the next
question.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import Literal, Protocol, Self

from pydantic import Field, JsonValue, ValidationError

from harness.errors import UsageError
from harness.judging.judge import JudgedTrial, why_not_eligible
from harness.judging.labels import (
    Annotator,
    Label,
    LabelItem,
    LabelledItem,
    PersonAnswer,
    append_decided,
    label_lines,
    sort_labels,
)
from harness.judging.questions import shown_evidence
from harness.judging.rubrics import Criterion, Rubric
from harness.judging.transcripts import Piece
from harness.judging.views import view
from harness.values import Frozen, JsonObject

# The questions to label: the criteria of a run's trajectories that no code decides, each once.


class QueuedQuestion(Protocol):
    """A question as a queue needs it: what it is about is known, and the trajectory is read when it is shown."""

    @property
    def item(self) -> LabelItem: ...

    @property
    def criterion(self) -> Criterion: ...

    @property
    def attempt(self) -> int: ...

    @property
    def run(self) -> str: ...

    def loaded(self) -> "AnnotationTask":
        """With the trial's data. Raises HarnessError if it cannot be read."""
        ...


@dataclass(frozen=True, kw_only=True)
class AnnotationTask:
    """One question to a person, with all data needed to answer it. It contains no answers of a judge."""

    subject: JudgedTrial
    criterion: Criterion

    @property
    def item(self) -> LabelItem:
        return LabelItem(
            case_id=self.subject.trial.case_id, trajectory=self.subject.digest, criterion=self.criterion.id
        )

    @property
    def attempt(self) -> int:
        return self.subject.trial.attempt

    @property
    def run(self) -> str:
        return self.subject.run

    def loaded(self) -> "AnnotationTask":
        return self

    @property
    def evidence(self) -> list[Piece]:
        """The same pieces that a judge would receive."""
        return view(self.subject.transcript, self.criterion.evidence, self.criterion.agents)


def work_of(subjects: Iterable[JudgedTrial], rubric: Rubric) -> Iterator[AnnotationTask]:
    """The questions in the order of the trials; attempts with the same actions give one question."""
    seen: set[LabelItem] = set()
    for subject in subjects:
        for criterion in rubric.criteria_for(subject.trial.case_id):
            if criterion.kind == "code" or why_not_eligible(rubric, subject, criterion) is not None:
                continue
            work = AnnotationTask(subject=subject, criterion=criterion)
            if work.item not in seen:
                seen.add(work.item)
                yield work


PER_ITEM = 2
"""The default number of people who answer each question."""
_MAX_NOTE = 2000


class QueueEntry(Frozen):
    """One question of the queue, in the form of the page's list."""

    case_id: str
    attempt: int
    criterion: str
    answer: PersonAnswer | None
    """The annotator's own answer; answers of others are shown neither before nor after it."""
    note: str = ""


class AnnotatorSession(Frozen):
    """The annotator of a session."""

    name: Annotator
    role: Literal["annotator", "adjudicator"] = "annotator"
    per_item: int = Field(default=PER_ITEM, ge=1)

    @classmethod
    def of(cls, name: str, role: Literal["annotator", "adjudicator"] = "annotator", per_item: int = PER_ITEM) -> Self:
        """Raises UsageError for an invalid name."""
        try:
            return cls(name=name, role=role, per_item=per_item)
        except ValidationError:
            raise UsageError(
                f"invalid annotator name {name!r}",
                remedy="use at most 60 letters, digits, '.', '_', '@' and '-', beginning with a letter or digit",
            ) from None


class AnnotationQueue:
    """Safe to use from several threads, and beside other queues of the same file in this and other processes."""

    def __init__(
        self,
        rubric: Rubric,
        file: Path,
        annotator: AnnotatorSession,
        work: Sequence[QueuedQuestion],
        now: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        """Selects from `work` the questions for this annotator: own answers first, then questions with one answer of
        another person, then unanswered ones. An adjudicator gets the questions that two people answered differently;
        raises UsageError if one of them is the same person.
        """
        self.rubric = rubric
        self.annotator = annotator
        self._file = file
        self._now = now
        self._lock = Lock()
        self._work = tuple(work)
        self._labels: dict[LabelItem, Label] = {}
        self._labels_of_others: dict[LabelItem, tuple[Label, ...]] = {}
        self._stamp: tuple[int, int] | None = None
        self.queue: Sequence[QueuedQuestion] = ()
        self.refresh()

    def refresh(self) -> None:
        """Selects again if labels were added since: the numbers of questions change. Raises UsageError as before."""
        stamp = _stamp(self._file)
        if stamp == self._stamp:
            return
        labelled = {one.item: one for one in sort_labels(self._file, self.rubric).items}
        answered = {item: _answer_of(one, self.annotator) for item, one in labelled.items()}
        with self._lock:
            self._labels = {item: label for item, label in answered.items() if label is not None}
            self._labels_of_others = {
                item: tuple(label for label in one.labels if label.annotator != self.annotator.name)
                for item, one in labelled.items()
            }
            is_judge = self.annotator.role == "adjudicator"
            self.queue = self._to_adjudicate(self._work, labelled) if is_judge else self._to_label(self._work)
            self._stamp = stamp

    def find(self, case_id: str, attempt: int, criterion: str) -> QueuedQuestion:
        """A question by what it is about: numbers change when the queue is refreshed.

        Raises UsageError if this annotator is not asked it.
        """
        wanted = (case_id, attempt, criterion)
        for one in self.queue:
            if (one.item.case_id, one.attempt, one.item.criterion) == wanted:
                return one
        raise UsageError(
            f"{self.annotator.name} is not asked about {criterion[:100]!r} of {case_id[:100]!r} attempt {attempt}",
            remedy="enough others have answered, or there is no such question: go to the next one",
        )

    def places(self) -> list[QueueEntry]:
        """The whole queue."""
        return [
            QueueEntry(
                case_id=one.item.case_id,
                attempt=one.attempt,
                criterion=one.item.criterion,
                answer=None if label is None else label.answer,
                note="" if label is None else label.note,
            )
            for one in self.queue
            for label in (self._labels.get(one.item),)
        ]

    def shown(self, asked: QueuedQuestion) -> JsonObject:
        """What the annotator sees beside criterion and evidence. Raises HarnessError if the trial cannot be read."""
        label = self._labels.get(asked.item)
        return {
            "steps": [*_steps(asked.loaded())],
            "answer": None if label is None else label.answer,
            "step": None if label is None else label.step,
            "note": "" if label is None else label.note,
            "others": self._shown_others(asked.item),
        }

    def answer(self, work: QueuedQuestion, answer: PersonAnswer, note: str = "", step: int | None = None) -> Label:
        """Writes the label of a question and returns it; an unchanged answer and note write nothing.

        Raises UsageError.
        """
        if answer == "not_eligible" and work.criterion.applies_when is None:
            raise UsageError(f"criterion {work.criterion.id!r} always applies")
        if work.criterion.kind == "step" and answer == "fail" and step not in _steps(work.loaded()):
            raise UsageError(
                "the step that decided the failure is missing, or no agent acted at it",
                remedy="the number behind s: 4 for s4, s4.c0 and s4.r0",
            )
        if work.criterion.kind != "step" or answer != "fail":
            step = None
        if len(note) > _MAX_NOTE:
            raise UsageError(f"a note has at most {_MAX_NOTE} characters")
        with self._lock:
            added = append_decided(self._file, lambda: self._label(work, answer, note, step))
            if added is not None:
                self._labels[work.item] = added
            return self._labels[work.item]

    def _label(self, work: QueuedQuestion, answer: PersonAnswer, note: str, step: int | None) -> Label | None:
        """The label to add; None if the same person gave the same one last, perhaps on another page."""
        earlier = self._own_labels(work)
        settled = len({one.decision for one in earlier}) == 1 or (bool(earlier) and earlier[-1].revises)
        if settled and (earlier[-1].decision, earlier[-1].note) == ((answer, step), note):
            self._labels[work.item] = earlier[-1]
            return None
        return Label(
            annotator=self.annotator.name,
            run=work.run,
            case_id=work.item.case_id,
            attempt=work.attempt,
            trajectory=work.item.trajectory,
            rubric=self.rubric.name,
            criterion=work.criterion.id,
            criterion_version=work.criterion.version,
            answer=answer,
            step=step,
            note=note,
            time=self._now().isoformat(timespec="seconds"),
            role=self.annotator.role,
            revises=bool(earlier),
        )

    def _own_labels(self, work: QueuedQuestion) -> list[Label]:
        """The annotator's labels of the item as they are in the file now."""
        mine = (self.annotator.name, self.annotator.role, work.item, work.criterion.version)
        return [
            label
            for _, label in label_lines(self._file)
            if isinstance(label, Label)
            and label.rubric == self.rubric.name
            and (label.annotator, label.role, label.item, label.criterion_version) == mine
        ]

    def _shown_others(self, item: LabelItem) -> list[JsonValue]:
        """The answers of others, without names; only an adjudicator sees them."""
        if self.annotator.role != "adjudicator":
            return []
        return [
            {"answer": label.answer, "step": label.step, "note": label.note}
            for label in self._labels_of_others.get(item, ())
        ]

    def _to_label(self, work: Sequence[QueuedQuestion]) -> list[QueuedQuestion]:
        waiting = {item: len(labels) for item, labels in self._labels_of_others.items()}
        mine = [one for one in work if one.item in self._labels]
        missing = [one for one in work if one.item not in self._labels]
        open_ones = [one for one in missing if waiting.get(one.item, 0) < self.annotator.per_item]
        return [*mine, *sorted(open_ones, key=lambda one: -waiting.get(one.item, 0))]

    def _to_adjudicate(
        self, work: Sequence[QueuedQuestion], labelled: Mapping[LabelItem, LabelledItem]
    ) -> list[QueuedQuestion]:
        contested = {item for item, one in labelled.items() if one.settled == "contested"}
        found = [one for one in work if one.item in contested or one.item in self._labels]
        answered = sum(self.annotator.name in {label.annotator for label in labelled[one.item].labels} for one in found)
        if answered:
            raise UsageError(
                f"{self.annotator.name} answered {answered} of the {len(found)} questions with different answers",
                remedy="let somebody else adjudicate them, under another name",
            )
        return found


def _stamp(file: Path) -> tuple[int, int]:
    """Changes with each label that is added; (0, 0) without a file."""
    try:
        found = file.stat()
    except OSError:
        return (0, 0)
    return (found.st_mtime_ns, found.st_size)


def _steps(work: AnnotationTask) -> list[int]:
    """The steps that can be named, of a criterion of kind `step`: those at which an agent acted."""
    return sorted(shown_evidence(work.evidence).steps) if work.criterion.kind == "step" else []


def _answer_of(labelled: LabelledItem, annotator: AnnotatorSession) -> Label | None:
    if annotator.role == "adjudicator":
        decided = labelled.adjudication
        return decided if decided is not None and decided.annotator == annotator.name else None
    return next((label for label in labelled.labels if label.annotator == annotator.name), None)
