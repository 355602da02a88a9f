"""An issue and its tracker: the interface, the state in an issue's body, and what one drift check changes in it."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Literal, Protocol

from pydantic import ValidationError

from harness.runs.store.drift_report import ChangeClass, DriftFinding, DriftReport, IssueDraft, Severity
from harness.values import Frozen

# Another package adds a tracker by an entry point in the group `harness.tracker`; its class is constructed with
# `TrackerOptions`.

LABEL = "harness-drift"
"""The label by which the issues are listed; removing it leaves an issue to people."""
MUTE = "drift:mute"


class TrackerOptions(Frozen):
    """The location of a tracker. The token is read when it is needed, and is not part of any stored value."""

    project: Path
    repo: str | None = None
    """`owner/name`."""
    api_url: str | None = None
    timeout_s: int = 30
    """The time limit of one request to the tracker."""

    @classmethod
    def of(cls, project: Path, environment: Mapping[str, str]) -> "TrackerOptions":
        """The repository and the API's address as GitHub Actions sets them: GITHUB_REPOSITORY and GITHUB_API_URL."""
        return cls(
            project=project,
            repo=environment.get("GITHUB_REPOSITORY") or None,
            api_url=environment.get("GITHUB_API_URL") or None,
        )


class TrackedIssue(Frozen):
    """An issue in the tracker's current state."""

    number: int
    """Increases from issue to issue; of duplicates, the one with the lowest number stays open."""
    reference: str
    """The reference for people and for links from other issues: `#12`, or a file's name."""
    url: str
    title: str
    body: str
    is_open: bool
    closed: datetime | None = None
    labels: tuple[str, ...] = ()
    declined: bool = False
    """Whether a person closed it as not planned."""

    @property
    def is_muted(self) -> bool:
        return MUTE in self.labels or (self.declined and not self.is_open)


class Note(Frozen):
    """A comment. A tracker that has one with this id on the issue already does not write it again."""

    id: str
    text: str

    @property
    def comment(self) -> str:
        return f"{self.text}\n\n{self.mark}"

    @property
    def mark(self) -> str:
        return f"<!-- harness-drift-note:v1 {self.id} -->"


class IssueTracker(Protocol):
    """Raises TrackerUnavailable if further requests would fail too, TrackerError if the tracker rejects this one
    issue.

    Nothing is written twice: a tracker searches for the result of a write with an unknown outcome before it retries.
    """

    name: str

    def exclusive(self) -> AbstractContextManager[None]:
        """Held from the first search to the last write: other processes wait if the tracker has a lock. If it has
        none, the next report closes what two processes filed at once.
        """
        ...

    def find(self) -> Sequence[TrackedIssue]:
        """Every issue with the harness's label and marker, open or closed, and those that lack only the label;
        complete, or an error. Writes nothing."""
        ...

    def file(self, draft: IssueDraft) -> TrackedIssue:
        """Creates a new issue with its labels."""
        ...

    def update(
        self, issue: TrackedIssue, draft: IssueDraft, note: Note | None, *, reopen: bool = False
    ) -> TrackedIssue:
        """Rewrites title and body; labels stay as people left them, and an issue without the harness's labels gets
        them.
        """
        ...

    def close(self, issue: TrackedIssue, draft: IssueDraft, note: Note | None) -> TrackedIssue:
        """Closes an issue; its body is rewritten, too."""
        ...


# The state of an issue between drift checks: stored in a hidden marker at the end of its body, so that no database is
# needed.
#
#     <!-- harness-drift:v1 key=0123456789ab {"suite": ...} -->
#
# The key identifies the subject of the issue (suite, tool, severity); the rest is counted and compared. A damaged
# marker still contains the key: the issue is found, and its state starts again.

CLEAN_LOOKS = 3
"""The number of consecutive checks that exercised a path and found it as recorded, after which a change
counts as gone.
"""

MOST_COUNTED = 1000
"""The number of fingerprints that are counted beyond the rows; further ones are not distinguished."""

_MARKER = re.compile(r"^<!-- harness-drift:v1 key=(?P<key>[0-9a-f]{12}) (?P<state>.*) -->\s*$", re.MULTILINE)

About = Severity | Literal["summary"]


class KnownChange(Frozen):
    """One fingerprint of an issue, and the dates since which the change is present or gone."""

    fingerprint: str
    tool: str
    severity: Severity
    operation: str
    change: ChangeClass
    path: str
    old_kind: str
    new_kind: str
    since: date
    clean: int = 0
    """Consecutive clean checks, counted up to `CLEAN_LOOKS`."""
    gone: date | None = None
    """The date of the first of them; None: the change is present."""

    @property
    def is_gone(self) -> bool:
        return self.clean >= CLEAN_LOOKS


class IssueState(Frozen):
    """The stored state of one issue."""

    suite: str
    tool: str
    """The tool; empty in a summary of several tools."""
    about: About
    changes: tuple[KnownChange, ...] = ()
    more: tuple[str, ...] = ()
    """Fingerprints beyond the rows of the issue; they are only counted."""
    cases: tuple[str, ...] = ()
    """Every case that was affected so far, sorted."""
    flips: tuple[str, ...] = ()
    first_seen: date
    last_seen: date
    """The value of the last write of the issue; not every check writes."""
    looked: datetime
    """The time of the latest check that was taken into account."""
    shown: str = ""
    """Digest of the body's content, except excerpts and `last_seen`: while it is unchanged, nothing is written."""
    revision: int = 0
    twin_of: str | None = None
    """The older issue with the same content, if this one is closed as its duplicate."""

    @property
    def key(self) -> str:
        return issue_key(self.suite, self.tool, self.about)


