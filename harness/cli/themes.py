"""`harness themes`: failures of a run or of production, grouped by cause."""

from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from harness.cli.issue import TrackerValues, tracker_option
from harness.cli.online import open_store, since_ns
from harness.cli.options import joined
from harness.text import one_line

if TYPE_CHECKING:
    from harness.production.ranking import Example, Theme, ThemesReport
    from harness.scoring.statistics.intervals import Interval


_DEFAULT_SINCE = "7d"


class SourceValues(TypedDict):
    """The values of `_source_options`, without `--json`."""

    since: str | None
    suite: str | None


class ThemeListValues(SourceValues):
    """The options of `harness themes list`."""

    as_json: bool
    only: str | None
    most: int | None


class ThemeFileValues(SourceValues, TrackerValues):
    """The options of `harness themes file`."""

    max_new: int
    min_sessions: int


_LISTED = 20


class _ThemesVerbs(click.Group):
    """`harness themes RUN` is `harness themes list RUN`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Inserts `list` if no subcommand is given."""
        if not args or (args[0] not in self.commands and args[0] not in ("-h", "--help")):
            args = ["list", *args]
        return super().parse_args(ctx, args)


@click.group("themes", cls=_ThemesVerbs)
def command() -> None:
    """Group failures by cause, ranked by the number of affected sessions and the severity.

    \b
    harness themes                        themes of the sessions of the last seven days
    harness themes --since 30d --json     the last 30 days, as JSON
    harness themes nightly                themes of the stored run `nightly`
    harness themes --theme 1f3a5b7c9d0e   one theme with examples and links
    harness themes file                   file themes as issues, and close issues of ended themes
    """


_source_options = joined(
    click.option("--since", metavar="TIME", help="Only sessions received since: 7d (default), 12h, or a date."),
    click.option("--suite", metavar="SUITE", help="Only sessions that this suite scored; default: all suites."),
    click.option("--json", "as_json", is_flag=True, help="Print JSON: see docs/reference/themes.md."),
)
"""The options that select the failures of a run or of the store."""


@command.command("list")
@click.argument("run", required=False)
@_source_options
@click.option("--theme", "only", metavar="ID", help="Show only this theme, with examples: an id or its beginning.")
@click.option(
    "--last",
    "most",
    type=click.IntRange(1),
    show_default="20",
    help="Maximum number of themes that are printed.",
)
@click.pass_obj
def list_command(project: Path, /, run: str | None, **options: Unpack[ThemeListValues]) -> None:
    """List the themes of RUN, or of the store's sessions. `list` may be omitted.

    \b
    harness themes list nightly
    harness themes --since 30d --suite support
    harness themes nightly --theme 1f3a5b

    Listing writes nothing: `harness themes file --max-new 0` stores the themes, so that their ids stay the same.
    """
    from harness.cli.console import print_json
    from harness.errors import UsageError

    as_json, only, most = options["as_json"], options["only"], options["most"]
    if only is not None:
        if most is not None:
            raise UsageError("--theme excludes --last", remedy="omit one of them")
        _show_only(_report(project, run, options), only, as_json=as_json)
        return
    most = most or _LISTED
    report = _report(project, run, options)
    if as_json:
        print_json(report.model_dump(mode="json"))
        return
    what = "sessions" if run is None else "trials"
    click.echo(f"{report.failed} of {report.sessions} {what} show {len(report.themes)} themes")
    if run is None and not report.sessions:
        click.echo(f"no session received since {report.since} is scored: harness online score SUITE")
    for theme in report.themes[:most]:
        click.echo(_line(theme))
    if len(report.themes) > most:
        click.echo(f"{len(report.themes) - most} more: --last {len(report.themes)}")
    for away in report.away:
        state = "over" if away.over else "not yet over"
        click.echo(f"{away.id}  away since {away.last_day}, in {away.examined} sessions: {state}  {away.issue}")


def _show_only(report: "ThemesReport", named: str, *, as_json: bool) -> None:
    from harness.cli.console import print_json
    from harness.production.themes import theme_named

    found = theme_named(report, named)
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        _show(found)


