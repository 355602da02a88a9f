"""Production: what a day's sessions show beside the week before, incidents, and the sessions themselves."""

import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Final

from harness.online import (
    DailyReport,
    DayRate,
    Incident,
    SessionRow,
    SessionStore,
    change_words,
    daily_report,
    read_incidents,
    signal_words,
)
from harness.report import percent
from harness.view.asking import Ask, Page, PageSet
from harness.view.markup import Markup, fragment, link, path_of, tag
from harness.view.production import DAYS, DEFAULT_DAYS, days_back, opened_store, session_path
from harness.view.tables import PER_PAGE, choice, facts, filters, pager, pages_of, row, search, table
from harness.view.wording import UNKNOWN, bounded, chip, interval_words, run_link

_DAY_NS: Final = 86_400 * 10**9
_DAYS_LISTED: Final = 60
_INCIDENTS: Final = 50


def production(ask: Ask) -> Page:
    """`/production?days=&release=&user=`."""
    store = opened_store(ask.project.path)
    if store is None:
        nothing = tag(
            "p",
            "Nothing of production is stored. ",
            tag("code", "harness ingest serve"),
            " receives it.",
            class_="empty",
        )
        return Page(title="Production", body=fragment(tag("h1", "Production"), nothing), section="Production")
    body = fragment(tag("h1", "Production"), _suites(store), *_incidents(store), *_sessions(ask, store))
    return Page(title="Production", body=body, section="Production")


def day(ask: Ask) -> Page:
    """`/production/days/{suite}?day=`: the report of one day of one suite."""
    store = opened_store(ask.project.path)
    suite = ask.place["suite"]
    days = [] if store is None else store.facts(suite).days()
    up = tag("p", link("/production", "Production", data_up=True), class_="crumbs")
    if store is None or not days:
        nothing = tag("p", "No session is scored by this suite.", class_="empty")
        return Page(title=suite, body=fragment(up, tag("h1", suite), nothing), section="Production")
    chosen = ask.query.get("day", "")
    chosen = chosen if chosen in days else days[-1]
    found = daily_report(store.facts(suite), suite, store.layout.watch, chosen)
    field = choice("day", "day", days[-_DAYS_LISTED:][::-1], ask.query.get("day", ""), otherwise="the latest")
    body = fragment(
        up,
        tag("h1", f"{suite}, {chosen}"),
        filters(field, action=path_of("production", "days", suite)),
        *_report(found),
    )
    return Page(title=f"{suite}, {chosen}", body=body, section="Production")


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
    heads = ("what went wrong", "group", "#share", "#95 %", "#week before", "#sessions")
    yield table(heads, map(_rate, [*every, *groups]), caption="Shares of sessions")
    if found.means:
        rows = [row(bounded(name, 80), f"{mean:.3g}") for name, mean in found.means.items()]
        yield tag("h2", "Means")
        yield table(("figure", "#mean"), rows, caption="Means")
    if found.open_incidents:
        yield tag("h2", "Open incidents")
        yield from map(_incident, found.open_incidents)


def _rate(one: DayRate) -> Markup:
    before = UNKNOWN if one.before is None else percent(one.before)
    cells = (bounded(one.group, 80), percent(one.share), interval_words(one.interval), before, str(one.sessions))
    return row(bounded(signal_words(one.signal), 160), *cells)


def _incidents(store: SessionStore) -> Iterator[Markup]:
    found = sorted(read_incidents(store.layout.watch / "incidents.json"), key=lambda one: one.opened, reverse=True)
    if not found:
        return
    yield tag("h2", "Incidents")
    yield from map(_incident, found[:_INCIDENTS])


def _incident(one: Incident) -> Markup:
    state = "accepted" if one.accepted else "withdrawn" if one.withdrawn else "open" if one.is_open else "over"
    shifts = [_changed(signal_words(it.signal), it.stratum, it.before, it.after) for it in one.shifts[:20]]
    near = [_changed(change_words(it), "", it.before, it.after, "at the same time: ") for it in one.changes[:20]]
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


def _changed(what: str, where: str, before: float, after: float, lead: str = "") -> Markup:
    return tag("li", f"{lead}{bounded(what, 160)} {bounded(where, 80)}: {percent(before)} → {percent(after)}")


def _sessions(ask: Ask, store: SessionStore) -> Iterator[Markup]:
    asked = {name: ask.query.get(name, "") for name in ("days", "release", "user")}
    days = days_back(asked["days"])
    since_ns = 0 if days is None else time.time_ns() - days * _DAY_NS
    found = store.sessions(since_ns=since_ns, release=asked["release"] or None, user_id=asked["user"] or None)[::-1]
    pages = pages_of(len(found))
    number = ask.number("page", most=pages)
    shown = found[(number - 1) * PER_PAGE : number * PER_PAGE]
    failed = store.score_store.failed_among([one.key for one in shown])
    yield tag("div", tag("h2", "Sessions"), tag("p", str(len(found)), class_="count"), class_="title")
    yield filters(
        choice("days", "days back", tuple(DAYS), asked["days"], otherwise=f"{DEFAULT_DAYS} (default)"),
        search("release", "release", asked["release"]),
        search("user", "user", asked["user"]),
        action="/production",
    )
    yield _table(shown, failed) if shown else tag("p", "No session fits.", class_="empty")
    yield pager(number, pages, "/production", ask.query)


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


PAGES = PageSet(shows={"/production": production, "/production/days/{suite}": day}, entry=("Production", "/production"))
