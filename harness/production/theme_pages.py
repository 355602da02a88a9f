"""Themes: failures of production or of a run, grouped by cause and ranked by impact."""

import time
from collections.abc import Iterator, Sequence
from typing import Final

from harness.production.pages import DAYS, DEFAULT_DAYS, days_back, opened_store, session_path
from harness.production.ranking import Example, Theme, ThemesReport
from harness.production.themes import known_themes_path, theme_named, themes_of_run, themes_of_store
from harness.reports.pages.annotations import stamp_of
from harness.reports.pages.markup import (
    PER_PAGE,
    UNKNOWN,
    Markup,
    bounded,
    chip,
    choice,
    empty,
    facts,
    filters,
    fragment,
    link,
    path_of,
    row,
    run_link,
    table,
    tag,
    trial_path,
    words,
)
from harness.reports.pages.request import Ask, Page, PageSet
from harness.reports.units import percent
from harness.scoring.statistics.intervals import Interval

_DAY_NS: Final = 86_400 * 10**9
_RUNS: Final = 100
_LISTED: Final = 50
_TRENDS: Final = {"new": "bad", "rising": "bad", "falling": "good"}


def themes(ask: Ask) -> Page:
    """`/themes?run=&days=&suite=&session=`: of a run, or of the sessions of production."""
    report = _report(ask)
    if report is None:
        nothing = empty(
            "Nothing of production is stored.",
            "harness ingest serve",
            "receives it; choose a run to see its own themes.",
        )
        return Page.of("Themes", _choice(ask, ()), nothing, section="Themes")
    if session := ask.query.get("session"):
        report = report.model_copy(update={"themes": tuple(one for one in report.themes if session in one.members)})
    shown, beside = ask.part(report.themes, "/themes")
    what = "trials" if report.is_of_run else "sessions"
    count = f"{report.failed} of {report.sessions} {what} show {len(report.themes)} themes"
    heads = ("theme", f"#{what}", "#share", "#impact", "trend", "since", "issue")
    rows = [_row(ask, one) for one in shown]
    return Page.of(
        "Themes",
        _choice(ask, sorted({one.suite for one in report.themes})),
        table(heads, rows, caption="Themes by impact", class_="plain list")
        if rows
        else tag("p", "No failure was found.", class_="empty"),
        beside,
        *_absent_themes(report),
        section="Themes",
        beside=tag("p", count, class_="count"),
    )


def theme(ask: Ask) -> Page:
    """`/themes/{id}?run=&days=`: one theme with its sessions."""
    report = _report(ask)
    found = theme_named(
        report or ThemesReport(source="store", since="", sessions=0, failed=0, themes=()), ask.place["id"]
    )
    run = ask.query.get("run") or None
    return Page.of(
        bounded(found.title, 200),
        facts(_theme_facts(found)),
        *_days(found),
        *_examples("Representative", found.representative, run),
        *_examples("Least like the others", found.borderline, run),
        *_links(found),
        *_members(ask, found, run),
        section="Themes",
        up=(path_of("themes", **_kept_query(ask)), "Themes"),
        beside=chip(found.trend, _TRENDS.get(found.trend, "")),
    )


def _report(ask: Ask) -> ThemesReport | None:
    """None if there is neither a run asked for nor a store."""
    if name := ask.query.get("run"):
        project, folder = ask.project, ask.project.run(name)
        own = project.path / "suites" / folder.manifest.suite
        known = known_themes_path(project.path, folder.manifest.suite, of_runs=True)
        state = project.index.state(name), *map(stamp_of, (own, own / "labels", known.parent))
        report: ThemesReport = project.made.got((name, state), lambda: themes_of_run(project.path, folder))
        return report
    store = opened_store(ask.project.path)
    if store is None:
        return None
    days = days_back(ask.query.get("days", ""))
    since_ns = 0 if days is None else time.time_ns() - days * _DAY_NS
    suite = ask.query.get("suite") or None
    return themes_of_store(ask.project.path, store, since_ns=since_ns, suite=suite)


def _choice(ask: Ask, suites: Sequence[str]) -> Markup:
    asked = {name: ask.query.get(name, "") for name in ("run", "days", "suite")}
    runs = [one.name for one in ask.project.index.entries() if one.manifest is not None][:_RUNS]
    fields = [choice("run", "run", runs, asked["run"], otherwise="production")]
    if not asked["run"]:
        fields.append(choice("days", "days back", tuple(DAYS), asked["days"], otherwise=f"{DEFAULT_DAYS} (default)"))
        if len(suites) > 1 or asked["suite"]:
            fields.append(choice("suite", "suite", sorted({*suites, asked["suite"]} - {""}), asked["suite"]))
    return filters(*fields, action="/themes")


