"""`harness score` and `harness merge`: stored runs scored again, and shards of a run merged."""

from pathlib import Path

import click

from harness.cli.options import run_name
from harness.runs.store.folder import run_path

# `harness score`: scores a stored run again.


@click.command("score")
@click.argument("run")
@click.option(
    "--references",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    metavar="FILE",
    help="Attach these expected calls and answers to an imported RUN first (YAML or JSON).",
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@click.pass_obj
def score_command(project: Path, run: str, references: Path | None, as_json: bool) -> None:
    """Score the stored RUN again with the current suite and scorers, without running the agent.

    \b
    harness score 20260131-235959-drive_thru-v2
    harness score imported --references expected.yaml

    Earlier scorecards are kept. FILE lists cases of an imported run: `id`, and `reference` (calls with `tool`,
    `arguments`, and for other right values `any_of`) or `expected_output` or both, as in a case of a suite. They are
    stored with the run, as the checks `expected calls` and `expected answer`.
    """
    from harness.cli.showing import show_run
    from harness.runs.importing import attach_references
    from harness.runs.measured_trials import suite_of
    from harness.runs.rescore import rescore
    from harness.runs.store.folder import RunFolder

    with RunFolder.resume(run_path(project, run)) as folder:
        if references is not None:
            attach_references(folder, references)
        rescore(folder, suite_of(project, folder))
        show_run(folder, as_json=as_json)


# `harness merge`: merges the shards of a run.


@click.command("merge")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option(
    "--run-name",
    callback=run_name,
    metavar="NAME",
    help="Name of the merged run; default: the name of the first shard without the shard number.",
)
@click.option(
    "--max-gib",
    type=click.IntRange(1),
    default=16,
    show_default=True,
    help="Maximum size of the files of all shards in GiB; larger shards are refused before any file is copied.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@click.pass_context
def merge_command(
    ctx: click.Context,
    /,
    runs: tuple[str, ...],
    run_name: str | None,
    max_gib: int,
    as_json: bool,
) -> None:
    """Merge the shards of a run, which `harness run SUITE --shard I/N` made, possibly on several machines.

    \b
    harness run drive_thru --shard 1/2 --run-name part-1
    harness run drive_thru --shard 2/2 --run-name part-2
    harness merge part-1 part-2 --run-name whole

    Trials are copied unchanged; the merged run equals a run on one machine. Judges' verdicts and drift reports are
    copied too. Their gates are evaluated on the merged run, and the exit status is that of `harness run`: 1 if a
    gate fails, too many trials are inconclusive, or every trial crashed; 3 if trials are missing or the harness failed
    in some.
    """
    from harness.cli.running import check_baseline, gated
    from harness.cli.showing import show_run
    from harness.runs.rescore import merge_shards
    from harness.runs.store.folder import RunFolder
    from harness.suite.loading import load_stored_suite

    project: Path = ctx.obj
    parts = [RunFolder.open(run_path(project, name)) for name in runs]
    suite = load_stored_suite(project, parts[0].manifest.suite, parts[0].path)
    name = run_name or parts[0].manifest.run.partition("-shard-")[0] + "-merged"
    if parts[0].manifest.gates.against_baseline:
        check_baseline(project, suite)  # before anything is copied
    folder = merge_shards(parts, suite, project / "runs", name, max_gib << 30)
    ctx.exit(gated(project, folder, show_run(folder, as_json=as_json), quiet=as_json))
