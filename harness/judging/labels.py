"""Labels of people: one answer to one criterion of one trajectory, the files of labels, and which labels count."""

import fcntl
import json
import os
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import BufferedRandom
from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, Field, ValidationError

from harness.disk import read_plain_file
from harness.errors import InvalidDocument
from harness.judging.rubrics import Rubric
from harness.suite.problems import first_words
from harness.values import Frozen

PersonAnswer = Literal["pass", "fail", "not_eligible", "unsure"]
"""`unsure`: the evidence does not decide the question. It is stored and counted, and agrees with no answer."""

Annotator = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,59}$")]


class LabelItem(Frozen):
    """One criterion of one trajectory: what is labelled and judged."""

    case_id: str
    trajectory: str
    criterion: str


class Label(Frozen):
    """One line of a label file. It belongs to the trajectory's digest, so it is valid for every run in which the agent
    did the same."""

    annotator: Annotator
    run: str
    """The run in which it was labelled, for information."""
    case_id: str
    attempt: int
    trajectory: str
    """Digest of the trajectory."""
    rubric: str
    criterion: str
    """Id of the criterion, or of an item of a checklist (`<id>.<n>`)."""
    criterion_version: str
    answer: PersonAnswer
    step: int | None = None
    """Of a criterion of kind `step`, with the answer `fail`: the step that decided the failure."""
    note: str = ""
    time: str
    """ISO 8601, UTC."""
    role: Literal["annotator", "adjudicator"] = "annotator"
    """An adjudicator decides if two annotators differ, having seen both answers."""
    revises: bool = False
    """The annotator changed an earlier answer. Without it two different answers contradict each other."""

    @property
    def decision(self) -> tuple[PersonAnswer, int | None]:
        """Answer and step: two people agree if both are the same."""
        return self.answer, self.step

    @property
    def item(self) -> LabelItem:
        """The labelled item."""
        return LabelItem(case_id=self.case_id, trajectory=self.trajectory, criterion=self.criterion)


class PairLabel(Frozen):
    """One line of a file of blind comparisons: by a criterion, which of two trials of a case a person found better,
    without being told whose they were.
    """

    annotator: Annotator
    runs: tuple[str, str]
    """In the order in which they were shown: A, then B."""
    trajectories: tuple[str, str]
    """Digests, in the same order."""
    case_id: str
    attempt: int
    rubric: str
    criterion: str
    criterion_version: str
    better: Literal["A", "B", "tie"]
    note: str = ""
    time: str
    """ISO 8601, UTC."""

    @property
    def winner(self) -> str | None:
        """The run whose trial is better; None: neither's."""
        return dict(zip("AB", self.runs, strict=True)).get(self.better)


Settled = Literal["single", "agreed", "adjudicated", "contested", "unsure"]
"""How an item's answer was determined; the last two have no answer."""


class LabelledItem(Frozen):
    """An item with all its labels."""

    item: LabelItem
    labels: tuple[Label, ...]
    """The last label of each annotator, in the order of their creation."""
    adjudication: Label | None = None

    @property
    def settled(self) -> Settled:
        """How the answer was determined."""
        if self.adjudication is not None:
            return "unsure" if self.adjudication.answer == "unsure" else "adjudicated"
        if len({label.decision for label in self.labels}) > 1:
            return "contested"
        if self.labels[0].answer == "unsure":
            return "unsure"
        return "single" if len(self.labels) == 1 else "agreed"

    @property
    def answer(self) -> Literal["pass", "fail", "not_eligible"] | None:
        """The reference answer; None if it is contested, or if nobody could decide."""
        if self.settled in ("contested", "unsure"):
            return None
        label = self.adjudication or self.labels[0]
        return None if label.answer == "unsure" else label.answer

    @property
    def step(self) -> int | None:
        """The step of the reference answer, of a criterion of kind `step`."""
        return None if self.answer is None else (self.adjudication or self.labels[0]).step


# Labels of people as files of JSON lines: committed with the project, append-only.

Line = TypeVar("Line", bound=BaseModel)
Added = TypeVar("Added", bound=Frozen)


def append_line(path: Path, value: Frozen) -> None:
    """Adds one line and flushes it to disk; several processes may add at a time. Raises InvalidDocument."""
    append_decided(path, lambda: value)


