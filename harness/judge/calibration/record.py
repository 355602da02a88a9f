"""Which judges were held against people, and how they did: one JSON line a calibration, in the project."""

from collections.abc import Sequence
from pathlib import Path

from harness.errors import InvalidDocument
from harness.frozen import Frozen
from harness.judge.judgement import JudgeIdentity, Judgement
from harness.judge.labels.lines import append_line, read_lines
from harness.judge.rubric import Rubric


class CalibrationRecord(Frozen):
    """A judge, given by prompt and model, and its held-out agreement with people on the criteria of a rubric."""

    time: str
    """ISO 8601, UTC."""
    rubric: str
    rubric_version: str
    criteria: dict[str, str]
    """Id -> version of each criterion that was labelled."""
    prompt: str
    prompt_version: str
    prompt_digest: str
    model: str
    labels: int
    """Labelled items, in all parts."""
    annotators: tuple[str, ...]
    held_out_questions: int
    held_out_agreement: float
    held_out_kappa: float | None
    held_out_digest: str
    held_out_seen_before: int = 0
    """Earlier calibrations that looked at the same held-out part: with each, its figures tell less."""


def record_path(project: Path, suite: str, rubric: str) -> Path:
    """`suites/<suite>/labels/<rubric>.calibrations.jsonl`."""
    return project / "suites" / suite / "labels" / f"{rubric}.calibrations.jsonl"


def read_records(path: Path) -> tuple[CalibrationRecord, ...]:
    """Oldest first; none where there is no file. Raises InvalidDocument with the line."""
    found = []
    for number, record in read_lines(path, CalibrationRecord):
        if isinstance(record, str):
            raise InvalidDocument(path, record, line=number)
        found.append(record)
    return tuple(found)


def add_record(path: Path, record: CalibrationRecord) -> None:
    """Adds a line; what is there stays."""
    append_line(path, record)


def uncalibrated(
    rubric: Rubric, judgements: Sequence[Judgement], records: Sequence[CalibrationRecord]
) -> tuple[str, ...]:
    """Criteria whose judgements no calibration speaks for: the prompt, the model or the criterion is another one.

    What code decides needs none.
    """
    judged = {
        (_base(rubric, one), one.criterion_version, one.judge) for one in judgements if one.judge.prompt is not None
    }
    open_ones = {
        name for name, version, judge in judged if not any(_covers(one, name, version, judge) for one in records)
    }
    return tuple(one.id for one in rubric.criteria if one.id in open_ones)


def _base(rubric: Rubric, judgement: Judgement) -> str:
    """Of an item of a checklist the criterion that stands for it."""
    found = rubric.criterion(judgement.criterion)
    return judgement.criterion if found is None else found.id


def _covers(record: CalibrationRecord, criterion: str, version: str, judge: JudgeIdentity) -> bool:
    return (
        record.criteria.get(criterion) == version
        and record.prompt_digest == judge.prompt_digest
        and record.model == judge.model
    )
