"""The interface of issue trackers: an issue as a tracker stores it, and the operations of a tracker.

Another package adds a tracker by an entry point in the group `harness.tracker`; its class is constructed with
`TrackerOptions`.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Protocol

from harness.results import IssueDraft
from harness.values import Frozen

LABEL = "harness-drift"
"""The label by which the issues are listed; removing it leaves an issue to people."""
MUTE = "drift:mute"
ACCEPTED = "drift:accepted"


class TrackerOptions(Frozen):
    """The location of a tracker. The token is read when it is needed, and is not part of any stored value."""

    project: Path
    repo: str | None = None
    """`owner/name`."""
    api_url: str | None = None
    timeout_s: int = 30
    """The time limit of one request to the tracker."""


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

    @property
    def is_accepted(self) -> bool:
        return ACCEPTED in self.labels


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
    """Raises TrackerUnavailable where further requests would fail too, TrackerError where the tracker rejects this one
    issue.

    Nothing is written twice: a tracker searches for the result of a write with an unknown outcome before it retries.
    """

    name: str

    def exclusive(self) -> AbstractContextManager[None]:
        """Held from the first search to the last write: other processes wait where the tracker has a lock. Where it has
        none, `file` searches for a duplicate that another process filed in the meantime.
        """
        ...

    def find(self) -> Sequence[TrackedIssue]:
        """Every issue with the harness's label and marker, open or closed, and those that lack only the label;
        complete, or an error. Writes nothing."""
        ...

    def file(self, draft: IssueDraft) -> TrackedIssue:
        """Creates a new issue with its labels, or returns an older duplicate."""
        ...

    def update(
        self, issue: TrackedIssue, draft: IssueDraft, note: Note | None, *, reopen: bool = False
    ) -> TrackedIssue:
        """Rewrites title and body; labels stay as people left them, and an issue without the harness's labels gets
        them.
        """
        ...

    def close(
        self, issue: TrackedIssue, draft: IssueDraft, note: Note | None, *, duplicate: bool = False
    ) -> TrackedIssue:
        """Closes an issue as done, or as a duplicate; its body is rewritten, too."""
        ...
