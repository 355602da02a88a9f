"""`harness record`: a run whose answers are recorded."""

from typing import Any

import click

from harness.cli.options import jobs_option, selection_options
from harness.cli.spending import model_options


@click.command("record")
@click.argument("suite")
@click.option(
    "--agent", "agents", multiple=True, metavar="NAME", help="Whose paths to record (repeatable); default: all."
)
@model_options
@selection_options
@jobs_option
@click.option("--refresh", is_flag=True, help="Replace recordings whose answer changed.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document for each agent: `recorded` says it.")
@click.pass_context
def command(ctx: click.Context, /, suite: str, agents: tuple[str, ...], **options: Any) -> None:
    """Run SUITE against its real services and keep their answers as cassettes.

    \b
    harness record drive_thru                   the paths of every version of the agent
    harness record drive_thru --agent v2 --case order-correctness-007

    Where the suite declares a model, its replies are recorded too; --model replay keeps those of the cassettes.

    A recording is added to what the cassette has, and what it has is kept: it is what the agent is given, so that
    another version's recording agrees with it. For each cassette it is printed what was added, kept and replaced, and
    which calls failed: a failure of the moment is not recorded, nor what comes after a write that was lost; record
    again. Secrets are replaced before anything is written.
    """
    from harness.case import load_suite
    from harness.cli.running import run_and_report
    from harness.pipeline import RunOptions

    loaded = load_suite(ctx.obj, suite)
    versions = agents or tuple(loaded.agents)
    if loaded.model is not None:
        options["model"] = options["model"] or "record"
    codes = [
        run_and_report(ctx.obj, RunOptions(suite=suite, agent=version, tools="record", **options))
        for version in versions
    ]
    ctx.exit(max(codes))
