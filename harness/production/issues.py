"""Incidents and themes as issues: filed when they begin, updated while they go on, closed when they end."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Final, Literal

from harness.drift.issue import LABEL, IssueTracker, Note, TrackedIssue, key_in
from harness.drift.issue_text import line_of, span
from harness.errors import TrackerError, TrackerUnavailable
from harness.production.charts import Shift
from harness.production.ranking import Example, Theme, ThemesReport
from harness.production.scores import signal_words
from harness.production.themes import known_themes_lock, known_themes_path, read_known_themes, write_known_themes
from harness.production.watch import Incident
from harness.runs.store.drift_report import IssueDraft
from harness.values import Frozen

# Incidents of production and themes of failures are of this kind.

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
    """The issue's reference for people; "" if no issue exists."""
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


# The values that an issue shows (names of releases, categories, tools) come from sessions: they are quoted as tools'
# answers are quoted.

INCIDENT: Final = "online:incident"
"""The label of these issues, in addition to the label of all issues of the harness."""
_ROWS: Final = 20
_WITHDRAWN: Final = "The charts do not show it any more: the sessions of these days were scored again."


def file_incidents(incidents: Sequence[Incident], tracker: IssueTracker) -> list[OngoingFiled]:
    """Brings the tracker up to date; doing it again changes nothing. Raises TrackerUnavailable."""
    return file_ongoing([_ongoing(incident) for incident in incidents], tracker)


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
        body=_incident_body(incident),
        labels=(LABEL, INCIDENT),
        fingerprints=(incident.id,),
    )


def _ongoing(incident: Incident) -> Ongoing:
    over = None
    if not incident.is_open:
        over = f"Over since {incident.closed}." if incident.closed else _WITHDRAWN
        over = "The new rates were accepted." if incident.accepted else over
    return Ongoing(id=incident.id, over=over, draft=incident_draft(incident))


def _incident_body(incident: Incident) -> str:
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
        f"- {change.facet} {span(change.value) or '(none)'}: {change.before:.0%} of the"
        f" sessions before, {change.after:.0%} after"
        for change in incident.changes
    ]
    changed += [
        f"- drift of {span(one.operation)} ({one.severity}, {one.day}): {span(one.change)} in {span(one.run)}"
        for one in incident.drift
    ]
    lines += changed or ["- nothing that is known: no release, prompt, model, judge, scorer, category or drift"]
    lines += [
        "",
        "The charts may be evaluated every day: see `docs/concepts/online.md`. If the new rates are meant,"
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


# Themes as issues: one a theme, up to date while it goes on, closed when it has stayed away.
#
# Everything that an issue shows of a session is quoted as tools' answers are.

THEME: Final = "online:theme"
"""The label of these issues, beside the one that all issues of the harness have."""
MOST_NEW: Final = 10
LEAST_SESSIONS: Final = 2
_LISTED: Final = 10


def file_themes(
    project: Path,
    report: ThemesReport,
    tracker: IssueTracker,
    *,
    only: Sequence[Theme] | None = None,
    most_new: int = MOST_NEW,
    least_sessions: int = LEAST_SESSIONS,
) -> list[OngoingFiled]:
    """Brings the tracker up to date, the themes with the largest impact first. Raises TrackerUnavailable.

    `report`: made with `remember`, so that the references of the issues are kept with the themes.

    `only`: these themes alone, and nothing is closed. `least_sessions`: themes that touched fewer are not filed.
    """
    chosen = [theme for theme in report.themes if theme.sessions >= least_sessions] if only is None else only
    subjects = [Ongoing(id=theme.id, over=None, draft=theme_draft(theme)) for theme in chosen]
    if only is None:
        subjects += [
            Ongoing(id=one.id, over=f"{one.examined} sessions since {one.last_day} did not show it.", draft=None)
            for one in report.away
            if one.over
        ]
    done = file_ongoing(subjects, tracker, most_new=most_new)
    suites = {theme.id: theme.suite for theme in report.themes} | {one.id: one.suite for one in report.away}
    for suite in sorted({suites[one.id] for one in done}):
        path = known_themes_path(project, suite, of_runs=report.is_of_run)
        _keep_references(project, path, [one for one in done if suites[one.id] == suite])
    return done


def theme_draft(theme: Theme) -> IssueDraft:
    """The issue of a theme."""
    return IssueDraft(
        tool=theme.cause.tool,
        severity="warning",
        title=line_of(f"{theme.suite}: {theme.title}", 120),
        body=_theme_body(theme),
        labels=(LABEL, THEME),
        fingerprints=(theme.id,),
    )


def _keep_references(project: Path, path: Path, done: Sequence[OngoingFiled]) -> None:
    references = {one.id: "" if one.verb == "close" else one.reference for one in done if one.error is None}
    with known_themes_lock(project):
        known = read_known_themes(path)
        named = {
            one.text.id: one.model_copy(update={"issue": references[one.text.id]})
            for one in known.themes
            if one.text.id in references
        }
        write_known_themes(path, known.with_themes(named))


def _theme_body(theme: Theme) -> str:
    within = theme.impact_interval
    interval = "" if within is None else f" (95 %: {within.low:.1f} to {within.high:.1f})"
    facts = [
        ("sessions", f"{theme.sessions} of those scored, about {theme.estimated_sessions:.0f} of all"),
        ("share", f"{theme.share:.1%}"),
        ("impact (sessions x severity)", f"{theme.impact:.1f}{interval}"),
        ("failed", span(theme.criterion)),
        ("failure mode", span(theme.cause.mode)),
        ("tool", span(f"{theme.cause.tool} {theme.cause.error}")),
        ("fault of the harness", span(theme.fault or "")),
        ("trend", f"{theme.trend}, {theme.first_day} to {theme.last_day}"),
        ("first release", span(theme.first_release)),
        ("releases", ", ".join(f"{span(name) or '(none)'}: {count}" for name, count in theme.releases.items())),
    ]
    lines = [
        f"Failures with one cause, in what is scored by {span(theme.suite)}.",
        "",
        "| | |",
        "|---|---|",
        *(f"| {name} | {value} |" for name, value in facts if value),
        "",
        "Representative:",
        "",
        *map(_example, theme.representative),
    ]
    if theme.borderline:
        lines += [
            "",
            "Borderline, to be read before all are taken for one cause:",
            "",
            *map(_example, theme.borderline),
        ]
    lines += [""] + [f"- case {span(case)}" for case in theme.cases[:_LISTED]]
    lines += [f"- drift {span(one.operation)}: {span(one.change)} in {span(one.run)}" for one in theme.drift[:_LISTED]]
    lines += ["", f"`harness themes --theme {theme.id}` lists its sessions.", ""]
    return "\n".join([*lines, ongoing_marker(theme.id, "theme", theme.first_day)])


def _example(example: Example) -> str:
    step = "" if example.step is None else f", step {example.step}"
    return f"- {span(example.session)}{step}: {span(example.excerpt)}"
