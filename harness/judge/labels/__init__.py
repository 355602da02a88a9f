"""Labels of people: their content, their storage, and the rules by which they count."""

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
