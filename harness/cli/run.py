"""`harness run`: the daily verb."""

from typing import Any

import click

from harness.cli.options import (
    TOOL_MODES,
    PluginType,
    ShardType,
    executors,
    jobs_option,
    run_name,
    sandbox_option,
    selection_options,
)
from harness.cli.spending import model_options


@click.command("run")
@click.argument("suite", required=False)
@click.option("--agent", metavar="NAME", help="A version of the suite's agent, or `oracle` or `nop`.")
@click.option("--tools", type=click.Choice(TOOL_MODES), default="replay", show_default=True, help="Who answers.")
@model_options
@sandbox_option
@selection_options
@click.option(
    "--trials", "--repeat", type=click.IntRange(1, 1000), default=1, show_default=True, help="Attempts a case."
)
@click.option(
    "--stop-early",
    is_flag=True,
    help="End once the bounds of the success rate, valid at every look, exclude the gate's value; without one, once"
    " they are 0.1 apart.",
)
@click.option(
    "--check-determinism", is_flag=True, help="Exit 1 where two attempts at a case differ; says at which step."
)
@click.option(
    "--run-name", callback=run_name, metavar="NAME", help="Name of the run folder; a name that exists is refused."
)
@click.option("--release", metavar="TEXT", help="What to call the state of the agent; default: git's tag or commit.")
@click.option("--resume", metavar="RUN", help="Go on with a run that was stopped.")
@jobs_option
@click.option(
    "--executor",
    type=PluginType("executor", executors),
    default="local",
    show_default=True,
    help="`ray`: on every node of a Ray cluster, --jobs trials side by side on each (default: its processors). Or an"
    " installed one's NAME.",
)
@click.option("--ray-address", default="auto", show_default=True, metavar="HOST:PORT", help="Where the cluster is.")
@click.option(
    "--prefetch",
    type=click.IntRange(0, 16),
    show_default="2 with --jobs 1, else 0",
    help="Containers that are started before they are needed (sandbox `docker`).",
)
@click.option("--shard", type=ShardType(), metavar="I/N", help="Only the I-th of N parts; `harness merge` joins them.")
@click.option("--shuffle", type=int, metavar="SEED", help="Begin the trials in another order; results keep theirs.")
@click.option(
    "--replay",
    type=click.Choice(["strict", "lenient"]),
    default="strict",
    show_default=True,
    help="`lenient`: rather than miss, answer as at the nearest earlier state; that may be wrong, and is counted.",
)
@click.option("--refresh", is_flag=True, help="With --tools record: replace recordings whose answer changed.")
@click.option(
    "--fail-under", "floors", multiple=True, metavar="METRIC=VALUE", help="Gate: exit 1 below it (repeatable)."
)
@click.option("--against-baseline", is_flag=True, help="Gate: exit 1 where it is worse than baselines/SUITE.json.")
@click.option("--allow-unmeasured", type=click.IntRange(0), show_default="0", help="Trials that a gate may miss.")
@click.option(
    "--max-inconclusive",
    type=click.IntRange(0),
    show_default="0",
    help="Trials with a replay miss before exit 1.",
)
@click.option(
    "--otlp",
    metavar="URL",
    help="Also send spans to this OTLP/HTTP collector while trials run; `env`: the one in OTEL_EXPORTER_OTLP_ENDPOINT.",
)
@click.option(
    "--faults",
    type=click.Choice(["all"]),
    help="`all`: a campaign: every error of every tool at every step of the passing cases, one a trial.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@click.pass_context
def command(ctx: click.Context, /, faults: str | None, **options: Any) -> None:
    """Run SUITE: every case in a sandbox restored from its snapshot.

    \b
    harness run drive_thru
    harness run drive_thru --agent v1 --category modifiers --trials 4
    harness run drive_thru --tools sealed --fail-under task_success=0.9
    harness run drive_thru --repeat 3 --check-determinism
    harness run grocery --trials 8 --stop-early --fail-under task_success=0.8
    harness run drive_thru --against-baseline
    harness run drive_thru --shard 2/4
    harness run drive_thru --executor ray --ray-address auto
    harness run drive_thru --otlp http://127.0.0.1:4318
    harness run drive_thru --faults all --sandbox docker-warm
    harness run --resume 20260131-235959-drive_thru-v2
    """
    from harness.cli.running import run_and_report
    from harness.pipeline import RunOptions

    if faults is not None:
        from harness.cli.faults import carry_out_campaign

        own_tools = ctx.get_parameter_source("tools") is not click.core.ParameterSource.COMMANDLINE
        ctx.exit(carry_out_campaign(ctx.obj, RunOptions(**options), own_tools=own_tools))
    ctx.exit(run_and_report(ctx.obj, RunOptions(**options)))
