"""`harness minimise`: the shortest case that still fails in the same way."""

from pathlib import Path
from typing import Literal, TypedDict, Unpack

import click

from harness.cli.options import jobs_option, sandbox_option


class Options(TypedDict):
    """The options of `harness minimise`."""

    attempt: int
    tools: Literal["replay", "sealed"]
    budget: int
    store: bool
    file: Path | None
    sandbox: str
    jobs: int | None
    as_json: bool


@click.command("minimise")
@click.argument("run")
@click.argument("case")
@click.option(
    "--attempt", type=click.IntRange(1), default=1, show_default=True, help="Number of the attempt at the case."
)
@click.option(
    "--tools",
    type=click.Choice(["replay", "sealed"]),
    default="replay",
    show_default=True,
    help="Tool mode: `replay` uses the trial's recordings; `sealed` uses the suite's services and also removes seed"
    " rows.",
)
@click.option(
    "--budget", type=click.IntRange(1, 100_000), default=200, show_default=True, help="Maximum number of trials."
)
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
def command(project: Path, /, run: str, case: str, **options: Unpack[Options]) -> None:
    """Remove turns, tools, files and rows that the failure of the trial of CASE in RUN does not need.

    \b
    harness minimise tour-v1 order-correctness-003
    harness minimise tour-v1 order-correctness-003 --store --sandbox docker-warm
    harness minimise tour-v1 order-correctness-003 --tools sealed --sandbox docker-warm --budget 60

    The same checks must still fail, with the same outcome and failure modes. The trial is replayed from its recordings,
    so no service is needed; with --tools sealed, restored services answer each attempt, and rows of their seed are
    removed too. With --store, the minimal case, its cassette and its snapshot are written; nothing is overwritten.
    """
    from harness.cli.output.console import print_json, say
    from harness.counterfactual import MinimiseRequest, minimise, open_subject
    from harness.pipeline import RunOptions
    from harness.visible_text import one_line

    subject = open_subject(project, run, case, options["attempt"])
    request = MinimiseRequest(
        options=RunOptions(sandbox=options["sandbox"], jobs=options["jobs"]),
        tools=options["tools"],
        budget=options["budget"],
        store=options["store"] or options["file"] is not None,
        file=options["file"],
    )
    found, _ = minimise(subject, request, say)
    if options["as_json"]:
        print_json(found.model_dump(mode="json") | {"share_left": found.share_left})
        return
    lines = [f"{found.trial}  fails in the same way with {found.share_left:.0%} of its parts: {found.same}"]
    lines += [
        f"  {kind.replace('_', ' ') + 's':<12}{found.after[kind]} of {count}" for kind, count in found.before.items()
    ]
    lines.append(f"  {found.trials} trials were run")
    lines += [] if found.file is None else [f"  {found.case_id}  {found.file}", f"  cassette  {found.cassette}"]
    lines += [] if found.snapshot is None else [f"  snapshot  {found.snapshot}"]
    for line in lines:
        click.echo(one_line(line))
    if found.line is not None:
        say(f"suite.yaml does not list that file yet; set  {found.line}")
