"""Issues for subjects with a duration: filed when they begin, updated, and closed when they end.

Incidents of production and themes of failures are of this kind.
"""

import json
from collections.abc import Sequence
from typing import Literal

from harness.errors import TrackerError, TrackerUnavailable
from harness.issues.state import key_in
from harness.issues.tracker import IssueTracker, Note, TrackedIssue
from harness.results import IssueDraft
from harness.values import Frozen

OngoingVerb = Literal["file", "update", "reopen", "close", "leave"]


class Ongoing(Frozen):
    """The current state of one subject."""

    id: str
    """12 hexadecimal digits: the key of its issue."""
    over: str | None
    """Why it has ended; None: it continues."""
    draft: IssueDraft | None
    """None: the issue's title and body stay unchanged."""


class OngoingFiled(Frozen):
    """The result for one subject."""

    id: str
    verb: OngoingVerb
    reference: str = ""
    """The issue's reference for people; "" where no issue exists."""
    url: str = ""
    error: str | None = None
    """Why it failed; it is retried the next time."""


def file_ongoing(
    subjects: Sequence[Ongoing], tracker: IssueTracker, *, most_new: int | None = None
) -> list[OngoingFiled]:
    """Updates the tracker; a repeated call changes nothing. Raises TrackerUnavailable.

    `most_new`: the maximum number of new issues, in the order of `subjects`; None: no limit.
    """
    with tracker.exclusive():
        known = {key_in(issue.body): issue for issue in sorted(tracker.find(), key=lambda one: -one.number)}
        done: list[OngoingFiled] = []
        for subject in subjects:
            new = sum(one.verb == "file" for one in done)
            done.append(_filed(subject, known.get(subject.id), tracker, most_new is None or new < most_new))
        return done


def ongoing_marker(key: str, kind: str, opened: str) -> str:
    """The hidden line that identifies the issue; the planner of drift issues ignores it."""
    fields = json.dumps({kind: key, "opened": opened}, separators=(",", ":"))
    return f"<!-- harness-drift:v1 key={key} {fields} -->"


def _filed(subject: Ongoing, issue: TrackedIssue | None, tracker: IssueTracker, may_file: bool) -> OngoingFiled:
    verb = _verb(subject, issue)
    if verb == "file" and not may_file:
        verb = "leave"
    try:
        done = _carry_out(verb, subject, issue, tracker)
    except TrackerUnavailable:
        raise
    except TrackerError as error:
        return OngoingFiled(id=subject.id, verb=verb, error=str(error))
    if done is None:
        return OngoingFiled(id=subject.id, verb=verb)
    return OngoingFiled(id=subject.id, verb=verb, reference=done.reference, url=done.url)


def _verb(subject: Ongoing, issue: TrackedIssue | None) -> OngoingVerb:
    if issue is None:
        return "file" if subject.over is None and subject.draft is not None else "leave"
    if issue.is_muted:
        return "leave"
    if subject.over is not None:
        return "close" if issue.is_open else "leave"
    if not issue.is_open:
        return "reopen"
    same = subject.draft is None or issue.body.rstrip() == subject.draft.body.rstrip()
    return "leave" if same else "update"


def _carry_out(verb: str, subject: Ongoing, issue: TrackedIssue | None, tracker: IssueTracker) -> TrackedIssue | None:
    if issue is None:
        return tracker.file(subject.draft) if verb == "file" and subject.draft is not None else None
    draft = subject.draft or _as_it_is(issue)
    match verb:
        case "close":
            note = Note(id=f"{subject.id}-closed-{subject.over}"[:80], text=subject.over or "")
            return tracker.close(issue, draft, note)
        case "update" | "reopen":
            note_again = Note(id=f"{subject.id}-again", text="It goes on.") if verb == "reopen" else None
            return tracker.update(issue, draft, note_again, reopen=verb == "reopen")
        case _:
            return issue


def _as_it_is(issue: TrackedIssue) -> IssueDraft:
    return IssueDraft(
        tool="", severity="warning", title=issue.title, body=issue.body, labels=issue.labels, fingerprints=()
    )
