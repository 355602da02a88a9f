"""People's labels and the verdicts of the version in use, by trial, for one criterion of a run."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from harness.judge import Judgement, LabelItem, LabelledItem, Rubric, SortedLabels
from harness.results import RunFolder, TrialKey, latest, read_judgements


@dataclass(frozen=True, kw_only=True)
class ComparedVerdicts:
    """What is known of one criterion, or one item of a checklist, of one trial."""

    key: TrialKey
    criterion: str
    in_use: Judgement | None = None
    people: LabelledItem | None = None

    @property
    def right(self) -> str | None:
        """The answer that people settled on; None where they did not."""
        return None if self.people is None else self.people.answer


def compared_verdicts(
    folder: RunFolder, rubric: Rubric, criterion: str, labels: SortedLabels, tried: Iterable[Judgement] = ()
) -> list[ComparedVerdicts]:
    """Of all trials with a verdict or a label, in the planned order: first those with a label.

    `tried`: verdicts that tell which trajectory a trial has, where the version in use gave none.
    """
    judged = latest(one for one in read_judgements(folder.path, rubric.name) if rubric.is_of(one.criterion, criterion))
    own = {key: one.trajectory for key, one in judged.items()}
    own |= {(one.case_id, one.attempt, one.criterion): one.trajectory for one in tried}
    by_item = labels.by_item
    own |= _labelled(folder, rubric, criterion, by_item, own)
    order = {(one.case_id, one.attempt): place for place, one in enumerate(folder.manifest.planned)}
    found = [
        ComparedVerdicts(
            key=(case, attempt),
            criterion=name,
            in_use=judged.get((case, attempt, name)),
            people=by_item.get(LabelItem(case_id=case, trajectory=trajectory, criterion=name)),
        )
        for (case, attempt, name), trajectory in own.items()
        if (case, attempt) in order
    ]
    return sorted(found, key=lambda one: (one.people is None, order[one.key], one.criterion))


def _labelled(
    folder: RunFolder,
    rubric: Rubric,
    criterion: str,
    by_item: Mapping[LabelItem, LabelledItem],
    known: Mapping[tuple[str, int, str], str],
) -> dict[tuple[str, int, str], str]:
    """Labels that were made in this run, of trials that no judge has judged."""
    name = folder.manifest.run
    return {
        (item.case_id, label.attempt, item.criterion): item.trajectory
        for item, one in by_item.items()
        if rubric.is_of(item.criterion, criterion)
        for label in one.labels
        if label.run == name and (item.case_id, label.attempt, item.criterion) not in known
    }
