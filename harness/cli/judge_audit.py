"""`harness judge audit`: people label a blind sample of new verdicts."""

from pathlib import Path
from typing import Any

import click


@click.command("audit")
@click.argument("run")
@click.option("--rubric", "rubric_name", required=True, metavar="NAME", help="A suite's rubric, a template, or a file.")
@click.option("--as", "name", required=True, metavar="NAME", help="Whose answers they are.")
@click.option("--sample", type=click.IntRange(1), default=20, show_default=True, help="Verdicts to look at.")
@click.option("--seed", type=int, default=0, show_default=True, help="Another seed, another sample.")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default="a free one",
    help="Port of the page, on this machine alone.",
)
@click.pass_obj
def command(project: Path, /, run: str, rubric_name: str, name: str, **options: Any) -> None:
    """Label a random sample of what judges said about RUN, without seeing what they said.

    \b
    harness judge audit nightly --rubric counter --as ann --sample 30
    harness judge agreement nightly --rubric counter

    Everybody gets the same sample, in an order that tells nothing; what two people have labelled before is not new.
    """
    from harness.cli.annotate import desk_of, serve
    from harness.cli.judge_runs import opened_runs
    from harness.errors import NotMeasured
    from harness.judge import PER_ITEM, audit_sample
    from harness.results import latest, read_judgements

    runs = opened_runs(project, (run,), rubric_name)
    judged = latest(read_judgements(runs.folders[0].path, runs.rubric.name)).values()
    drawn = audit_sample(runs.work, judged, runs.labels, options["sample"], options["seed"])
    if not drawn:
        raise NotMeasured(
            f"of {len(judged)} verdicts on {run} by {runs.rubric.name!r} none is new to people",
            remedy=f"harness judge run {run} --rubric {runs.rubric.name}" if not judged else None,
        )
    serve(desk_of(project, runs.suite, runs.rubric, drawn, (name, "annotator", PER_ITEM)), options["port"])
    click.echo(f"how they compare: harness judge agreement {run} --rubric {runs.rubric.name}", err=True)
