"""The seam to issue trackers: an issue as a tracker knows it, and the four things that are asked of one.

A third tracker joins by an entry point in the group `harness.tracker`, whose class is built with a `TrackerOptions`.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from typing import Protocol

from harness.results import IssueDraft
from harness.values import Frozen

LABEL = "harness-drift"
"""By it the issues are listed; taking it off an issue hands that issue to people."""
MUTE = "drift:mute"
ACCEPTED = "drift:accepted"


class TrackerOptions(Frozen):
    """Where a tracker is. The token is asked for when it is needed, and is part of no stored value."""

    project: Path
    repo: str | None = None
    """`owner/name`."""
    api_url: str | None = None
    timeout_s: int = 30
    """How long the tracker may take to answer one request."""


class TrackedIssue(Frozen):
    """An issue as it stands in the tracker."""

    number: int
    """Grows from issue to issue: the oldest of twins is the one that stays."""
    reference: str
    """What people call it, and what links to it from another issue: `#12`, or a file's name."""
    url: str
    title: str
    body: str
    is_open: bool
    closed: datetime | None = None
    labels: tuple[str, ...] = ()
    declined: bool = False
    """A person closed it as not planned."""

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
    """Raises TrackerUnavailable where nothing more can be asked now, TrackerError where this one issue is refused.

    Nothing is written twice: a write whose outcome is not known is looked for before it is tried again.
    """

    name: str

    def exclusive(self) -> AbstractContextManager[None]:
        """Held from finding to the last write: others wait where the tracker has a lock. Where it has none, `file`
        looks for an issue that somebody else filed meanwhile."""
        ...

    def find(self) -> Sequence[TrackedIssue]:
        """Every issue with our label and marker, open or closed, and those that were to get the label and did not;
        complete, or an error. Writes nothing."""
        ...

    def file(self, draft: IssueDraft) -> TrackedIssue:
        """A new issue with its labels, or the older one that says the same."""
        ...

    def update(
        self, issue: TrackedIssue, draft: IssueDraft, note: Note | None, *, reopen: bool = False
    ) -> TrackedIssue:
        """Title and body anew; labels stay as people left them, and an issue that has none of ours gets them."""
        ...

    def close(
        self, issue: TrackedIssue, draft: IssueDraft, note: Note | None, *, duplicate: bool = False
    ) -> TrackedIssue:
        """Closed as done, or as a duplicate; its body anew too."""
        ...
