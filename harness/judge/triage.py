"""Flagged failures examined by a person: whose fault was it?

A failure caused by the judge or the tracing is not the agent's: it is excluded from the agent's score, as a judgement
without an answer, and is counted by release.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final, Literal, get_args

from harness.judge.judgement import Judgement
from harness.judge.labels.label import Annotator
from harness.judge.labels.lines import append_line, read_lines
from harness.values import Frozen

Cause = Literal["agent", "judge_false_positive", "tracing_gap"]
"""`tracing_gap`: the agent's correct action is missing from the trace, so that no judge could know it."""

CAUSES: Final[tuple[Cause, ...]] = get_args(Cause)


class Triage(Frozen):
    """A diagnosed failure. It applies to the trajectory and the criterion's version, in every run with both."""

    run: str
    release: str | None = None
    case_id: str
    attempt: int
    trajectory: str
    rubric: str
    criterion: str
    criterion_version: str
    cause: Cause
    by: Annotator
    note: str = ""
    time: str
    """ISO 8601, UTC."""


class TriageFile:
    """All triages of a rubric; of several for one failure the last counts."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def append(self, triage: Triage) -> None:
        """Adds one line. Raises InvalidDocument where the file cannot be written."""
        append_line(self.path, triage)

    def read(self) -> tuple[tuple[Triage, ...], int]:
        """The valid triages, and the number of unreadable lines."""
        found: dict[tuple[str, ...], Triage] = {}
        unreadable = 0
        for _, one in read_lines(self.path, Triage):
            if isinstance(one, Triage):
                found[_key(one)] = one
            else:
                unreadable += 1
        return tuple(found.values()), unreadable


def triage_path(project: Path, suite: str, rubric: str) -> Path:
    """`suites/<suite>/labels/<rubric>.triage.jsonl`."""
    return project / "suites" / suite / "labels" / f"{rubric}.triage.jsonl"


def triaged(judgements: Iterable[Judgement], triages: Sequence[Triage]) -> list[Judgement]:
    """The judgements as they count for the agent: failures that it did not cause become failed judgements."""
    causes = {_key(one): one.cause for one in triages}
    return [_counted(one, causes.get(_key(one))) for one in judgements]


def cause_of(judgement: Judgement, triages: Sequence[Triage]) -> Cause | None:
    """The diagnosed cause of this failure; None where it was not triaged."""
    return next((one.cause for one in reversed(triages) if _key(one) == _key(judgement)), None)


def by_release(triages: Sequence[Triage]) -> dict[str, dict[Cause, int]]:
    """How often each cause was found, by release (`-`: none was given), in the order of the file."""
    counted = Counter((one.release or "-", one.cause) for one in triages)
    releases = dict.fromkeys(one.release or "-" for one in triages)
    return {release: {cause: counted[release, cause] for cause in CAUSES} for release in releases}


def _key(one: Triage | Judgement) -> tuple[str, ...]:
    return one.case_id, one.trajectory, one.rubric, one.criterion, one.criterion_version


def _counted(judgement: Judgement, cause: Cause | None) -> Judgement:
    if cause in (None, "agent") or judgement.answer != "fail":
        return judgement
    why = f"triaged as a {str(cause).replace('_', ' ')}"
    return judgement.model_copy(update={"eligible": None, "passed": None, "failure": why})