@command.command("file")
@click.argument("run", required=False)
@_source_options
@click.option("--theme", "only", metavar="ID", help="File only this theme; close no issue.")
@click.option(
    "--max-new", type=click.IntRange(0, 1000), default=10, show_default=True, help="Maximum number of new issues."
)
@click.option(
    "--min-sessions",
    type=click.IntRange(1),
    default=2,
    show_default=True,
    help="Minimum number of affected sessions; themes below it are not filed.",
)
@tracker_option
@click.pass_context
def file_command(
    ctx: click.Context, /, run: str | None, as_json: bool, only: str | None, **options: Unpack[ThemeFileValues]
) -> None:
    """File themes as issues, update filed ones, and close those of ended themes.

    \b
    harness themes file --tracker folder
    harness themes file nightly --theme 1f3a5b

    Filed themes are stored, so that their ids stay the same over days; `--max-new 0` files no new issue. A theme has
    ended if the number of sessions without it would have a probability below 5 % otherwise. Exit status: 0 everything
    was filed, 3 an issue could not be filed.
    """
    from harness.cli.console import print_json
    from harness.cli.issue import open_tracker
    from harness.errors import ExitCode
    from harness.production.issues import file_themes
    from harness.production.themes import theme_named

    project: Path = ctx.obj
    tracker = open_tracker(project, options["tracker"])
    report = _report(project, run, options, remember=True)
    chosen = None if only is None else [theme_named(report, only)]
    done = file_themes(
        project,
        report,
        tracker,
        only=chosen,
        most_new=options["max_new"],
        least_sessions=options["min_sessions"],
    )
    if as_json:
        print_json([one.model_dump(mode="json") for one in done])
    for one in () if as_json else done:
        click.echo(f"{one.verb}  {one.id}  {one.url}{one.error or ''}")
    small = sum(theme.sessions < options["min_sessions"] for theme in report.themes) if chosen is None else 0
    if small and not as_json:
        click.echo(f"{small} themes with fewer sessions are not filed: --min-sessions 1 includes them")
    ctx.exit(ExitCode.COULD_NOT if any(one.error for one in done) else ExitCode.DONE)


def _report(project: Path, run: str | None, options: SourceValues, *, remember: bool = False) -> "ThemesReport":
    from harness.errors import UsageError
    from harness.production.themes import themes_of_run, themes_of_store
    from harness.runs.store.folder import RunFolder, run_path

    if run is not None:
        values = {"--since": options["since"], "--suite": options["suite"]}
        given = [name for name, value in values.items() if value]
        if given:
            raise UsageError(f"{given[0]} applies only to sessions of the store", remedy="omit RUN or the option")
        return themes_of_run(project, RunFolder.open(run_path(project, run)), remember=remember)
    begin_ns = since_ns(options["since"] or _DEFAULT_SINCE)
    return themes_of_store(project, open_store(project), since_ns=begin_ns, suite=options["suite"], remember=remember)


def _line(theme: "Theme") -> str:
    issue = f"  {theme.issue}" if theme.issue else ""
    return (
        f"{theme.id}  {theme.title}\n"
        f"    {theme.sessions} sessions, impact {theme.impact:.1f}{_words(theme.impact_interval)} failed sessions,"
        f" trend {theme.trend}, since {theme.first_day} {theme.first_release}{issue}"
    )


def _show(theme: "Theme") -> None:
    click.echo(_line(theme))
    click.echo(f"  share {theme.share:.1%}, severity {theme.severity:.2f}")
    for name, count in theme.releases.items():
        click.echo(f"  release {name or '(none)'}: {count} sessions")
    for title, examples in (("representative", theme.representative), ("borderline", theme.borderline)):
        for one in examples:
            click.echo(one_line(f"  {title}  {_example(one)}"))
    for case in theme.cases:
        click.echo(f"  case  {case}")
    for found in theme.drift:
        click.echo(f"  drift  {found.operation}: {found.change} ({found.severity}) in {found.run}")


def _example(one: "Example") -> str:
    step = "" if one.step is None else f" step {one.step}"
    return f"{one.session}{step}: {one.excerpt}"


def _words(interval: "Interval | None") -> str:
    return "" if interval is None else f" ({interval.low:.1f} to {interval.high:.1f})"
