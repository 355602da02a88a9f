"""Drift as issues: one issue per tool and severity, filed once, kept up to date, and closed when the drift has gone."""

from typing import TYPE_CHECKING

from harness.lazy_exports import lazy_exports

if TYPE_CHECKING:
    from harness.issues.choosing import github_tracker as github_tracker
    from harness.issues.choosing import tracker_named as tracker_named
    from harness.issues.filing import MOST_NEW as MOST_NEW
    from harness.issues.filing import Done as Done
    from harness.issues.filing import Filing as Filing
    from harness.issues.filing import file_report as file_report
    from harness.issues.filing import planned as planned
    from harness.issues.folder import FolderTracker as FolderTracker
    from harness.issues.incidents import IncidentFiled as IncidentFiled
    from harness.issues.incidents import file_incidents as file_incidents
    from harness.issues.incidents import incident_draft as incident_draft
    from harness.issues.merge_request import MergeRequest as MergeRequest
    from harness.issues.merge_request import put_note as put_note
    from harness.issues.ongoing import Ongoing as Ongoing
    from harness.issues.ongoing import OngoingFiled as OngoingFiled
    from harness.issues.ongoing import file_ongoing as file_ongoing
    from harness.issues.ongoing import ongoing_marker as ongoing_marker
    from harness.issues.outbox import ReportOutbox as ReportOutbox
    from harness.issues.planning import TrackerAction as TrackerAction
    from harness.issues.proposing import ProposedChange as ProposedChange
    from harness.issues.proposing import ProposedFile as ProposedFile
    from harness.issues.quoting import fenced as fenced
    from harness.issues.quoting import line_of as line_of
    from harness.issues.quoting import span as span
    from harness.issues.tracker import LABEL as LABEL
    from harness.issues.tracker import IssueTracker as IssueTracker
    from harness.issues.tracker import Note as Note
    from harness.issues.tracker import TrackedIssue as TrackedIssue
    from harness.issues.tracker import TrackerOptions as TrackerOptions
    from harness.issues.webhook import escaped as escaped
    from harness.issues.webhook import escaped_markup as escaped_markup
    from harness.issues.webhook import send_message as send_message
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "folder": ("FolderTracker",),
            "choosing": ("github_tracker", "tracker_named"),
            "filing": ("Done", "Filing", "MOST_NEW", "file_report", "planned"),
            "incidents": ("IncidentFiled", "file_incidents", "incident_draft"),
            "merge_request": ("MergeRequest", "put_note"),
            "ongoing": ("Ongoing", "OngoingFiled", "file_ongoing", "ongoing_marker"),
            "outbox": ("ReportOutbox",),
            "planning": ("TrackerAction",),
            "proposing": ("ProposedChange", "ProposedFile"),
            "quoting": ("fenced", "line_of", "span"),
            "tracker": ("LABEL", "IssueTracker", "Note", "TrackedIssue", "TrackerOptions"),
            "webhook": ("escaped", "escaped_markup", "send_message"),
        },
    )
