"""What there is to label: the criteria of a run's trajectories that no code decides, each once."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from harness.judge.judge import Subject, why_not_eligible
from harness.judge.labels import LabelItem
from harness.judge.rubric import Criterion, Rubric
from harness.judge.transcript import Piece, view


@dataclass(frozen=True, kw_only=True)
class Work:
    """One question to a person, with everything needed to answer it. Knows nothing of what a judge said."""

    subject: Subject
    criterion: Criterion

    @property
    def item(self) -> LabelItem:
        return LabelItem(
            case_id=self.subject.trial.case_id, trajectory=self.subject.digest, criterion=self.criterion.id
        )

    @property
    def evidence(self) -> list[Piece]:
        """The very pieces that a judge would be shown."""
        return view(self.subject.transcript, self.criterion.evidence, self.criterion.agents)


def work_of(subjects: Iterable[Subject], rubric: Rubric) -> Iterator[Work]:
    """In the order of the trials; attempts that did the same are asked about once."""
    seen: set[LabelItem] = set()
    for subject in subjects:
        for criterion in rubric.criteria_for(subject.trial.case_id):
            if criterion.kind == "code" or why_not_eligible(rubric, subject, criterion) is not None:
                continue
            work = Work(subject=subject, criterion=criterion)
            if work.item not in seen:
                seen.add(work.item)
                yield work
