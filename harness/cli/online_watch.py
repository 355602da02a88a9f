"""`harness online report` and `watch`: one day, and what shifted over days."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.issue import tracker_options
from harness.cli.online import open_store, store_option

if TYPE_CHECKING:
    from harness.online import DailyReport, DayFacts, Incident, SessionStore

_SHOWN_DAYS = 14


@click.command("report")
@click.argument("suite")
@store_option
@click.option("--day", metavar="YYYY-MM-DD", help="Which day (UTC); default: the last with scores.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.pass_obj
def report(project: Path, /, suite: str, folder: Path | None, day: str | None, as_json: bool) -> None:
    """Report one day of production by SUITE, beside the seven days before it.

    \b
    harness online report support
    harness online report support --day 2026-01-31 --json

    Shares are estimated for all sessions, by the rates that sampling chose them with.
    """
    from harness.cli.console import print_json
    from harness.errors import UsageError
    from harness.online import daily_report

    store = open_store(project, folder)
    facts = _facts(store, suite)
    days = facts.days()
    if not days:
        raise UsageError(f"no session is scored by {suite!r}", remedy=f"harness online score {suite}")
    asked = days[-1] if day is None else _day(day)
    if asked not in days:
        shown = ", ".join(days[-_SHOWN_DAYS:])
        raise UsageError(
            f"no session received on {asked} is scored by {suite!r}",
            remedy=f"days with scores: {'..., ' if len(days) > _SHOWN_DAYS else ''}{shown}",
        )
    told = daily_report(facts, suite, store.layout.watch, asked)
    if as_json:
        print_json(told.model_dump(mode="json"))
    else:
        _show_report(told)


@click.command("watch")
@click.argument("suite")
@store_option
@click.option("--file", "file_too", is_flag=True, help="File open incidents as issues, and close those that are over.")
@click.option(
    "--accept", "accepted", metavar="ID", help="Take an incident's new rates for the reference of later days."
)
@tracker_options
@click.option("--json", "as_json", is_flag=True, help="Print the look as JSON.")
@click.pass_context
def watch(ctx: click.Context, /, suite: str, folder: Path | None, file_too: bool, **options: Any) -> None:
    """Look for shifts in the scores of SUITE, day by day.

    \b
    harness online watch support
    harness online watch support --file --tracker folder
    harness online watch support --accept 1f3a5b7c9d0e

    The method may be used every day: false alarms stay below the number a year that online.yaml declares (default: 2).
    Exit 1 where an incident is open.
    """
    from harness.cli.console import print_json
    from harness.errors import ExitCode
    from harness.online import accept_incident, online_settings, watch_shifts

    project: Path = ctx.obj
    as_json = options.pop("as_json")
    store = open_store(project, folder)
    if options.pop("accepted") is not None:
        accept_incident(store.layout.watch, ctx.params["accepted"])
    look = watch_shifts(_facts(store, suite), suite, store.layout.watch, online_settings(project).watch)
    filed = _file(project, look.incidents, options) if file_too else []
    open_ones = [one for one in look.incidents if one.is_open]
    if as_json:
        print_json({**look.model_dump(mode="json"), "filed": filed})
    else:
        click.echo(f"{look.days} days, {look.charts} charts, {len(open_ones)} open incidents")
        for incident in look.incidents:
            _show_incident(incident)
        for one in filed:
            click.echo(f"  {one['verb']}  {one['incident']}  {one['url']}{one['error'] or ''}")
    ctx.exit(ExitCode.VERDICT if open_ones else ExitCode.DONE)


def _day(told: str) -> str:
    from datetime import date

    from harness.errors import UsageError

    try:
        return date.fromisoformat(told).isoformat()
    except ValueError:
        raise UsageError(f"--day {told!r} is no date", remedy="for example 2026-01-31") from None


def _facts(store: "SessionStore", suite: str) -> "DayFacts":
    from harness.online import DayFacts

    return DayFacts(store.score_store.facts(), suite)


def _file(project: Path, incidents: "tuple[Incident, ...]", options: dict[str, Any]) -> list[dict[str, Any]]:
    import os

    from harness.issues import TrackerOptions, file_incidents, tracker_named

    settings = TrackerOptions(
        project=project, repo=options["repo"], api_url=options["api_url"], timeout_s=options["timeout"]
    )
    tracker = tracker_named(options["tracker"], settings, os.environ)
    return [one.model_dump(mode="json") for one in file_incidents(incidents, tracker)]


def _show_report(told: "DailyReport") -> None:
    click.echo(f"{told.suite}, {told.day}: {told.scored} sessions scored, for about {told.population:.0f}")
    for rate in told.rates:
        within = "" if rate.interval is None else f" ({rate.interval.low:.1%} to {rate.interval.high:.1%})"
        before = "" if rate.before is None else f", {rate.before:.1%} the week before"
        group = f" [{rate.group}]" if rate.group else ""
        click.echo(f"  {rate.signal}{group}: {rate.share:.1%}{within} of {rate.sessions}{before}")
    for name, mean in told.means.items():
        click.echo(f"  mean {name}: {mean:.3g}")
    for incident in told.open_incidents:
        _show_incident(incident)


def _show_incident(incident: "Incident") -> None:
    state = "accepted" if incident.accepted else "open" if incident.is_open else f"over on {incident.closed}"
    click.echo(f"incident {incident.id}: since {incident.since}, noticed {incident.opened}, {state}")
    for shift in incident.shifts:
        where = f" [{shift.stratum}]" if shift.stratum else ""
        click.echo(f"  {shift.signal}{where}: {shift.before:.1%} -> {shift.after:.1%}")
    for change in incident.changes:
        click.echo(f"  with it: {change.facet} {change.value!r} {change.before:.0%} -> {change.after:.0%}")
