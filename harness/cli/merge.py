"""`harness merge`: the shards of a run become one run."""

from pathlib import Path

import click

from harness.cli.options import run_name
from harness.results import run_path


@click.command("merge")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--run-name",
    callback=run_name,
    metavar="NAME",
    help="Name of the merged run; default: the first shard's without its shard.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@click.pass_context
def command(ctx: click.Context, runs: tuple[str, ...], run_name: str | None, as_json: bool) -> None:
    """Put the shards of a run together, each made by `harness run SUITE --shard I/N`, perhaps on machines of their own.

    \b
    harness run drive_thru --shard 1/2 --run-name part-1
    harness run drive_thru --shard 2/2 --run-name part-2
    harness merge part-1 part-2 --run-name whole

    Every trial is taken as it was committed; the merged run is what one machine would have written. Verdicts of judges
    and drift that was found come along. Exit 3 where trials were not run, or the harness failed at some.
    """
    from harness.case import load_stored_suite
    from harness.cli.console import out, print_json
    from harness.cli.showing import show_summary
    from harness.errors import ExitCode
    from harness.pipeline import merge_shards
    from harness.report import summarise_run, write_report
    from harness.results import RunFolder

    project: Path = ctx.obj
    parts = [RunFolder.open(run_path(project, name)) for name in runs]
    suite = load_stored_suite(project, parts[0].manifest.suite)
    name = run_name or parts[0].manifest.run.partition("-shard-")[0] + "-merged"
    folder = merge_shards(parts, suite, project / "runs", name)
    summary = summarise_run(folder)
    report = write_report(folder, summary)
    if as_json:
        print_json(summary.model_dump(mode="json"))
    else:
        show_summary(out(), summary, report)
    if summary.counts.harness_failed or summary.counts.not_run:
        ctx.exit(ExitCode.COULD_NOT)
