"""Files a drift report: plans the actions, performs them, and stores on disk those that failed.

An action that the tracker rejects is stored and the others continue; where the tracker is unavailable, all remaining
actions are stored. Filing the same report again performs the missing actions and none twice.
"""

from collections.abc import Iterator, Sequence

from harness.errors import HarnessError, TrackerError, TrackerUnavailable
from harness.issues.outbox import ReportOutbox
from harness.issues.planning import TrackerAction, plan
from harness.issues.tracker import IssueTracker, TrackedIssue
from harness.results import DriftReport, Severity
from harness.values import Frozen

MOST_NEW = 10


class Done(Frozen):
    """One action and its result."""

    step: TrackerAction
    issue: TrackedIssue | None = None
    """The issue after the action; None where no action was performed."""
    error: str | None = None


class Filing(Frozen):
    """The result of filing one drift report."""

    report: DriftReport
    done: tuple[Done, ...] = ()
    error: str | None = None
    """Why an action failed; None where all actions were performed."""
    kept: str | None = None
    """The folder that stores the report until the next attempt."""

    @property
    def filed(self) -> tuple[Done, ...]:
        return tuple(one for one in self.done if one.step.verb == "file" and one.issue is not None)


def file_report(
    report: DriftReport,
    tracker: IssueTracker,
    outbox: ReportOutbox,
    *,
    most_new: int = MOST_NEW,
    least: Severity = "info",
) -> tuple[Filing, ...]:
    """Files the reports in the outbox and then `report`; returns one result each, in that order.

    Errors of the tracker are not raised: the result reports them, with the folder of the stored drafts. After the
    tracker has become unavailable, later reports are stored without further requests.
    """
    waiting = [one for one in outbox.waiting() if (one.seen, one.run) != (report.seen, report.run)]
    found: list[Filing] = []
    for one in sorted([*waiting, report], key=lambda look: look.seen.timestamp()):
        outbox.hold(one)
        stopped = next((filing.error for filing in found if filing.error and not filing.done), None)
        filing = _filed(one, tracker, most_new, least) if stopped is None else (Filing(report=one, error=stopped), ())
        found.append(_put_away(*filing, outbox))
    return tuple(found)


def planned(
    report: DriftReport, tracker: IssueTracker, *, most_new: int = MOST_NEW, least: Severity = "info"
) -> list[TrackerAction]:
    """The actions that filing would take now; writes nothing."""
    return plan(report, tracker.find(), most_new=most_new, least=least)


def _filed(
    report: DriftReport, tracker: IssueTracker, most_new: int, least: Severity
) -> tuple[Filing, Sequence[TrackerAction]]:
    """The result, and the remaining steps."""
    steps: list[TrackerAction] = plan(report, (), most_new=most_new, least=least)
    done: list[Done] = []
    try:
        with tracker.exclusive():
            steps = planned(report, tracker, most_new=most_new, least=least)
            for one in _carried_out(steps, tracker):
                done.append(one)
    except HarnessError as error:
        return Filing(report=report, done=tuple(done), error=str(error)), steps[len(done) :]
    refused = [one for one in done if one.error is not None]
    why = refused[0].error if refused else None
    return Filing(report=report, done=tuple(done), error=why), [one.step for one in refused]


def _carried_out(steps: Sequence[TrackerAction], tracker: IssueTracker) -> Iterator[Done]:
    for step in steps:
        try:
            yield Done(step=step, issue=_carry_out(step, tracker))
        except TrackerUnavailable:
            raise
        except TrackerError as error:
            yield Done(step=step, error=str(error))


def _carry_out(step: TrackerAction, tracker: IssueTracker) -> TrackedIssue | None:
    if step.draft is None:
        return step.issue
    if step.issue is None:
        return tracker.file(step.draft)
    if step.verb == "close":
        return tracker.close(step.issue, step.draft, step.note, duplicate=step.duplicate)
    return tracker.update(step.issue, step.draft, step.note, reopen=step.verb == "reopen")


def _put_away(filing: Filing, left: Sequence[TrackerAction], outbox: ReportOutbox) -> Filing:
    if filing.error is None:
        outbox.drop(filing.report)
        return filing
    kept = outbox.keep(filing.report, left, filing.error)
    return filing.model_copy(update={"kept": str(kept)})
