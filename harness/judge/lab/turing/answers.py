"""The answers of people in a Turing test: one JSON line for each answer, in the suite's folder of labels."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field, model_validator

from harness.judge.labels.label import Annotator
from harness.judge.labels.lines import append_line, read_lines
from harness.values import Frozen

TakenForReal = Literal["real", "simulated", "unsure"]


class TuringAnswer(Frozen):
    """One line: which of two conversations was taken for a person's, or how well a user kept to its plan."""

    annotator: Annotator
    run: str
    """The case of the simulated conversation."""
    case_id: str
    attempt: int
    simulated: str
    """Digest of its trajectory."""
    real: str | None = None
    """Digest of the person's conversation in the pair; None: the answer is a rating."""
    taken_for_real: TakenForReal | None = None
    """Which of the pair the annotator took for the person's."""
    intent: int | None = Field(default=None, ge=1, le=5)
    """How well the user followed its plan: 1 not at all, 5 throughout."""
    time: str
    """ISO 8601, UTC."""

    @model_validator(mode="after")
    def _is_one_of_both(self) -> "TuringAnswer":
        if (self.real is None) != (self.taken_for_real is None) or (self.real is None) != (self.intent is not None):
            raise ValueError("an answer has `real` and `taken_for_real`, or `intent`")
        return self


def turing_path(project: Path, suite: str) -> Path:
    """`suites/<suite>/labels/turing.jsonl`."""
    return project / "suites" / suite / "labels" / "turing.jsonl"


class TuringFile:
    """Reads and adds answers."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, answer: TuringAnswer) -> None:
        """Adds one line and flushes it to disk. Raises InvalidDocument where the file cannot be written."""
        append_line(self.path, answer)

    def answers(self) -> tuple[list[TuringAnswer], tuple[str, ...]]:
        """The last answer of each annotator to each question, and descriptions of malformed lines."""
        last: dict[tuple[str, str, str | None], TuringAnswer] = {}
        wrong: list[str] = []
        for number, line in self._lines():
            if isinstance(line, str):
                wrong.append(f"{self.path.name}, line {number} {line}")
            else:
                last[line.annotator, line.simulated, line.real] = line
        return list(last.values()), tuple(wrong)

    def _lines(self) -> Iterator[tuple[int, TuringAnswer | str]]:
        return read_lines(self.path, TuringAnswer)
