"""Production: what a day's sessions show beside the week before, incidents, and the sessions themselves."""

import shlex
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from harness.errors import UsageError
from harness.production.judging import day_rates
from harness.production.scores import SessionScore, signal_words
from harness.production.session import Session, SessionRow
from harness.production.settings import online_settings
from harness.production.storage import StoreLayout
from harness.production.store import SessionStore
from harness.production.watch import DailyReport, DayRate, Incident, daily_report, read_incidents
from harness.reports.pages import trial_parts as findings
from harness.reports.pages.markup import (
    UNKNOWN,
    Markup,
    bounded,
    chip,
    choice,
    empty,
    facts,
    filters,
    fold,
    folded_value,
    fragment,
    hidden,
    link,
    pager,
    pages_of,
    path_of,
    row,
    run_link,
    search,
    shown_text,
    table,
    tag,
    value_text,
    whole_number,
)
from harness.reports.pages.request import Ask, Page, PageSet
from harness.reports.pages.trial import command_line
from harness.reports.pages.trial_parts import Timeline
from harness.reports.render.sections import corrected_words
from harness.reports.units import percent, percent_between
from harness.traces.spans import Span
from harness.traces.trial import Trial

DAYS: Final[dict[str, int | None]] = {"1": 1, "30": 30, "90": 90, "all": None}
"""What a list can be limited to: days back; None: everything."""
DEFAULT_DAYS: Final = 7


def days_back(asked: str) -> int | None:
    """The days of a query; None: everything."""
    return DAYS.get(asked, DEFAULT_DAYS)


def opened_store(project: Path) -> SessionStore | None:
    """None if the project has none. Raises ResultsError for one that cannot be read.

    A store belongs to one thread, so that each page opens its own.
    """
    settings = online_settings(project)
    if settings.clickhouse is None and not StoreLayout(project / settings.store).exists:
        return None
    return SessionStore.open(project / settings.store, settings.clickhouse)


def session_path(key: str) -> str:
    """The address of one session."""
    return path_of("production", "sessions", key)


_DAY_NS: Final = 86_400 * 10**9
_DAYS_LISTED: Final = 60
_INCIDENTS: Final = 50
_FIGURE: Final = ("suite", "day", "signal")
"""The fields of a query that name a figure of a day."""


def production(ask: Ask) -> Page:
    """`/production?days=&release=&user=&result=`, and of a figure of a day `&suite=&day=&signal=`."""
    store = opened_store(ask.project.path)
    if store is None:
        nothing = empty("Nothing of production is stored.", "harness ingest serve", "receives it.")
        return Page.of("Production", nothing, section="Production")
    return Page.of("Production", _suites(store), *_incidents(store), *_sessions(ask, store), section="Production")


def day(ask: Ask) -> Page:
    """`/production/days/{suite}?day=`: the report of one day of one suite."""
    store = opened_store(ask.project.path)
    suite = ask.place["suite"]
    days = [] if store is None else store.facts(suite).days()
    up = "/production", "Production"
    if store is None or not days:
        nothing = tag("p", "No session is scored by this suite.", class_="empty")
        return Page.of(suite, nothing, section="Production", up=up)
    chosen = ask.query.get("day", "")
    chosen = chosen if chosen in days else days[-1]
    facts_of = store.facts(suite)
    judged = day_rates(ask.project.path, facts_of, suite, chosen)
    found = daily_report(facts_of, suite, store.layout.watch, chosen, judged=judged)
    field = choice("day", "day", days[-_DAYS_LISTED:][::-1], ask.query.get("day", ""), otherwise="the latest")
    days_of = filters(field, action=path_of("production", "days", suite))
    return Page.of(f"{suite}, {chosen}", days_of, *_report(found), section="Production", up=up)


def _suites(store: SessionStore) -> Markup | None:
    """The suites that score sessions, with their latest day."""
    suites = store.score_store.suites()
    rows = []
    for name in suites:
        facts_of = store.facts(name)
        days = facts_of.days()
        if days:
            scored, population = facts_of.scored(days[-1])
            path = path_of("production", "days", name)
            rows.append(row(link(path, name), days[-1], str(scored), f"{population:.0f}", href=path))
    if not rows:
        return tag("p", "No session is scored yet. ", tag("code", "harness online score SUITE"), class_="notice")
    heads = ("suite", "latest day", "#scored", "#of about")
    return table(heads, rows, caption="Suites that score production", class_="plain list")


def _report(found: DailyReport) -> Iterator[Markup]:
    yield tag("p", f"{found.scored} sessions scored, for about {found.population:.0f}.", class_="count")
    every = [one for one in found.rates if not one.group]
    groups = [one for one in found.rates if one.group and (one.share or one.before)]
    heads = ("what went wrong", "group", "#share", "#95 %", "#corrected", "#week before", "#sessions")
    yield table(heads, (_rate(found, one) for one in (*every, *groups)), caption="Shares of sessions")
    if found.means:
        rows = [row(bounded(name, 80), f"{mean:.3g}") for name, mean in found.means.items()]
        yield tag("h2", "Means")
        yield table(("figure", "#mean"), rows, caption="Means")
    if found.open_incidents:
        yield tag("h2", "Open incidents")
        yield from map(_incident, found.open_incidents)


