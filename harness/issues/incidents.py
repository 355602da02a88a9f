"""Incidents of production as issues: one an incident, kept up to date while it goes on, and closed when it is over.

The values that an issue shows (names of releases, categories, tools) come from sessions: they are quoted as tools'
answers are.
"""

import json
from collections.abc import Sequence
from typing import Final, Literal

from harness.errors import TrackerError, TrackerUnavailable
from harness.issues.quoting import line_of, span
from harness.issues.state import key_in
from harness.issues.tracker import LABEL, IssueTracker, Note, TrackedIssue
from harness.online import Incident, Shift
from harness.results import IssueDraft
from harness.values import Frozen

INCIDENT: Final = "online:incident"
"""The label of these issues, beside the one that all issues of the harness have."""
_ROWS: Final = 20


class IncidentFiled(Frozen):
    """What was done for one incident."""

    incident: str
    verb: Literal["file", "update", "reopen", "close", "leave"]
    reference: str = ""
    """What people call the issue; "" where there is none."""
    url: str = ""
    error: str | None = None
    """Why it could not be done; it is tried again at the next look."""


def file_incidents(incidents: Sequence[Incident], tracker: IssueTracker) -> list[IncidentFiled]:
    """Brings the tracker up to date; doing it again changes nothing. Raises TrackerUnavailable."""
    with tracker.exclusive():
        known = {key_in(issue.body): issue for issue in sorted(tracker.find(), key=lambda one: -one.number)}
        return [_filed(incident, known.get(incident.id), tracker) for incident in incidents]


def incident_draft(incident: Incident) -> IssueDraft:
    """The issue of an incident."""
    worst = max(incident.shifts, key=lambda shift: shift.evidence)
    more = f" and {len(incident.shifts) - 1} more" if len(incident.shifts) > 1 else ""
    where = f" ({worst.stratum})" if worst.stratum else ""
    return IssueDraft(
        tool=incident.suite,
        severity="warning",
        title=line_of(
            f"{incident.suite}: {worst.signal}{where} moved from {worst.before:.1%} to {worst.after:.1%}{more},"
            f" since {incident.since}",
            120,
        ),
        body=_body(incident),
        labels=(LABEL, "drift:warning", INCIDENT),
        fingerprints=(incident.id,),
    )


def _filed(incident: Incident, issue: TrackedIssue | None, tracker: IssueTracker) -> IncidentFiled:
    verb = _verb(incident, issue)
    try:
        done = _carry_out(verb, incident, issue, tracker)
    except TrackerUnavailable:
        raise
    except TrackerError as error:
        return IncidentFiled(incident=incident.id, verb=verb, error=str(error))
    if done is None:
        return IncidentFiled(incident=incident.id, verb=verb)
    return IncidentFiled(incident=incident.id, verb=verb, reference=done.reference, url=done.url)


def _verb(incident: Incident, issue: TrackedIssue | None) -> Literal["file", "update", "reopen", "close", "leave"]:
    if issue is None:
        return "file" if incident.is_open else "leave"
    if issue.is_muted:
        return "leave"
    if not incident.is_open:
        return "close" if issue.is_open else "leave"
    if not issue.is_open:
        return "reopen"
    return "leave" if issue.body.rstrip() == incident_draft(incident).body.rstrip() else "update"


def _carry_out(verb: str, incident: Incident, issue: TrackedIssue | None, tracker: IssueTracker) -> TrackedIssue | None:
    draft = incident_draft(incident)
    if issue is None:
        return tracker.file(draft) if verb == "file" else None
    match verb:
        case "close":
            why = "The new rates were accepted." if incident.accepted else f"Over since {incident.closed}."
            return tracker.close(issue, draft, Note(id=f"{incident.id}-closed-{incident.closed}", text=why))
        case "update" | "reopen":
            note = Note(id=f"{incident.id}-again", text="It goes on.") if verb == "reopen" else None
            return tracker.update(issue, draft, note, reopen=verb == "reopen")
        case _:
            return issue


def _body(incident: Incident) -> str:
    lines = [
        f"In the sessions of production scored by {span(incident.suite)}, rates moved; the shift most likely began on"
        f" **{incident.since}** and was noticed on {incident.opened}.",
        "",
        "| what went wrong | sessions | before | since then | began | over |",
        "|---|---|---|---|---|---|",
        *(_shift_row(shift) for shift in incident.shifts[:_ROWS]),
    ]
    if len(incident.shifts) > _ROWS:
        lines.append(f"\n{len(incident.shifts) - _ROWS} more shifts: `harness online watch {incident.suite} --json`.")
    lines += ["", "What else changed about then, which proves no cause:", ""]
    lines += [
        f"- {change.facet} {span(change.value) or '(none)'}: {change.before:.0%} of the sessions before,"
        f" {change.after:.0%} after"
        for change in incident.changes
    ] or ["- nothing that spans name: no release, prompt, model, judge, scorer or category"]
    lines += [
        "",
        "The charts may be looked at every day: see `docs/concepts/online.md`. Where the new rates are meant,"
        f" `harness online watch {incident.suite} --accept {incident.id}` makes them the reference.",
        "",
        _marker(incident),
    ]
    return "\n".join(lines)


def _shift_row(shift: Shift) -> str:
    where = span(shift.stratum) if shift.stratum else "all"
    over = shift.over or "no"
    return f"| {span(shift.signal)} | {where} | {shift.before:.1%} | {shift.after:.1%} | {shift.since} | {over} |"


def _marker(incident: Incident) -> str:
    """Found again by its key; it is no state of a drift issue, whose planner passes over it."""
    told = json.dumps({"incident": incident.id, "opened": incident.opened}, separators=(",", ":"))
    return f"<!-- harness-drift:v1 key={incident.id} {told} -->"
