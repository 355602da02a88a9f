"""Themes as issues: one a theme, up to date while it goes on, closed when it has stayed away.

Everything that an issue shows of a session is quoted as tools' answers are.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from harness.issues import (
    LABEL,
    IssueTracker,
    Ongoing,
    OngoingFiled,
    file_ongoing,
    line_of,
    ongoing_marker,
    span,
)
from harness.results import IssueDraft
from harness.themes.known_themes import known_themes_lock, known_themes_path, read_known_themes, write_known_themes
from harness.themes.theme import Example, Theme, ThemesReport

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
        body=_body(theme),
        labels=(LABEL, "drift:warning", THEME),
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


def _body(theme: Theme) -> str:
    within = theme.impact_interval
    interval = "" if within is None else f" (95 %: {within.low:.1f} to {within.high:.1f})"
    facts = [
        ("sessions", f"{theme.sessions} of those scored, about {theme.estimated_sessions:.0f} of all"),
        ("share", f"{theme.share:.1%}"),
        ("impact (sessions x severity)", f"{theme.impact:.1f}{interval}"),
        ("failed", span(theme.criterion)),
        ("failure mode", span(theme.cause.mode)),
        ("found at the same step", ", ".join(map(span, theme.also))),
        ("tool", span(f"{theme.cause.tool} {theme.cause.error}")),
        ("fault of the harness", span(theme.fault or "")),
        ("trend", f"{theme.trend}, {theme.first_day} to {theme.last_day}"),
        ("first release", span(theme.first_release)),
        ("releases", ", ".join(f"{span(name) or '(none)'}: {count}" for name, count in theme.releases.items())),
        ("words", span(" ".join(theme.terms))),
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
    lines += ["", f"`harness themes show {theme.id}` lists its sessions.", ""]
    return "\n".join([*lines, ongoing_marker(theme.id, "theme", theme.first_day)])


def _example(example: Example) -> str:
    step = "" if example.step is None else f", step {example.step}"
    return f"- {span(example.session)}{step}: {span(example.excerpt)}"
