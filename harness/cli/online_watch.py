"""`harness online report` and `watch`: the figures of a day, and shifts over several days."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import click

from harness.cli.issue import TrackerValues, refuse_unfiled, tracker_option
from harness.cli.online import open_store, scored_facts
from harness.text import one_line

if TYPE_CHECKING:
    from harness.production.watch import DailyReport, DayRate, Incident


_SHOWN_DAYS = 14


class WatchOptions(TrackerValues):
    """The options of `harness online watch`."""

    accepted: str | None
    as_json: bool


@click.command("report")
@click.argument("suite")
@click.option("--day", metavar="YYYY-MM-DD", help="Day of the report (UTC); default: the latest day with scores.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.pass_obj
def report(project: Path, /, suite: str, day: str | None, as_json: bool) -> None:
    """Report the scores of SUITE for one day of production, compared with the seven days before.

    \b
    harness online report support
    harness online report support --day 2026-01-31 --json

    Shares are estimates for all sessions, weighted by the sampling rates.
    """
    from harness.cli.console import print_json
    from harness.errors import UsageError
    from harness.production.judging import day_rates
    from harness.production.watch import daily_report

    store = open_store(project)
    facts = scored_facts(store, suite)
    days = facts.days()
    if not days:
        raise UsageError(
            f"retention has removed all scores of {suite!r}",
            remedy=f"harness online watch {suite} reads the counts that are left; or score newer sessions",
        )
    asked = days[-1] if day is None else _day(day)
    if asked not in days:
        shown = ", ".join(days[-_SHOWN_DAYS:])
        raise UsageError(
            f"{suite!r} has scored no session received on {asked}",
            remedy=f"days with scores: {'..., ' if len(days) > _SHOWN_DAYS else ''}{shown}",
        )
    judged = day_rates(project, facts, suite, asked)
    daily = daily_report(facts, suite, store.layout.watch, asked, judged=judged)
    if as_json:
        print_json(daily.model_dump(mode="json"))
    else:
        _show_report(daily)


@click.command("watch")
@click.argument("suite")
@click.option(
    "--file",
    "file_too",
    is_flag=True,
    help="File open incidents as issues, and close issues of incidents that are over.",
)
@click.option(
    "--accept", "accepted", metavar="ID", help="Accept the new rates of an incident as the reference of later days."
)
@tracker_option
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_context
def watch(ctx: click.Context, /, suite: str, file_too: bool, **options: Unpack[WatchOptions]) -> None:
    """Look for shifts in the scores of SUITE, day by day.

    \b
    harness online watch support
    harness online watch support --file --tracker folder
    harness online watch support --accept 1f3a5b7c9d0e

    The test is valid if it is repeated daily: false alarms stay below the number per year that online.yaml declares
    (default: 2). Exit 1 if an incident is open; one of criteria alone whose judge is not certified is only shown.
    """
    from harness.cli.console import print_json
    from harness.errors import ExitCode
    from harness.production.judging import day_rates
    from harness.production.settings import online_settings
    from harness.production.watch import accept_incident, watch_shifts
    from harness.runs.store.drift_report import drift_reports

    refuse_unfiled(ctx, file_too=file_too)
    project: Path = ctx.obj
    store = open_store(project)
    facts, settings = scored_facts(store, suite), online_settings(project).watch
    if options["accepted"] is not None:
        accept_incident(store.layout.watch, options["accepted"])
    look = watch_shifts(facts, suite, store.layout.watch, settings, drift_reports(project))
    filed = _file(project, look.incidents, options) if file_too else []
    open_ones = [one for one in look.incidents if one.is_open]
    days = facts.days()
    judged = day_rates(project, facts, suite, days[-1]) if days else {}
    doubtful = {name for name, one in judged.items() if isinstance(one, str) or one.shortfall}
    certain = [one for one in open_ones if any(shift.signal not in doubtful for shift in one.shifts)]
    if options["as_json"]:
        print_json({**look.model_dump(mode="json"), "filed": filed})
    else:
        click.echo(f"{look.days} days with scores, {look.charts} charts, {len(open_ones)} open incidents")
        if not look.charts:
            click.echo(
                f"  no signal is monitored yet: a chart begins after {settings.reference_days} days with at least"
                f" {settings.least_sessions} sessions each (reference_days, least_sessions in online.yaml)"
            )
        for incident in look.incidents:
            _show_incident(incident)
        for incident in open_ones:
            if incident not in certain:
                click.echo(f"  {incident.id} decides nothing: `harness judge agreement RUN --certify` tests its judge")
        for one in filed:
            click.echo(f"  {one['verb']}  {one['id']}  {one['url']}{one['error'] or ''}")
    ctx.exit(ExitCode.VERDICT if certain else ExitCode.DONE)


def _day(text: str) -> str:
    from datetime import date

    from harness.errors import UsageError

    try:
        return date.fromisoformat(text).isoformat()
    except ValueError:
        raise UsageError(f"invalid --day {text!r}: expected a date", remedy="for example 2026-01-31") from None


def _file(project: Path, incidents: "tuple[Incident, ...]", options: TrackerValues) -> list[dict[str, Any]]:
    from harness.cli.issue import open_tracker
    from harness.production.issues import file_incidents

    tracker = open_tracker(project, options["tracker"])
    return [one.model_dump(mode="json") for one in file_incidents(incidents, tracker)]


def _show_report(daily: "DailyReport") -> None:
    click.echo(f"{daily.suite}, {daily.day}: {daily.scored} sessions scored, for about {daily.population:.0f}")
    click.echo("  shares of sessions in which a check or criterion failed, or a failure mode or an error occurred")
    whole = {one.model_copy(update={"group": ""}) for one in daily.rates if not one.group}
    shown = [
        one
        for one in daily.rates
        if not one.group or ((one.share or one.before) and one.model_copy(update={"group": ""}) not in whole)
    ]
    for rate in shown:
        click.echo(one_line(_rate_line(rate)))
    if len(shown) < len(daily.rates):
        click.echo(
            f"  {len(daily.rates) - len(shown)} more, by release, model, prompt or category, are 0 or those of all"
            " sessions: --json shows them"
        )
    for name, mean in daily.means.items():
        click.echo(one_line(f"  mean {name}: {mean:.3g}"))
    for incident in daily.open_incidents:
        _show_incident(incident)


def _rate_line(rate: "DayRate") -> str:
    from harness.production.scores import signal_words

    within = "" if rate.interval is None else f" ({rate.interval.low:.1%} to {rate.interval.high:.1%})"
    before = "" if rate.before is None else f", {rate.before:.1%} the week before"
    group = f" [{rate.group}]" if rate.group else ""
    return (
        f"  {signal_words(rate.signal)}{group}: {rate.share:.1%}{within} of {rate.sessions}{before}{_corrected(rate)}"
    )


def _corrected(rate: "DayRate") -> str:
    one = rate.corrected
    if one is None:
        return ""
    if one.share is None or one.interval is None:
        return "" if rate.group else f"; not corrected for the judge's errors: {one.refused}"
    return f"; corrected for the judge's errors {one.share:.1%} ({one.interval.low:.1%} to {one.interval.high:.1%})"


def _show_incident(incident: "Incident") -> None:
    from harness.production.scores import signal_words

    state = "open" if incident.is_open else f"over on {incident.closed}"
    if incident.accepted or incident.withdrawn:
        state = "accepted" if incident.accepted else "withdrawn: the charts do not show it any more"
    click.echo(f"incident {incident.id}: since {incident.since}, noticed {incident.opened}, {state}")
    for shift in incident.shifts:
        where = f" [{shift.stratum}]" if shift.stratum else ""
        click.echo(one_line(f"  {signal_words(shift.signal)}{where}: {shift.before:.1%} -> {shift.after:.1%}"))
    for change in incident.changes:
        click.echo(f"  at the same time: {change.facet} {change.value!r} {change.before:.0%} -> {change.after:.0%}")
    for one in incident.drift:
        click.echo(
            one_line(f"  at the same time: drift of {one.operation}, {one.change} ({one.severity}) in {one.run}")
        )
