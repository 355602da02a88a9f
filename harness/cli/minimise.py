"""`harness minimise`: the shortest case that still fails in the same way."""

from pathlib import Path
from typing import Any

import click

from harness.cli.options import jobs_option, sandbox_option


@click.command("minimise")
@click.argument("run")
@click.argument("case")
@click.option("--attempt", type=click.IntRange(1), default=1, show_default=True, help="Which attempt at the case.")
@click.option("--budget", type=click.IntRange(1, 100_000), default=200, show_default=True, help="Trials at most.")
@click.option("--store", is_flag=True, help="Write the case and its cassette into the project.")
@click.option(
    "--output",
    "-o",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="With --store: the case file; default: minimised.yaml in the suite's folder.",
)
@sandbox_option
@jobs_option
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_obj
def command(project: Path, /, run: str, case: str, **options: Any) -> None:
    """Leave out of the failed trial of CASE in RUN what its failure does not need: turns, tools, recordings, rows.

    \b
    harness minimise tour-v1 order-correctness-003
    harness minimise tour-v1 order-correctness-003 --store --sandbox docker-warm

    The same checks must fail, with the same outcome and failure modes. The trial is replayed from its own recordings,
    so no service is needed. With --store, the minimal case and its cassette are written; a case is never overwritten.
    """
    from harness.cli.cleaning import visible
    from harness.cli.console import print_json, say
    from harness.counterfactual import MinimiseRequest, minimise, open_subject
    from harness.pipeline import RunOptions

    subject = open_subject(project, run, case, options["attempt"])
    request = MinimiseRequest(
        options=RunOptions(sandbox=options["sandbox"], jobs=options["jobs"]),
        budget=options["budget"],
        store=options["store"] or options["file"] is not None,
        file=options["file"],
    )
    found, _ = minimise(subject, request, say)
    if options["as_json"]:
        print_json(found.model_dump(mode="json") | {"share_left": found.share_left})
        return
    lines = [f"{found.trial}  fails in the same way with {found.share_left:.0%} of its parts: {found.same}"]
    lines += [f"  {kind + 's':<12}{found.after[kind]} of {count}" for kind, count in found.before.items()]
    lines.append(f"  {found.trials} trials were tried")
    lines += [] if found.file is None else [f"  {found.case_id}  {found.file}", f"  cassette  {found.cassette}"]
    for line in lines:
        click.echo(visible(line))
    if found.line is not None:
        say(f"suite.yaml does not read that file yet; let it say  {found.line}")
