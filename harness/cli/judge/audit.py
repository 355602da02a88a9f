"""`harness judge audit`: people label a blind sample of new verdicts."""

from pathlib import Path
from typing import TypedDict, Unpack

import click

from harness.cli.judge.options import rubric_option
from harness.cli.options import page_port_option


class Options(TypedDict):
    """The options of `harness judge audit`."""

    sample: int
    seed: int
    port: int


@click.command("audit")
@click.argument("run")
@rubric_option
@click.option("--as", "name", required=True, metavar="NAME", help="Name of the person who answers.")
@click.option(
    "--sample", type=click.IntRange(1), default=20, show_default=True, help="Number of verdicts in the sample."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the sample.")
@page_port_option
@click.pass_obj
def command(project: Path, /, run: str, rubric_name: str, name: str, **options: Unpack[Options]) -> None:
    """Label a random sample of the judges' verdicts on RUN without seeing them.

    \b
    harness judge audit nightly --rubric counter --as ann --sample 30
    harness judge agreement nightly --rubric counter

    Every annotator gets the same sample in random order; verdicts that two people have labelled are left out.
    """
    from harness.cli.annotate import desk_of, serve
    from harness.cli.judge.runs import opened_runs
    from harness.errors import NotMeasured
    from harness.judge import PER_ITEM, audit_sample
    from harness.results import latest, read_judgements

    runs = opened_runs(project, (run,), rubric_name)
    judged = latest(read_judgements(runs.folders[0].path, runs.rubric.name)).values()
    drawn = audit_sample(runs.work, judged, runs.labels, options["sample"], options["seed"])
    if not drawn:
        raise NotMeasured(
            f"all {len(judged)} verdicts on {run} by {runs.rubric.name!r} are labelled already",
            remedy=f"harness judge run {run} --rubric {runs.rubric.name}" if not judged else None,
        )
    serve(desk_of(project, runs.suite, runs.rubric, drawn, (name, "annotator", PER_ITEM)), options["port"])
    click.echo(f"to compare: harness judge agreement {run} --rubric {runs.rubric.name}", err=True)
