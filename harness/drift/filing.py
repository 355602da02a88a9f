"""Files a drift report: plans what is to be done in the tracker, does it, and keeps what failed."""

import json
import re
import shutil
import urllib.error
import urllib.request
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import timedelta
from http.client import HTTPException
from pathlib import Path
from typing import Any, Final, Literal
from urllib.parse import quote, urlsplit

from harness.disk import write_atomically
from harness.drift.issue import (
    LABEL,
    About,
    IssueState,
    IssueTracker,
    IssueUpdate,
    Note,
    TrackedIssue,
    begin,
    issue_key,
    key_in,
    look,
    moment,
    state_in,
)
from harness.drift.issue_text import (
    as_duplicate,
    changed_note,
    closing_note,
    draft_of,
    line_of,
    reopening_note,
)
from harness.errors import HarnessError, ResultsError, TrackerError, TrackerUnavailable, UsageError
from harness.gateway.posting import post, refusal
from harness.runs.store.drift_report import DriftFinding, DriftReport, IssueDraft, Severity, read_drift, write_drift
from harness.values import Frozen

# Plans the actions of one drift report in the tracker: issues to file, to rewrite, to close, and to leave unchanged.
#
# There is one issue per tool and severity. Beyond the cap on new issues, the rest of a report goes into one summary
# issue, and stays there while that is open. This module sends no requests and writes no files.

REOPENED_WITHIN = timedelta(days=14)
REWRITTEN_AFTER = timedelta(days=7)
"""The interval after which an issue without new changes is rewritten to update its date."""

Verb = Literal["file", "update", "reopen", "close", "leave"]
Group = tuple[str, Severity]

_SEVERITIES: tuple[Severity, ...] = ("breaking", "warning", "info")


class TrackerAction(Frozen):
    """One action, or the decision to take none."""

    verb: Verb
    tool: str
    about: About
    issue: TrackedIssue | None = None
    draft: IssueDraft | None = None
    note: Note | None = None
    why: str


def plan(report: DriftReport, issues: Sequence[TrackedIssue], *, most_new: int) -> list[TrackerAction]:
    """Plans the actions. `most_new` is the number of new issues before the rest goes into a summary."""
    groups: dict[Group, list[DriftFinding]] = defaultdict(list)
    for finding in report.findings:
        groups[finding.tool, finding.severity].append(finding)
    return list(_Planning(report, issues, groups).steps(most_new))