def append_decided(path: Path, decide: Callable[[], Added | None]) -> Added | None:
    """Adds the line that `decide` gives, and returns it; None adds nothing.

    `decide` is called while no other process adds a line, so that it may read the file first. Raises InvalidDocument.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("ab+") as stream:
            fcntl.flock(stream, fcntl.LOCK_EX)
            value = decide()
            if value is not None:
                _write(stream, value)
    except OSError as error:
        raise InvalidDocument(path, f"cannot be written: {error.strerror}") from None
    return value


def _write(stream: BufferedRandom, value: Frozen) -> None:
    line = value.model_dump_json(exclude_defaults=True).encode() + b"\n"
    stream.write(b"\n" + line if _is_torn(stream.fileno()) else line)
    stream.flush()
    os.fsync(stream.fileno())


def read_lines(path: Path, shape: type[Line]) -> Iterator[tuple[int, Line | str]]:
    """Each line's number (from 1) with its value, or a description of the problem. A missing file has no lines."""
    try:
        content = read_plain_file(path)  # a folder of other people may contain a link or a FIFO
    except FileNotFoundError:
        return
    except OSError as error:
        raise InvalidDocument(path, f"cannot be read: {error.strerror}") from None
    for number, line in enumerate(content.split(b"\n"), 1):
        if line.strip():
            yield number, _parsed_line(line, shape)


def read_whole(path: Path, shape: type[Line]) -> list[Line]:
    """The values of all lines. Raises InvalidDocument with the number of a line that cannot be read."""
    found = []
    for number, line in read_lines(path, shape):
        if isinstance(line, str):
            raise InvalidDocument(path, line, line=number)
        found.append(line)
    return found


def _is_torn(descriptor: int) -> bool:
    """Whether a killed writer left the last line incomplete."""
    size = os.fstat(descriptor).st_size
    return size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"


def _parsed_line(line: bytes, shape: type[Line]) -> Line | str:
    try:
        return shape.model_validate(json.loads(line))
    except (ValueError, RecursionError) as error:
        if isinstance(error, ValidationError):
            field, problem = first_words(error)
            return f"is no {shape.__name__.lower()}: field {field!r}: {problem}"
        return "is not a JSON object"


def label_path(project: Path, suite: str, rubric: str) -> Path:
    """`suites/<suite>/labels/<rubric>.jsonl`."""
    return project / "suites" / suite / "labels" / f"{rubric}.jsonl"


def pair_label_path(project: Path, suite: str, rubric: str) -> Path:
    """`suites/<suite>/labels/<rubric>.pairs.jsonl`."""
    return label_path(project, suite, rubric).with_suffix(".pairs.jsonl")


def label_lines(path: Path) -> Iterator[tuple[int, Label | str]]:
    """Each line's number (from 1) with its label, or a description of the problem. A missing file has no lines."""
    return read_lines(path, Label)


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


def sort_labels(path: Path, rubric: Rubric) -> SortedLabels:
    """The labels of `rubric` by item, and the omitted ones with their lines."""
    kept: dict[LabelItem, dict[tuple[str, str], list[tuple[int, Label]]]] = {}
    left_out: list[ExcludedLine] = []
    for line, label in label_lines(path):
        if (why := _excluded_line(label, rubric)) is not None:
            left_out.append(ExcludedLine(line=line, why=why))
        elif isinstance(label, Label):
            kept.setdefault(label.item, {}).setdefault((label.role, label.annotator), []).append((line, label))
    items = [_labelled_item(item, by_person, left_out) for item, by_person in kept.items()]
    return SortedLabels(
        items=tuple(one for one in items if one is not None),
        left_out=tuple(sorted(left_out, key=lambda one: one.line)),
    )


def _excluded_line(label: Label | str, rubric: Rubric) -> Why | None:
    if isinstance(label, str):
        return "unreadable"
    if label.rubric != rubric.name:
        return "other_rubric"
    criterion = rubric.criterion(label.criterion)
    if criterion is None:
        return "unknown_criterion"
    return "old_version" if criterion.version != label.criterion_version else None


def _labelled_item(
    item: LabelItem, by_person: Mapping[tuple[str, str], Sequence[tuple[int, Label]]], left_out: list[ExcludedLine]
) -> LabelledItem | None:
    last = [found for labels in by_person.values() if (found := _last(labels, left_out)) is not None]
    labels = tuple(label for _, label in last if label.role == "annotator")
    decisions = [(line, label) for line, label in last if label.role == "adjudicator"]
    if len({label.decision for _, label in decisions}) > 1:
        left_out.extend(_contradicting(decisions))
        decisions = []
    if not labels and not decisions:
        return None
    return LabelledItem(item=item, labels=labels, adjudication=decisions[-1][1] if decisions else None)


def _last(labels: Sequence[tuple[int, Label]], left_out: list[ExcludedLine]) -> tuple[int, Label] | None:
    """The annotator's last answer; None if answers without a revision contradict each other."""
    current: list[tuple[int, Label]] = []
    for line, label in labels:
        if label.revises:
            current = []
        current.append((line, label))
    if len({label.decision for _, label in current}) == 1:
        return current[-1]
    left_out.extend(_contradicting(current))
    return None


def _contradicting(labels: Sequence[tuple[int, Label]]) -> Iterator[ExcludedLine]:
    return (ExcludedLine(line=line, why="contradicting") for line, _ in labels)
