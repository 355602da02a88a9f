"""Comparisons of a run with others: `comparisons/<rubric>.jsonl` in the folder of run B, append-only, one per line.

An incomplete line of a killed harness is skipped. The checksums of the trials do not cover the file, as with
judgements.
"""

from collections.abc import Iterable
from pathlib import Path

from harness.errors import ResultsError
from harness.judge import PairwiseComparison, append_line, read_lines

_FOLDER = "comparisons"


def add_comparison(run: Path, comparison: PairwiseComparison) -> None:
    """Appends and flushes a comparison; several processes may append concurrently."""
    append_line(_path(run, comparison.rubric), comparison)


def read_comparisons(run: Path, rubric: str) -> list[PairwiseComparison]:
    """All of them, oldest first. Raises ResultsError naming a line that is JSON and no comparison."""
    path = _path(run, rubric)
    found = []
    for number, line in read_lines(path, PairwiseComparison):
        if isinstance(line, PairwiseComparison):
            found.append(line)
        elif line.startswith("is no "):
            raise ResultsError(f"{path}:{number}: {line}")
    return found


def compared_rubrics(run: Path) -> tuple[str, ...]:
    """The rubrics that the run has comparisons by, by name."""
    return tuple(sorted(path.stem for path in (run / _FOLDER).glob("*.jsonl")))


def latest_comparisons(comparisons: Iterable[PairwiseComparison]) -> list[PairwiseComparison]:
    """Of each pair of attempts, criterion and judge, the comparison that was made last."""
    found = {(one.run_a, one.case_id, one.attempt, one.criterion, one.judge): one for one in comparisons}
    return list(found.values())


def _path(run: Path, rubric: str) -> Path:
    return run / _FOLDER / f"{rubric}.jsonl"
