"""Labels of people: their content, their storage, and the rules by which they count."""

from harness.judge.labels.file import LabelFile, label_path
from harness.judge.labels.label import Label, LabelItem, LabelledItem, PersonAnswer
from harness.judge.labels.sorting import ExcludedLine, SortedLabels, sort_labels

__all__ = [
    "ExcludedLine",
    "Label",
    "LabelFile",
    "LabelItem",
    "LabelledItem",
    "PersonAnswer",
    "SortedLabels",
    "label_path",
    "sort_labels",
]
