"""A label file: one JSON line for each label."""

from collections.abc import Iterator
from pathlib import Path

from harness.judge.labels.label import Label
from harness.judge.labels.lines import append_line, read_lines


def label_path(project: Path, suite: str, rubric: str) -> Path:
    """`suites/<suite>/labels/<rubric>.jsonl`."""
    return project / "suites" / suite / "labels" / f"{rubric}.jsonl"


class LabelFile:
    """Reads and adds labels. Several pages may add labels at the same time: each line is written atomically."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, label: Label) -> None:
        """Adds one line and flushes it to disk. Raises InvalidDocument where the file cannot be written."""
        append_line(self.path, label)

    def lines(self) -> Iterator[tuple[int, Label | str]]:
        """Each line's number (from 1) with its label, or a description of the problem. A missing file has no lines."""
        return read_lines(self.path, Label)
