"""Applies one drift check to an issue: which changes are new, which have returned, and which have gone."""

from collections.abc import Sequence
from datetime import UTC, datetime

from harness.issues.state import CLEAN_LOOKS, MOST_COUNTED, IssueState, KnownChange, known
from harness.results import DriftFinding, DriftReport
from harness.values import Frozen


class IssueUpdate(Frozen):
    """An issue's state after a check, and the changes that require a comment."""

    state: IssueState
    new: tuple[KnownChange, ...] = ()
    returned: tuple[KnownChange, ...] = ()
    """Changes that had disappeared and were found again."""
    vanished: tuple[KnownChange, ...] = ()
    """Whether the issue was clean for the required number of checks."""

    @property
    def is_over(self) -> bool:
        return all(change.is_gone for change in self.state.changes) and not self.state.more


def begin(suite: str, tool: str, about: str, findings: Sequence[DriftFinding], report: DriftReport) -> IssueState:
    """The state of a new issue."""
    day = moment(report).date()
    state = IssueState.model_validate(
        {"suite": suite, "tool": tool, "about": about, "first_seen": day, "last_seen": day, "looked": moment(report)}
    )
    return _touched(state.model_copy(update={"changes": tuple(known(finding, day) for finding in findings)}), findings)


def look(state: IssueState, findings: Sequence[DriftFinding], report: DriftReport) -> IssueUpdate:
    """Updates the state by `findings`, those of this issue. A path that the check did not exercise stays unchanged; an
    unconfirmed finding resets the count of clean checks.
    """
    day = moment(report).date()
    there = {finding.fingerprint for finding in findings}
    doubtful = {finding.fingerprint for finding in report.unconfirmed}
    changes = [_examined(change, there, doubtful, report) for change in state.changes]
    remembered = {*(change.fingerprint for change in state.changes), *state.more}
    unknown = [finding for finding in findings if finding.fingerprint not in remembered]
    new = tuple(known(finding, day) for finding in unknown if len(state.more) < MOST_COUNTED)
    pairs = list(zip(state.changes, changes, strict=True))
    after = state.model_copy(
        update={
            "changes": (*changes, *new),
            "more": _more(state, there, report),
            "looked": moment(report),
            "last_seen": day if findings else state.last_seen,
        }
    )
    return IssueUpdate(
        state=_touched(after, findings),
        new=new,
        returned=tuple(now for before, now in pairs if before.is_gone and not now.is_gone),
        vanished=tuple(now for before, now in pairs if now.is_gone and not before.is_gone),
    )


def moment(report: DriftReport) -> datetime:
    """The time of the check; a time without a zone is read as UTC."""
    return report.seen if report.seen.tzinfo is not None else report.seen.replace(tzinfo=UTC)


def _examined(change: KnownChange, there: set[str], doubtful: set[str], report: DriftReport) -> KnownChange:
    if change.fingerprint in there:
        return change.model_copy(update={"clean": 0, "gone": None})
    if change.fingerprint in doubtful and not change.is_gone:
        return change.model_copy(update={"clean": 0, "gone": None})
    if change.is_gone or not report.covers(_as_finding(change)):
        return change
    gone = change.gone or moment(report).date()
    return change.model_copy(update={"clean": min(change.clean + 1, CLEAN_LOOKS), "gone": gone})


def _more(state: IssueState, there: set[str], report: DriftReport) -> tuple[str, ...]:
    """A change beyond the tracked rows counts as gone as soon as a check of its tool does not show it."""
    was_exercised = there or any(
        report.exercised.get(tool) for tool in {state.tool, *(one.tool for one in state.changes)}
    )
    return tuple(one for one in state.more if one in there) if was_exercised else state.more


def _as_finding(change: KnownChange) -> DriftFinding:
    return DriftFinding.model_validate(change.model_dump(exclude={"since", "clean", "gone", "fingerprint"}))


def _touched(state: IssueState, findings: Sequence[DriftFinding]) -> IssueState:
    cases = {*state.cases, *(case for finding in findings for case in finding.cases)}
    flips = {*state.flips, *(case for finding in findings for case in finding.flips)}
    return state.model_copy(update={"cases": tuple(sorted(cases)), "flips": tuple(sorted(flips))})
