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
@click.option(
    "--max-inconclusive",
    type=click.IntRange(0),
    show_default="that of the most lenient shard",
    help="Trials with a replay miss before exit 1.",
)
@click.option(
    "--max-gib",
    type=click.IntRange(1),
    default=16,
    show_default=True,
    help="GiB that the files of all shards may have together; larger ones are refused before anything is copied.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@click.pass_context
def command(
    ctx: click.Context,
    /,
    runs: tuple[str, ...],
    run_name: str | None,
    max_inconclusive: int | None,
    max_gib: int,
    as_json: bool,
) -> None:
    """Put the shards of a run together, each made by `harness run SUITE --shard I/N`, perhaps on machines of their own.

    \b
    harness run drive_thru --shard 1/2 --run-name part-1
    harness run drive_thru --shard 2/2 --run-name part-2
    harness merge part-1 part-2 --run-name whole

    Every trial is taken as it was committed; the merged run is what one machine would have written. Verdicts of judges
    and drift that was found come along. The suite's gates are held against the whole, and the exit status is that of
    `harness run`: 1 where a gate fails, more trials are inconclusive than are allowed, or every trial crashed; 3 where
    trials were not run, or the harness failed at some.
    """
    from harness.case import load_stored_suite
    from harness.cli.baselines import check_baseline
    from harness.cli.console import out, print_json
    from harness.cli.running import judge_merged
    from harness.cli.showing import show_summary
    from harness.pipeline import merge_shards
    from harness.report import summarise_run, write_report
    from harness.results import MergeLimits, RunFolder

    project: Path = ctx.obj
    parts = [RunFolder.open(run_path(project, name)) for name in runs]
    suite = load_stored_suite(project, parts[0].manifest.suite)
    name = run_name or parts[0].manifest.run.partition("-shard-")[0] + "-merged"
    if suite.gates.against_baseline:
        check_baseline(project, suite)  # before anything is copied
    limits = MergeLimits(max_bytes=max_gib << 30, max_inconclusive=max_inconclusive)
    folder = merge_shards(parts, suite, project / "runs", name, limits)
    summary = summarise_run(folder)
    report = write_report(folder, summary)
    if as_json:
        print_json(summary.model_dump(mode="json"))
    else:
        show_summary(out(), summary, report)
    ctx.exit(judge_merged(project, folder, summary, suite, as_json=as_json))
