"""Incidents of production as issues: one for each incident, updated while it continues, and closed when it has ended.

The values that an issue shows (names of releases, categories, tools) come from sessions: they are quoted as tools'
answers are quoted.
"""

from collections.abc import Sequence
from typing import Final

from harness.issues.ongoing import Ongoing, OngoingVerb, file_ongoing, ongoing_marker
from harness.issues.quoting import line_of, span
from harness.issues.tracker import LABEL, IssueTracker
from harness.online import Incident, Shift, signal_words
from harness.results import IssueDraft
from harness.values import Frozen

INCIDENT: Final = "online:incident"
"""The label of these issues, in addition to the label of all issues of the harness."""
_ROWS: Final = 20
_FACET_WORDS: Final = {"answers": "unknown structures in answers of"}
_WITHDRAWN: Final = "The charts do not show it any more: the sessions of these days were scored again."


class IncidentFiled(Frozen):
    """The result for one incident."""

    incident: str
    verb: OngoingVerb
    reference: str = ""
    """The issue's reference for people; "" where no issue exists."""
    url: str = ""
    error: str | None = None
    """Why it failed; it is retried at the next check."""


def file_incidents(incidents: Sequence[Incident], tracker: IssueTracker) -> list[IncidentFiled]:
    """Brings the tracker up to date; doing it again changes nothing. Raises TrackerUnavailable."""
    done = file_ongoing([_ongoing(incident) for incident in incidents], tracker)
    return [IncidentFiled(incident=one.id, **one.model_dump(exclude={"id"})) for one in done]


def incident_draft(incident: Incident) -> IssueDraft:
    """The issue of an incident."""
    worst = max(incident.shifts, key=lambda shift: shift.evidence)
    more = f" and {len(incident.shifts) - 1} more" if len(incident.shifts) > 1 else ""
    where = f" ({worst.stratum})" if worst.stratum else ""
    return IssueDraft(
        tool=incident.suite,
        severity="warning",
        title=line_of(
            f"{incident.suite}: {signal_words(worst.signal)}{where} moved from {worst.before:.1%}"
            f" to {worst.after:.1%}{more}, since {incident.since}",
            120,
        ),
        body=_body(incident),
        labels=(LABEL, "drift:warning", INCIDENT),
        fingerprints=(incident.id,),
    )


def _ongoing(incident: Incident) -> Ongoing:
    over = None
    if not incident.is_open:
        over = f"Over since {incident.closed}." if incident.closed else _WITHDRAWN
        over = "The new rates were accepted." if incident.accepted else over
    return Ongoing(id=incident.id, over=over, draft=incident_draft(incident))


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
    changed = [
        f"- {_FACET_WORDS.get(change.facet, change.facet)} {span(change.value) or '(none)'}: {change.before:.0%} of the"
        f" sessions before, {change.after:.0%} after"
        for change in incident.changes
    ]
    changed += [
        f"- drift of {span(one.operation)} ({one.severity}, {one.day}): {span(one.change)} in {span(one.run)}"
        for one in incident.drift
    ]
    lines += changed or [
        "- nothing that is known: no release, prompt, model, judge, scorer, category, tool's answers or drift"
    ]
    lines += [
        "",
        "The charts may be evaluated every day: see `docs/concepts/online.md`. Where the new rates are meant,"
        f" `harness online watch {incident.suite} --accept {incident.id}` makes them the reference.",
        "",
        ongoing_marker(incident.id, "incident", incident.opened),
    ]
    return "\n".join(lines)


def _shift_row(shift: Shift) -> str:
    where = span(shift.stratum) if shift.stratum else "all"
    over = shift.over or "no"
    signal = span(signal_words(shift.signal))
    return f"| {signal} | {where} | {shift.before:.1%} | {shift.after:.1%} | {shift.since} | {over} |"
