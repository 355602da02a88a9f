"""A label file: one JSON line for each label."""

from collections.abc import Callable, Iterator
from pathlib import Path

from harness.judge.labels.label import Label
from harness.judge.labels.lines import append_decided, append_line, read_lines


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

    def append_decided(self, decide: Callable[[], Label | None]) -> Label | None:
        """Adds the label that `decide` gives while nobody else adds one; None adds nothing. Raises InvalidDocument."""
        return append_decided(self.path, decide)

    @property
    def stamp(self) -> tuple[int, int]:
        """Changes with each label that is added; (0, 0) without a file."""
        try:
            found = self.path.stat()
        except OSError:
            return (0, 0)
        return (found.st_mtime_ns, found.st_size)

    def lines(self) -> Iterator[tuple[int, Label | str]]:
        """Each line's number (from 1) with its label, or a description of the problem. A missing file has no lines."""
        return read_lines(self.path, Label)
