"""The questions to label: the criteria of a run's trajectories that no code decides, each once."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from harness.judge.judge import Subject, why_not_eligible
from harness.judge.labels import LabelItem
from harness.judge.rubric import Criterion, Rubric
from harness.judge.transcript import Piece, view


@dataclass(frozen=True, kw_only=True)
class Work:
    """One question to a person, with all data needed to answer it. It contains no answers of a judge."""

    subject: Subject
    criterion: Criterion

    @property
    def item(self) -> LabelItem:
        return LabelItem(
            case_id=self.subject.trial.case_id, trajectory=self.subject.digest, criterion=self.criterion.id
        )

    @property
    def evidence(self) -> list[Piece]:
        """The same pieces that a judge would receive."""
        return view(self.subject.transcript, self.criterion.evidence, self.criterion.agents)


def work_of(subjects: Iterable[Subject], rubric: Rubric) -> Iterator[Work]:
    """The questions in the order of the trials; attempts with the same actions give one question."""
    seen: set[LabelItem] = set()
    for subject in subjects:
        for criterion in rubric.criteria_for(subject.trial.case_id):
            if criterion.kind == "code" or why_not_eligible(rubric, subject, criterion) is not None:
                continue
            work = Work(subject=subject, criterion=criterion)
            if work.item not in seen:
                seen.add(work.item)
                yield work
