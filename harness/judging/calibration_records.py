"""The records of calibrations: which judges were compared with people, and their agreement; one JSON line per
calibration, in the project.
"""

from collections.abc import Sequence
from pathlib import Path

from harness.errors import InvalidDocument
from harness.judging.labels import append_line, read_lines
from harness.judging.rubrics import Criterion, Rubric
from harness.judging.verdicts import JudgeIdentity, Judgement
from harness.values import Frozen, digest_of


class CalibrationRecord(Frozen):
    """A judge, identified by prompt and model, and its held-out agreement with people on the criteria of a rubric."""

    time: str
    """ISO 8601, UTC."""
    rubric: str
    rubric_version: str
    criteria: dict[str, str]
    """Maps each labelled criterion to the digest of its question (`asked_by`)."""
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
    """The number of earlier calibrations that used the same held-out part: each one makes its figures less reliable."""


def record_path(project: Path, suite: str, rubric: str) -> Path:
    """`suites/<suite>/labels/<rubric>.calibrations.jsonl`."""
    return project / "suites" / suite / "labels" / f"{rubric}.calibrations.jsonl"


def read_records(path: Path) -> tuple[CalibrationRecord, ...]:
    """The records, oldest first; empty if there is no file. Raises InvalidDocument with the line."""
    found = []
    for number, record in read_lines(path, CalibrationRecord):
        if isinstance(record, str):
            raise InvalidDocument(path, record, line=number)
        found.append(record)
    return tuple(found)


def add_record(path: Path, record: CalibrationRecord) -> None:
    """Adds a line; existing lines stay."""
    append_line(path, record)


def asked_by(rubric: Rubric, criterion: Criterion) -> str:
    """Digest of everything that a judge's answer could depend on; points, domain and weight are excluded."""
    plain = criterion.model_dump(mode="json", by_alias=True, exclude={"points", "domain", "critical"})
    return digest_of([plain, dict(rubric.checklists) if criterion.kind == "checklist" else {}])


def uncalibrated(
    rubric: Rubric, judgements: Sequence[Judgement], records: Sequence[CalibrationRecord]
) -> tuple[str, ...]:
    """Criteria whose judgements no calibration covers, because the prompt, the model or the question differs.

    Criteria decided by code need none.
    """
    judges: dict[str, set[JudgeIdentity]] = {one.id: set() for one in rubric.criteria}
    for one in judgements:
        known = rubric.criterion(one.criterion)
        if known is not None and one.judge.prompt is not None:
            judges[known.id].add(one.judge)
    return tuple(
        one.id
        for one in rubric.criteria
        if any(not _is_covered(records, one.id, asked_by(rubric, one), judge) for judge in judges[one.id])
    )


def agreements(
    rubric: Rubric, judgements: Sequence[Judgement], records: Sequence[CalibrationRecord]
) -> dict[str, float]:
    """Maps each criterion to the held-out agreement of its judge with people, by the latest calibration.

    Criteria in `uncalibrated` are left out.
    """
    lacking = set(uncalibrated(rubric, judgements, records))
    found = {}
    for one in judgements:
        known = rubric.criterion(one.criterion)
        if known is None or known.id in lacking:
            continue
        question_digest = asked_by(rubric, known)
        covering = [record for record in records if _is_covered([record], known.id, question_digest, one.judge)]
        if covering:
            found[known.id] = covering[-1].held_out_agreement
    return found


def _is_covered(
    records: Sequence[CalibrationRecord], criterion: str, question_digest: str, judge: JudgeIdentity
) -> bool:
    return any(
        record.criteria.get(criterion) == question_digest
        and record.prompt_digest == judge.prompt_digest
        and record.model == judge.model
        for record in records
    )
