"""Drift as issues: one a tool and severity, filed once, kept up to date, and closed when it is gone."""

from harness.issues.choosing import tracker_named
from harness.issues.filing import MOST_NEW, Done, Filing, file_report, planned
from harness.issues.outbox import Outbox
from harness.issues.tracker import IssueTracker, Note, TrackedIssue, TrackerOptions

__all__ = [
    "MOST_NEW",
    "Done",
    "Filing",
    "IssueTracker",
    "Note",
    "Outbox",
    "TrackedIssue",
    "TrackerOptions",
    "file_report",
    "planned",
    "tracker_named",
]