class _Planning:
    """One drift report and the existing issues that it is compared with."""

    def __init__(
        self, report: DriftReport, issues: Sequence[TrackedIssue], groups: Mapping[Group, list[DriftFinding]]
    ) -> None:
        self._report = report
        self._groups = dict(groups)
        self._by_key: dict[str, list[TrackedIssue]] = defaultdict(list)
        for issue in sorted(issues, key=lambda one: one.number):
            state = state_in(issue.body)
            if state is None or state.twin_of is None:
                self._by_key[key_in(issue.body) or ""].append(issue)

    def steps(self, most_new: int) -> Iterator[TrackerAction]:
        yield from self._duplicate_actions()
        new: list[Group] = []
        for group in sorted({*self._groups, *self._known_groups()}, key=_order):
            if self._in_summary(group):
                continue
            step = self._action_for(*group, self._groups.get(group, []))
            if step is None:
                new.append(group)
            else:
                yield step
        for tool, severity in new[:most_new]:
            yield self._filed(tool, severity, self._groups[tool, severity])
        yield from self._summary(new[most_new:])

    def _duplicate_actions(self) -> Iterator[TrackerAction]:
        for own in self._by_key.values():
            oldest, *duplicates = [issue for issue in own if issue.is_open] or own[:1]
            for duplicate in duplicates:
                state = state_in(duplicate.body) or state_in(oldest.body)
                if state is not None:
                    yield self._duplicate(duplicate, oldest, state)

    def _duplicate(self, duplicate: TrackedIssue, oldest: TrackedIssue, state: IssueState) -> TrackerAction:
        draft, note = as_duplicate(state, duplicate, oldest, self._report.command)
        return TrackerAction(
            verb="close",
            tool=state.tool,
            about=state.about,
            issue=duplicate,
            draft=draft,
            note=note,
            why=f"says the same as {oldest.reference}",
        )

    def _current(self, key: str) -> TrackedIssue | None:
        """The oldest open issue; if none is open, the one closed last."""
        own = self._by_key.get(key, [])
        opened = [issue for issue in own if issue.is_open]
        return opened[0] if opened else own[-1] if own else None

    def _known_groups(self) -> Iterator[Group]:
        """The groups of the suite's open issues, which may have to be closed."""
        for key in self._by_key:
            issue = self._current(key)
            state = None if issue is None or not issue.is_open else state_in(issue.body)
            if state is not None and state.suite == self._report.suite and state.about != "summary":
                yield state.tool, state.about

    def _in_summary(self, group: Group) -> bool:
        own = self._current(issue_key(self._report.suite, *group))
        if own is not None and own.is_open:
            return False
        summary = self._open_summary()
        return summary is not None and any((one.tool, one.severity) == group for one in summary.changes)

    def _open_summary(self) -> IssueState | None:
        issue = self._current(issue_key(self._report.suite, "", "summary"))
        return None if issue is None or not issue.is_open else state_in(issue.body)

    def _summary(self, beyond: Sequence[Group]) -> Iterator[TrackerAction]:
        inside = [group for group in self._groups if self._in_summary(group)]
        chosen = sorted({*inside, *beyond}, key=_order)
        findings = [finding for group in chosen for finding in self._groups[group]]
        if not findings and self._open_summary() is None:
            return
        yield self._action_for("", "summary", findings) or self._filed("", "summary", findings)

    def _filed(self, tool: str, about: About, findings: Sequence[DriftFinding]) -> TrackerAction:
        earlier = self._current(issue_key(self._report.suite, tool, about))
        state = begin(self._report.suite, tool, about, findings, self._report)
        link = None if earlier is None else earlier.reference
        draft = draft_of(state, self._report.command, self._report.pages, findings=findings, earlier_issue=link)
        return TrackerAction(verb="file", tool=tool, about=about, draft=draft, why=_count(len(findings), "change"))

    def _action_for(self, tool: str, about: About, findings: Sequence[DriftFinding]) -> TrackerAction | None:
        """The action for the existing issue; None: a new one must be filed."""
        issue = self._current(issue_key(self._report.suite, tool, about))
        if issue is None:
            return None
        state = self._remembered(issue, tool, about)
        if issue.is_open and LABEL not in issue.labels:
            draft = draft_of(
                state, self._report.command, self._report.pages, findings=findings, earlier_body=issue.body
            )
            return TrackerAction(
                verb="update", tool=tool, about=about, issue=issue, draft=draft, why="had not got its labels"
            )
        if moment(self._report) <= state.looked:
            return _leave_action(issue, tool, about, "a look as late as this one is in it already")
        seen = look(state, findings, self._report)
        return (
            self._update_action(issue, state, seen, findings)
            if issue.is_open
            else self._reopen_action(issue, state, seen, findings)
        )

    def _remembered(self, issue: TrackedIssue, tool: str = "", about: About = "info") -> IssueState:
        """The state in the issue's marker; if the marker is damaged, a new state starts with this report's
        findings.
        """
        state = state_in(issue.body)
        if state is not None:
            return state
        fresh = begin(self._report.suite, tool, about, (), self._report)
        return fresh.model_copy(update={"looked": moment(self._report) - timedelta(microseconds=1)})

    def _update_action(
        self, issue: TrackedIssue, before: IssueState, seen: IssueUpdate, findings: Sequence[DriftFinding]
    ) -> TrackerAction:
        tool, about = before.tool, before.about
        draft, after = self._draft(issue, before, seen.state, findings)
        if seen.is_over and not issue.is_muted:
            return TrackerAction(
                verb="close", tool=tool, about=about, issue=issue, draft=draft, note=closing_note(after), why="all gone"
            )
        note = None if issue.is_muted else changed_note(after, seen)
        if note is None and after.shown == before.shown and after.last_seen - before.last_seen < REWRITTEN_AFTER:
            return _leave_action(issue, tool, about, "nothing new")
        why = "; ".join(_events(seen)) or "its counts and dates"
        return TrackerAction(verb="update", tool=tool, about=about, issue=issue, draft=draft, note=note, why=why)

    def _reopen_action(
        self, issue: TrackedIssue, before: IssueState, seen: IssueUpdate, findings: Sequence[DriftFinding]
    ) -> TrackerAction | None:
        tool, about = before.tool, before.about
        if not findings:
            return _leave_action(issue, tool, about, "closed, and nothing is there")
        there = {finding.fingerprint for finding in findings}
        if issue.is_muted:
            return _leave_action(issue, tool, about, "muted")
        same = there & {*(one.fingerprint for one in before.changes), *before.more}
        long_ago = issue.closed is not None and moment(self._report) - issue.closed > REOPENED_WITHIN
        if long_ago or not same:
            return None
        draft, after = self._draft(issue, before, seen.state, findings)
        note = reopening_note(after, seen, same)
        return TrackerAction(
            verb="reopen", tool=tool, about=about, issue=issue, draft=draft, note=note, why="is there again"
        )

    def _draft(
        self, issue: TrackedIssue, before: IssueState, after: IssueState, findings: Sequence[DriftFinding]
    ) -> tuple[IssueDraft, IssueState]:
        """The rewritten issue, and its state as the body stores it."""
        raised = after.model_copy(update={"revision": before.revision + 1})
        draft = draft_of(raised, self._report.command, self._report.pages, findings=findings, earlier_body=issue.body)
        return draft, state_in(draft.body) or raised