def _rate(day: DailyReport, one: DayRate) -> Markup:
    before = UNKNOWN if one.before is None else percent(one.before)
    shares = (percent(one.share), percent_between(one.interval), corrected_words(one.corrected))
    name, (kind, _, value) = bounded(signal_words(one.signal), 160), one.group.partition("=")
    if kind in ("", "release"):
        name = link(path_of("production", suite=day.suite, day=day.day, signal=one.signal, release=value), name)
    return row(name, bounded(one.group, 80), *shares, before, str(one.sessions))


def _incidents(store: SessionStore) -> Iterator[Markup]:
    found = sorted(read_incidents(store.layout.watch / "incidents.json"), key=lambda one: one.opened, reverse=True)
    if not found:
        return
    yield tag("h2", "Incidents")
    yield from map(_incident, found[:_INCIDENTS])


def _incident(one: Incident) -> Markup:
    state = "accepted" if one.accepted else "withdrawn" if one.withdrawn else "open" if one.is_open else "over"
    shifts = [_change_item(signal_words(it.signal), it.stratum, it.before, it.after) for it in one.shifts[:20]]
    near = [
        _change_item(f"{it.facet} {it.value!r}", "", it.before, it.after, "at the same time: ")
        for it in one.changes[:20]
    ]
    drift = [
        tag(
            "li",
            f"at the same time: drift of {bounded(it.operation, 120)}, {bounded(it.change, 80)} in ",
            run_link(it.run),
        )
        for it in one.drift[:20]
    ]
    title = f"{one.id} of {one.suite}"
    return tag(
        "section",
        tag("h3", f"{one.suite}, since {one.since} ", chip(state, "bad" if one.is_open else "")),
        facts((("id", tag("code", one.id)), ("noticed", one.opened), ("over", one.closed or UNKNOWN))),
        tag("ul", *shifts, *near, *drift, class_="verdicts"),
        aria_label=f"Incident {title}",
        class_="notice",
    )


def _change_item(what: str, where: str, before: float, after: float, lead: str = "") -> Markup:
    return tag("li", f"{lead}{bounded(what, 160)} {bounded(where, 80)}: {percent(before)} → {percent(after)}")


def _sessions(ask: Ask, store: SessionStore) -> Iterator[Markup]:
    asked = {name: ask.query.get(name, "") for name in ("days", "release", "user", "result", *_FIGURE)}
    days = days_back(asked["days"])
    since_ns = 0 if days is None or asked["signal"] else time.time_ns() - days * _DAY_NS
    found = store.sessions(since_ns=since_ns, release=asked["release"] or None, user_id=asked["user"] or None)[::-1]
    if asked["signal"]:
        counted = store.score_store.sessions_with(asked["suite"], asked["signal"], asked["day"])
        found = [one for one in found if one.key in counted]
        words = f"{signal_words(asked['signal'])} on {asked['day']}, as {asked['suite']} scored it"
        yield tag("p", f"Only sessions with: {bounded(words, 300)}. ", link("/production", "All"), class_="notice")
    if asked["result"] == "failed":
        failing = store.score_store.failed_among([one.key for one in found])
        found = [one for one in found if one.key in failing]
    shown, beside = ask.part(found, "/production")
    failed = store.score_store.failed_among([one.key for one in shown])
    yield tag("div", tag("h2", "Sessions"), tag("p", str(len(found)), class_="count"), class_="title")
    yield filters(
        choice("days", "days back", tuple(DAYS), asked["days"], otherwise=f"{DEFAULT_DAYS} (default)"),
        choice("result", "result", ("failed",), asked["result"]),
        search("release", "release", asked["release"]),
        search("user", "user", asked["user"]),
        *(hidden(name, asked[name]) for name in _FIGURE if asked[name]),
        action="/production",
    )
    yield _table(shown, failed) if shown else tag("p", "No session fits.", class_="empty")
    yield beside


def _table(rows: Sequence[SessionRow], failed: set[str]) -> Markup:
    heads = ("session", "scored", "release", "model", "#records", "#errors", "#seconds", "received")
    return table(heads, (_row(one, one.key in failed) for one in rows), caption="Sessions", class_="plain list")


def _row(one: SessionRow, failed: bool) -> Markup:
    received = datetime.fromtimestamp(one.received_last_ns / 1e9, UTC)
    return row(
        link(session_path(one.key), bounded(one.key, 120)),
        chip("failed", "bad") if failed else "",
        bounded(one.release, 60) or UNKNOWN,
        bounded(one.model, 60) or UNKNOWN,
        str(one.records),
        str(one.errors),
        f"{one.duration_s:.1f}",
        f"{received:%Y-%m-%d %H:%M}",
        href=session_path(one.key),
    )


PAGES = PageSet(
    shows={"/production": production, "/production/days/{suite}": day},
    entry=("Production", "Production", "/production"),
)


_WHOLE = 2_000_000
_PATH = "/production/sessions/{key}"