def issue_key(suite: str, tool: str, about: About) -> str:
    """Twelve hexadecimal digits that identify the subject of an issue."""
    return hashlib.sha256("|".join(("v1", suite, tool, about)).encode("utf-8", "surrogatepass")).hexdigest()[:12]


def known(finding: DriftFinding, since: date) -> KnownChange:
    """A finding in its stored form: kinds, and never a value."""
    fields = ("fingerprint", "tool", "severity", "operation", "change", "path", "old_kind", "new_kind")
    return KnownChange(since=since, **{field: getattr(finding, field) for field in fields})


def marker_of(state: IssueState) -> str:
    """The hidden line; nothing in it can end the comment that contains it."""
    plain = json.dumps(state.model_dump(mode="json", exclude_defaults=True), ensure_ascii=True, separators=(",", ":"))
    for mark, escaped in (("<", "\\u003c"), (">", "\\u003e"), ("--", "-\\u002d")):
        plain = plain.replace(mark, escaped)
    return f"<!-- harness-drift:v1 key={state.key} {plain} -->"


def key_in(body: str) -> str | None:
    """The key of the issue with this body; None: it is not an issue of the harness."""
    found = _marker_in(body)
    return None if found is None else found["key"]


def state_in(body: str) -> IssueState | None:
    """The state in the body of an issue; None: no readable state."""
    found = _marker_in(body)
    if found is None:
        return None
    try:
        state = IssueState.model_validate_json(found["state"])
    except ValidationError:
        return None
    return state if state.key == found["key"] else None


def _marker_in(body: str) -> re.Match[str] | None:
    """The last marker of the body: text of a tool above it could contain another one."""
    return next(reversed(list(_MARKER.finditer(body))), None)


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
    return _with_touched_cases(
        state.model_copy(update={"changes": tuple(known(finding, day) for finding in findings)}), findings
    )


def look(state: IssueState, findings: Sequence[DriftFinding], report: DriftReport) -> IssueUpdate:
    """Updates the state by `findings`, those of this issue. A path that the check did not exercise stays unchanged; an
    unconfirmed finding resets the count of clean checks.
    """
    day = moment(report).date()
    there = {finding.fingerprint for finding in findings}
    doubtful = {finding.fingerprint for finding in report.unconfirmed}
    changes = [_updated_change(change, there, doubtful, report) for change in state.changes]
    remembered = {*(change.fingerprint for change in state.changes), *state.more}
    unknown = [finding for finding in findings if finding.fingerprint not in remembered]
    new = tuple(known(finding, day) for finding in unknown if len(state.more) < MOST_COUNTED)
    pairs = list(zip(state.changes, changes, strict=True))
    after = state.model_copy(
        update={
            "changes": (*changes, *new),
            "more": _changes_beyond_rows(state, there, report),
            "looked": moment(report),
            "last_seen": day if findings else state.last_seen,
        }
    )
    return IssueUpdate(
        state=_with_touched_cases(after, findings),
        new=new,
        returned=tuple(now for before, now in pairs if before.is_gone and not now.is_gone),
        vanished=tuple(now for before, now in pairs if now.is_gone and not before.is_gone),
    )


def moment(report: DriftReport) -> datetime:
    """The time of the check; a time without a zone is read as UTC."""
    return report.seen if report.seen.tzinfo is not None else report.seen.replace(tzinfo=UTC)


def _updated_change(change: KnownChange, there: set[str], doubtful: set[str], report: DriftReport) -> KnownChange:
    if change.fingerprint in there:
        return change.model_copy(update={"clean": 0, "gone": None})
    if change.fingerprint in doubtful and not change.is_gone:
        return change.model_copy(update={"clean": 0, "gone": None})
    if change.is_gone or not report.covers(_as_finding(change)):
        return change
    gone = change.gone or moment(report).date()
    return change.model_copy(update={"clean": min(change.clean + 1, CLEAN_LOOKS), "gone": gone})


def _changes_beyond_rows(state: IssueState, there: set[str], report: DriftReport) -> tuple[str, ...]:
    """A change beyond the tracked rows counts as gone as soon as a check of its tool does not show it."""
    was_exercised = there or any(
        report.exercised.get(tool) for tool in {state.tool, *(one.tool for one in state.changes)}
    )
    return tuple(one for one in state.more if one in there) if was_exercised else state.more


def _as_finding(change: KnownChange) -> DriftFinding:
    return DriftFinding.model_validate(change.model_dump(exclude={"since", "clean", "gone", "fingerprint"}))


def _with_touched_cases(state: IssueState, findings: Sequence[DriftFinding]) -> IssueState:
    cases = {*state.cases, *(case for finding in findings for case in finding.cases)}
    flips = {*state.flips, *(case for finding in findings for case in finding.flips)}
    return state.model_copy(update={"cases": tuple(sorted(cases)), "flips": tuple(sorted(flips))})