def _leave_action(issue: TrackedIssue, tool: str, about: About, why: str) -> TrackerAction:
    return TrackerAction(verb="leave", tool=tool, about=about, issue=issue, why=why)


def _order(group: Group) -> tuple[int, str]:
    return _SEVERITIES.index(group[1]), group[0]


def _events(seen: IssueUpdate) -> Iterator[str]:
    for count, word in ((len(seen.new), "new"), (len(seen.returned), "back"), (len(seen.vanished), "gone")):
        if count:
            yield f"{count} {word}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


# Reports that could not be filed: stored in `issues/outbox` until they are filed, oldest first.
#
#     issues/outbox/<tracker>/<time>-<run>/drift.json     the report, which is filed again
#     issues/outbox/<tracker>/<time>-<run>/<draft>.md     for people: drafts that are not in a tracker yet
#
# A report waits for the tracker that did not accept it: filing it into another tracker would lose it for the first.

OUTBOX = "outbox"


class ReportOutbox:
    """The reports of one project that one tracker has not accepted yet."""

    def __init__(self, issues: Path, tracker: str) -> None:
        self._folder = issues / OUTBOX / re.sub(r"[^A-Za-z0-9._-]+", "-", tracker)

    def hold(self, report: DriftReport) -> None:
        """Stores the report before anything is filed, so that a killed process loses nothing."""
        write_drift(self._report_path(report), report)

    def keep(self, report: DriftReport, unfiled: Sequence[TrackerAction], why: str) -> Path:
        """Returns the folder that now stores the report with its drafts; the drafts of an earlier attempt are
        replaced.
        """
        folder = self._report_path(report)
        drafts = [(step, step.draft) for step in unfiled if step.draft is not None]
        folder.mkdir(parents=True, exist_ok=True)
        for old in folder.glob("*.md"):
            old.unlink()
        for step, draft in drafts:
            name = re.sub(r"[^A-Za-z0-9_-]+", "-", f"{step.tool or 'summary'}-{step.about}")[:100]
            text = f"# {draft.title}\n\nNot {step.verb}d yet: {line_of(why, 300)}\n\n{draft.body}"
            write_atomically(folder / f"{name}.md", text.encode("utf-8", "backslashreplace"))
        write_drift(folder, report)
        return folder

    def drop(self, report: DriftReport) -> None:
        """Removes a filed report."""
        shutil.rmtree(self._report_path(report), ignore_errors=True)

    def waiting(self) -> Iterator[DriftReport]:
        """The stored reports, oldest first; incomplete or damaged ones are skipped and stay where they are."""
        for folder in sorted(path for path in self._folder.glob("*") if path.is_dir()):
            try:
                yield read_drift(folder)
            except (ResultsError, UsageError):
                continue

    def _report_path(self, report: DriftReport) -> Path:
        name = re.sub(r"[^A-Za-z0-9._-]+", "-", report.run)[:80]
        return self._folder / f"{moment(report):%Y%m%dT%H%M%S%f}-{name}"


# An action that the tracker rejects is stored and the others continue; if the tracker is unavailable, all remaining
# actions are stored. Filing the same report again performs the missing actions and none twice.

MOST_NEW = 10


class Done(Frozen):
    """One action and its result."""

    step: TrackerAction
    issue: TrackedIssue | None = None
    """The issue after the action; None if no action was performed."""
    error: str | None = None


class Filing(Frozen):
    """The result of filing one drift report."""

    report: DriftReport
    done: tuple[Done, ...] = ()
    error: str | None = None
    """Why an action failed; None if all actions were performed."""
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
        filing = _filed(one, tracker, most_new) if stopped is None else (Filing(report=one, error=stopped), ())
        found.append(_put_away(*filing, outbox))
    return tuple(found)


def planned(report: DriftReport, tracker: IssueTracker, *, most_new: int = MOST_NEW) -> list[TrackerAction]:
    """The actions that filing would take now; writes nothing."""
    return plan(report, tracker.find(), most_new=most_new)


