"""Decides which labels count. The others are reported and omitted."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from harness.judge.labels.file import LabelFile
from harness.judge.labels.label import Label, LabelItem, LabelledItem
from harness.judge.rubric import Rubric
from harness.values import Frozen

Why = Literal["unreadable", "other_rubric", "unknown_criterion", "old_version", "contradicting"]

_WORDS: dict[Why, str] = {
    "unreadable": "cannot be read",
    "other_rubric": "belong to another rubric",
    "unknown_criterion": "name a criterion that the rubric does not have",
    "old_version": "were made for another version of their criterion",
    "contradicting": "contradict another label of the same item",
}


class ExcludedLine(Frozen):
    """One line that does not count."""

    line: int
    why: Why
    detail: str


class SortedLabels(Frozen):
    """The labels of a file that belong to one rubric."""

    items: tuple[LabelledItem, ...]
    """The items in the order in which they were first labelled."""
    left_out: tuple[ExcludedLine, ...] = ()

    @property
    def by_item(self) -> Mapping[LabelItem, LabelledItem]:
        """A mapping for lookups by item."""
        return {one.item: one for one in self.items}

    @property
    def annotators(self) -> tuple[str, ...]:
        """The annotators whose labels count, by name."""
        return tuple(sorted({label.annotator for one in self.items for label in one.labels}))

    def problems(self) -> tuple[str, ...]:
        """Descriptions of the omitted labels, with their numbers."""
        counted = Counter(one.why for one in self.left_out)
        return tuple(f"{counted[why]} labels {words}" for why, words in _WORDS.items() if counted[why])


def sort_labels(file: LabelFile, rubric: Rubric) -> SortedLabels:
    """The labels of `rubric` by item, and the omitted ones with their lines."""
    kept: dict[LabelItem, dict[tuple[str, str], list[tuple[int, Label]]]] = {}
    left_out: list[ExcludedLine] = []
    for line, label in file.lines():
        refused = _refused(line, label, rubric)
        if refused is not None:
            left_out.append(refused)
        elif isinstance(label, Label):
            kept.setdefault(label.item, {}).setdefault((label.role, label.annotator), []).append((line, label))
    items = [_labelled(item, by_person, left_out) for item, by_person in kept.items()]
    return SortedLabels(
        items=tuple(one for one in items if one is not None),
        left_out=tuple(sorted(left_out, key=lambda one: one.line)),
    )


def _refused(line: int, label: Label | str, rubric: Rubric) -> ExcludedLine | None:
    if isinstance(label, str):
        return ExcludedLine(line=line, why="unreadable", detail=label)
    if label.rubric != rubric.name:
        return ExcludedLine(line=line, why="other_rubric", detail=f"rubric {label.rubric!r}")
    criterion = rubric.criterion(label.criterion)
    if criterion is None:
        return ExcludedLine(line=line, why="unknown_criterion", detail=f"criterion {label.criterion!r}")
    if criterion.version != label.criterion_version:
        detail = f"criterion {label.criterion!r} is at version {criterion.version!r}, not {label.criterion_version!r}"
        return ExcludedLine(line=line, why="old_version", detail=detail)
    return None


def _labelled(
    item: LabelItem, by_person: Mapping[tuple[str, str], Sequence[tuple[int, Label]]], left_out: list[ExcludedLine]
) -> LabelledItem | None:
    last = [found for labels in by_person.values() if (found := _last(labels, left_out)) is not None]
    labels = tuple(label for _, label in last if label.role == "annotator")
    decisions = [(line, label) for line, label in last if label.role == "adjudicator"]
    if len({label.answer for _, label in decisions}) > 1:
        left_out.extend(_contradicting(decisions))
        decisions = []
    if not labels and not decisions:
        return None
    return LabelledItem(item=item, labels=labels, adjudication=decisions[-1][1] if decisions else None)


def _last(labels: Sequence[tuple[int, Label]], left_out: list[ExcludedLine]) -> tuple[int, Label] | None:
    """The annotator's last answer; None where answers without a revision contradict each other."""
    current: list[tuple[int, Label]] = []
    for line, label in labels:
        if label.revises:
            current = []
        current.append((line, label))
    if len({label.answer for _, label in current}) == 1:
        return current[-1]
    left_out.extend(_contradicting(current))
    return None


def _contradicting(labels: Sequence[tuple[int, Label]]) -> Iterator[ExcludedLine]:
    answers = " and ".join(f"{label.annotator} said {label.answer}" for _, label in labels)
    for line, label in labels:
        yield ExcludedLine(line=line, why="contradicting", detail=f"{label.case_id}, {label.criterion}: {answers}")
