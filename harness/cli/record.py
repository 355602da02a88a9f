"""`harness record`: a run whose answers are kept."""

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
@click.pass_context
def command(ctx: click.Context, /, suite: str, agents: tuple[str, ...], **options: Any) -> None:
    """Run SUITE against its real services and keep their answers as cassettes.

    \b
    harness record drive_thru                   the paths of every version of the agent
    harness record drive_thru --agent v2 --case order-correctness-007

    Where the suite declares a model, its replies are recorded too; --model replay keeps those of the tapes.

    A recording is added to what the tape has; nothing that another version needs is dropped. Secrets are replaced
    before anything is written.
    """
    from harness.case.loading import load_suite
    from harness.cli.running import RunOptions, carry_out

    loaded = load_suite(ctx.obj, suite)
    versions = agents or tuple(loaded.agents)
    if loaded.model is not None:
        options["model"] = options["model"] or "record"
    codes = [
        carry_out(ctx.obj, RunOptions(suite=suite, agent=version, tools="record", **options)) for version in versions
    ]
    ctx.exit(max(codes))