def _row(ask: Ask, one: Theme) -> Markup:
    path = path_of("themes", one.id, **_kept_query(ask))
    return row(
        link(path, bounded(one.title, 200)),
        str(one.sessions),
        percent(one.share),
        f"{one.impact:.1f}{_interval_text(one.impact_interval)}",
        chip(one.trend, _TRENDS.get(one.trend, "")),
        f"{one.first_day} {bounded(one.first_release, 40)}",
        bounded(one.issue, 80) or UNKNOWN,
        href=path,
    )


def _interval_text(interval: Interval | None) -> str:
    return "" if interval is None else f" ({interval.low:.1f} to {interval.high:.1f})"


def _kept_query(ask: Ask) -> dict[str, str]:
    return {name: ask.query[name] for name in ("run", "days", "suite") if ask.query.get(name)}


def _theme_facts(found: Theme) -> Iterator[tuple[str, Markup | str]]:
    yield "id", tag("code", found.id)
    yield "suite", found.suite
    yield "affected", f"{found.sessions}, {percent(found.share)} of all"
    yield "impact", f"{found.impact:.1f}{_interval_text(found.impact_interval)}"
    yield "severity", f"{found.severity:.2f}"
    if found.fault is not None:
        yield "fault of the harness", words(found.fault)
    for name, value in (("mode", found.cause.mode), ("tool", found.cause.tool), ("error", found.cause.error)):
        if value:
            yield name, words(value)
    yield "first", f"{found.first_day} {bounded(found.first_release, 60)}"
    yield "last", found.last_day
    for release, count in list(found.releases.items())[:20]:
        yield f"release {bounded(release, 40) or '(none)'}", str(count)


def _days(found: Theme) -> Iterator[Markup]:
    """A bar for each day, with its number beside it."""
    days = list(found.days.items())[-31:]
    if len(days) < 2:
        return
    most = max(count for _, count in days)
    bars = [
        fragment(
            tag("span", day), tag("meter", max=most, value=count, aria_label=f"{day}: {count}"), tag("span", count)
        )
        for day, count in days
    ]
    yield tag("h2", "Days")
    yield tag("div", *bars, class_="bars")


def _examples(title: str, some: Sequence[Example], run: str | None) -> Iterator[Markup]:
    if not some:
        return
    yield tag("h2", title)
    yield tag(
        "ul",
        *(
            tag("li", _member_link(one.session, run, one.step), f" {bounded(one.release, 60)} ", tag("q", one.excerpt))
            for one in some[:_LISTED]
        ),
        class_="verdicts",
    )


def _member_link(session: str, run: str | None, step: int | None = None) -> Markup:
    """A link to the trial or the session."""
    at = "" if step is None else f"#step-{step}"
    if run is None:
        return link(session_path(session) + at, bounded(session, 120))
    _, case, attempt = session.rsplit("/", 2) if session.count("/") >= 2 else ("", session, "1")
    return link(trial_path(run, case, int(attempt) if attempt.isdecimal() else 1) + at, f"{case} / {attempt}")


def _links(found: Theme) -> Iterator[Markup]:
    if found.issue:
        yield tag("p", "Issue: ", bounded(found.issue, 300))
    if found.cases:
        yield tag("p", "Cases: ", bounded(", ".join(found.cases), 600))
    else:
        yield tag("p", "No case holds it yet: open a session below, and make one of it by its commands.", class_="dim")
    for one in found.drift:
        words_of = f"Drift of {bounded(one.operation, 120)}: {bounded(one.change, 80)} ({one.severity}) in "
        yield tag("p", words_of, run_link(one.run))


def _members(ask: Ask, found: Theme, run: str | None) -> Iterator[Markup]:
    shown, beside = ask.part(found.members, path_of("themes", found.id))
    yield tag("h2", f"All {len(found.members)}")
    yield tag("ul", *(tag("li", _member_link(one, run)) for one in shown), class_="names")
    yield beside


def _absent_themes(report: ThemesReport) -> Iterator[Markup]:
    if not report.away:
        return
    rows = [
        row(
            one.id,
            one.suite,
            bounded(one.issue, 120),
            one.last_day,
            str(one.examined),
            "over" if one.over else "not yet",
        )
        for one in report.away[:PER_PAGE]
    ]
    heads = ("theme", "suite", "issue", "last seen", "#examined since", "over")
    yield tag("h2", "Filed, and not seen any more")
    yield table(heads, rows, caption="Themes that are away")


PAGES = PageSet(shows={"/themes": themes, "/themes/{id}": theme}, entry=("Production", "Themes", "/themes"))