def session(ask: Ask) -> Page:
    """`/production/sessions/{key}`."""
    store, found = _session_of(ask)
    scores = list(store.score_store.read(session=found.row.key, latest=True))
    trial = found.trial()
    title = bounded(found.row.key, 200)
    head = fragment(
        facts(_session_facts(found)),
        *(tag("p", bounded(note.problem), class_="alert") for note in list(found.notes)[:20]),
        tag("div", *_scores(scores, trial), class_="said"),
        tag("p", link(path_of("themes", days="all", session=found.row.key), "Themes that this session is of"))
        if any(one.failed for one in scores)
        else None,
    )
    if trial is None:
        nothing = tag("p", "The spans tell of no agent, model or tool.", class_="empty")
        return Page.of(title, head, nothing, section="Production", up=("/production", "Production"))
    pages = pages_of(len(trial.trajectory.steps), findings.STEPS)
    shown = _timeline(found.row.key, trial, scores, ask.number("page", most=pages))
    beside = pager(shown.number, pages, session_path(found.row.key), ask.query)
    return Page.of(
        title,
        head,
        _commands(found),
        tag("h2", "Timeline", id="timeline"),
        beside,
        findings.timeline(shown),
        beside,
        tag("h2", "Final answer"),
        shown_text(value_text(trial.trajectory.final_output), 20_000),
        section="Production",
        up=("/production", "Production"),
    )


def step(ask: Ask) -> Page:
    """`.../steps/{step}`: one step whole."""
    _, found = _session_of(ask)
    trial, number = _numbered(ask, found)
    shown = _timeline(found.row.key, trial, (), 1)
    return Page(title="", body=findings.one_step(trial.trajectory.steps[number], shown, {}, _WHOLE), part=True)


def request(ask: Ask) -> Page:
    """`.../requests/{step}`: what was sent to the model for a step, as its span tells."""
    _, found = _session_of(ask)
    trial, number = _numbered(ask, found)
    span_id = trial.trajectory.steps[number].span_id
    sent, earlier = findings.requests_of(found.spans, span_id)
    if not sent:  # of a sender that is no harness
        own = [span for span in found.spans if span.span_id == span_id]
        return Page(title="", body=tag("div", *map(_span, own[:20]), class_="loaded"), part=True)
    return Page(title="", body=findings.request_part(sent, earlier), part=True)


def _span(span: Span) -> Markup:
    """A span as it was received."""
    told = [folded_value(bounded(name, 120), value, _WHOLE) for name, value in list(span.attributes.items())[:200]]
    return fragment(tag("h4", bounded(span.name, 200)), *told)


def _session_of(ask: Ask) -> tuple[SessionStore, Session]:
    store = opened_store(ask.project.path)
    if store is None:
        raise UsageError("nothing of production is stored", remedy="harness ingest serve")
    return store, store.session(ask.place["key"])


def _numbered(ask: Ask, found: Session) -> tuple[Trial, int]:
    trial, number = found.trial(), whole_number(text := ask.place["step"])
    if trial is None or number is None or number >= len(trial.trajectory.steps):
        raise UsageError(f"this session has no step {text[:40]!r}")
    return trial, number


def _timeline(key: str, trial: Trial, scores: Sequence[SessionScore], number: int) -> Timeline:
    found = [one for score in scores if score.card is not None for one in score.card.diagnoses]
    return Timeline(base=session_path(key), trial=trial, diagnoses=tuple(found), number=number)


def _session_facts(found: Session) -> Iterator[tuple[str, Markup | str]]:
    row = found.row
    yield "sender", f"{row.source}{'' if row.trusted else ', not trusted: evidence has no provenance'}"
    yield "release", bounded(row.release, 100) or UNKNOWN
    yield "model", bounded(row.model, 100) or UNKNOWN
    yield "records", f"{row.records}, {row.errors} errors"
    yield "duration", f"{row.duration_s:.1f} s"
    if row.feedback is not None:
        yield "lowest feedback", f"{row.feedback:.2f}"
    if row.users:
        yield "users", bounded(", ".join(row.users[:10]), 200)


def _scores(scores: Sequence[SessionScore], trial: Trial | None) -> Iterator[Markup]:
    for one in scores:
        if one.card is not None:
            yield tag("h2", f"Scored by {one.suite}")
            yield findings.checks(one.card, 1200)
            yield findings.diagnoses(one.card) or Markup()
            yield findings.metrics(one.card)
        if one.judgements:
            yield tag("h2", f"Judged by {one.suite} · {one.rubric}")
            steps = () if trial is None else trial.trajectory.steps
            yield findings.judgements(one.judgements, steps, None) or Markup()
        for note in one.notes[:20]:
            yield tag("p", chip("note", "open"), bounded(note))
    if not scores:
        yield tag("p", "This session is not scored. ", tag("code", "harness online score SUITE"), class_="notice")


def _commands(found: Session) -> Markup:
    words = f"harness case from-trace --session {shlex.quote(found.row.key)}"
    return fold("Commands", command_line("make a case of it", words))


SESSION_PAGES = PageSet(
    shows={_PATH: session, _PATH + "/steps/{step}": step, _PATH + "/requests/{step}": request},
)