def _filed(report: DriftReport, tracker: IssueTracker, most_new: int) -> tuple[Filing, Sequence[TrackerAction]]:
    """The result, and the remaining steps."""
    steps: list[TrackerAction] = plan(report, (), most_new=most_new)
    done: list[Done] = []
    try:
        with tracker.exclusive():
            steps = planned(report, tracker, most_new=most_new)
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
        return tracker.close(step.issue, step.draft, step.note)
    return tracker.update(step.issue, step.draft, step.note, reopen=step.verb == "reopen")


def _put_away(filing: Filing, left: Sequence[TrackerAction], outbox: ReportOutbox) -> Filing:
    if filing.error is None:
        outbox.drop(filing.report)
        return filing
    kept = outbox.keep(filing.report, left, filing.error)
    return filing.model_copy(update={"kept": str(kept)})


# The one note on a merge request of GitLab: written the first time, replaced later.

# The token is sent to the API's own host alone, and is part of no message or error.

_MAX_BYTES: Final = 16 * 1024 * 1024
_PAGE: Final = 100
_MOST_PAGES: Final = 100
_REMEDIES: Final = {
    401: "check the token: it may have expired",
    403: "the token needs the scope `api`, and the role Reporter or higher in the project",
    404: "check the project and the number of the merge request, and that the token may see them",
}


class MergeRequest(Frozen):
    """A merge request of one GitLab server."""

    api_url: str
    """Address of the server's API, such as `https://gitlab.com/api/v4`."""
    project: str
    """Number of the project, or its path."""
    number: int

    @property
    def host(self) -> str:
        """The server's name. Raises UsageError if it is not an address."""
        try:
            parts = urlsplit(self.api_url)
        except ValueError:
            parts = urlsplit("")
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.username is not None:
            raise UsageError(
                "the address of GitLab's API is not usable",
                remedy="expected https://HOST/api/v4 without user and password, as CI_API_V4_URL has it",
            )
        return parts.hostname


def put_note(merge_request: MergeRequest, token: str, note: Note) -> int:
    """Writes the note, or replaces the text of the one with its mark; returns the number of the note.

    Only notes of the token's own user are replaced: anybody can write the mark. Raises UsageError, TrackerUnavailable,
    and TrackerError for an answer that is not GitLab's.
    """
    api = _Api(merge_request, token)
    own = api.ask("GET", "/user")
    notes = f"/projects/{quote(merge_request.project, safe='')}/merge_requests/{merge_request.number}/notes"
    try:
        for there in api.pages(notes):
            if there["author"]["id"] == own["id"] and note.mark in there["body"]:
                if there["body"] != note.comment:
                    api.ask("PUT", f"{notes}/{int(there['id'])}", {"body": note.comment})
                return int(there["id"])
        return int(api.ask("POST", notes, {"body": note.comment})["id"])
    except (KeyError, TypeError, ValueError):
        raise TrackerError(
            f"the server at {merge_request.host} answered with something else than notes",
            remedy="check the address of GitLab's API: it ends with /api/v4",
        ) from None


class _Api:
    def __init__(self, merge_request: MergeRequest, token: str) -> None:
        self._host = merge_request.host
        self._address = merge_request.api_url.rstrip("/")
        self._headers = {"PRIVATE-TOKEN": token, "Content-Type": "application/json"}

    def pages(self, path: str) -> Iterator[Any]:
        """The entries of all pages of a listing, the oldest first."""
        for page in range(1, _MOST_PAGES + 1):
            entries = self.ask("GET", f"{path}?sort=asc&per_page={_PAGE}&page={page}")
            yield from entries
            if len(entries) < _PAGE:
                return

    def ask(self, method: str, path: str, body: Mapping[str, str] | None = None) -> Any:
        """The answer as JSON."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self._address}{path}", data=data, headers=self._headers, method=method)
        asked = f"{method} {path.partition('?')[0]}"
        try:
            with post(request) as answer:
                content = answer.read(_MAX_BYTES + 1)
        except urllib.error.HTTPError as error:
            _, reason = refusal(error)
            raise TrackerUnavailable(
                f"GitLab at {self._host} answered {asked} with {reason}", remedy=_REMEDIES.get(error.code)
            ) from None
        except (OSError, ValueError, HTTPException) as error:
            kind = type(getattr(error, "reason", error)).__name__
            raise TrackerUnavailable(f"GitLab at {self._host} cannot be reached: {kind}") from None
        try:
            if len(content) <= _MAX_BYTES:
                return json.loads(content)
        except (ValueError, RecursionError):
            pass
        raise TrackerError(
            f"the server at {self._host} answered {asked} with no JSON of at most {_MAX_BYTES} bytes",
            remedy="check the address of GitLab's API: it ends with /api/v4",
        )
