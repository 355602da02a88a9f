"""The questions to label: the criteria of a run's trajectories that no code decides, each once."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from harness.judge.judge import JudgedTrial, why_not_eligible
from harness.judge.labels import LabelItem
from harness.judge.rubric import Criterion, Rubric
from harness.judge.transcript import Piece, view


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
        """With the trial's data. Raises HarnessError where it cannot be read."""
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
