"""Labels of people: what they said, where it is kept, and what of it counts."""

from harness.judge.labels.file import LabelFile, label_path
from harness.judge.labels.label import Label, LabelItem, LabelledItem, PersonAnswer
from harness.judge.labels.sorting import LeftOut, SortedLabels, sort_labels

__all__ = [
    "Label",
    "LabelFile",
    "LabelItem",
    "LabelledItem",
    "LeftOut",
    "PersonAnswer",
    "SortedLabels",
    "label_path",
    "sort_labels",
]
