"""`harness runs`: lists the stored runs."""

from pathlib import Path

import click


@click.command("runs")
@click.option("--suite", metavar="SUITE", help="Only runs of this suite.")
@click.option(
    "--last",
    type=click.IntRange(1, 10_000),
    default=20,
    show_default=True,
    help="Maximum number of runs; the latest are listed.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the list as JSON.")
@click.pass_obj
def command(project: Path, /, suite: str | None, last: int, as_json: bool) -> None:
    """List the stored runs; the latest is the last.

    \b
    harness runs
    harness runs --suite drive_thru --last 5 --json
    """
    from harness.cli.output.console import print_json
    from harness.report import run_rows, variable_words
    from harness.results import runs_in

    rows = run_rows(runs_in(project / "runs"), suite, last)
    if as_json:
        print_json([row.model_dump(mode="json") for row in rows])
        return
    for row in rows:
        release = f", release {row.release}" if row.release else ""
        variables = f" ({variable_words(row.variables)})" if row.variables else ""
        click.echo(f"{row.run}  {row.suite} {row.agent}{variables}{release}: {row.succeeded} of {row.scored} succeeded")
    if not rows:
        click.echo("no runs" if suite is None else f"no runs of {suite}")
