"""`harness run`: runs a suite."""

import click

from harness.cli.options import (
    Live,
    PluginType,
    ShardType,
    agent_options,
    executors,
    jobs_option,
    live_option,
    model_options,
    refuse_typed,
    run_name,
    sandbox_option,
    selection_options,
    was_typed,
)
from harness.cli.running import run_and_report
from harness.runs.plan.plan import RunOptions

_OF_NEW_RUNS = (
    *("suite", "agent", "live", "user", "cases", "only", "failed_in", "trials", "run_name", "release"),
    *("shard", "floors", "no_worse_than", "against_baseline", "max_inconclusive"),
)
"""What a resumed run has in its folder; `plan_of` refuses variables and prompts."""


@click.command("run")
@click.argument("suite", required=False)
@click.option(
    "--agent",
    metavar="NAME",
    help="Version of the suite's agent, or `oracle` (plays the reference) or `nop` (does nothing).",
)
@agent_options
@live_option(
    "`none`, unless the suite says that its model is live", ("tools", "sealed", "model", "all", "record", "none")
)
@model_options
@sandbox_option
@selection_options
@click.option(
    "--trials",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    help="Attempts per case.",
)
@click.option(
    "--run-name", callback=run_name, metavar="NAME", help="Name of the run folder; a name that exists is refused."
)
@click.option("--release", metavar="TEXT", help="Name of the agent's release; default: the tag or commit in git.")
@click.option("--resume", metavar="RUN", help="Resume a stopped run.")
@jobs_option
@click.option(
    "--executor",
    type=PluginType("executor", executors),
    default="local",
    show_default=True,
    help="`local`: on this machine. `ray`: on all nodes of the Ray cluster of RAY_ADDRESS (default: this machine's),"
    " --jobs trials in parallel on each (default: its processors). NAME: an installed executor.",
)
@click.option(
    "--shard", type=ShardType(), metavar="I/N", help="Run only part I of N; `harness merge` merges the parts."
)
@click.option(
    "--fail-under",
    "floors",
    multiple=True,
    metavar="METRIC=VALUE",
    help="Gate: exit 1 if METRIC is below VALUE (repeatable).",
)
@click.option(
    "--no-worse-than",
    multiple=True,
    metavar="METRIC=MARGIN",
    help="Gate: exit 1 if METRIC is worse than in the baseline by more than MARGIN, 3 if that"
    " cannot be determined; for amounts also a percentage, as in cost_usd=10% (repeatable).",
)
@click.option("--against-baseline", is_flag=True, help="Gate: exit 1 if the run is worse than baselines/SUITE.json.")
@click.option(
    "--max-inconclusive",
    type=click.IntRange(0),
    show_default="0",
    help="Maximum number of trials with a replay miss; with more, the exit status is 1.",
)
@click.option(
    "--otlp",
    metavar="URL",
    help="Also send spans to this OTLP/HTTP collector during trials; `env`: the one in OTEL_EXPORTER_OTLP_ENDPOINT.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@click.pass_context
def command(ctx: click.Context, /, **typed: object) -> None:
    """Run every case of SUITE in a sandbox that is restored from its snapshot, and score the trials.

    \b
    harness run drive_thru
    harness run drive_thru --agent v1 --only category=modifiers --trials 4
    harness run path/to/harbor_tasks --agent oracle
    harness run grocery --agent shopper --with model=gpt-5-mini --live model --budget usd=2
    harness run grocery --agent shopper --prompt @candidate
    harness run drive_thru --live sealed --fail-under task_success=0.9
    harness run drive_thru --against-baseline
    harness run drive_thru --no-worse-than task_success=0.05 --no-worse-than cost_usd=10%
    harness run drive_thru --shard 2/4
    harness run drive_thru --executor ray
    harness run drive_thru --otlp http://127.0.0.1:4318
    harness run --resume 20260131-235959-drive_thru-v2
    """
    if typed["resume"] is not None:
        refuse_typed(ctx, _OF_NEW_RUNS, "--resume")
    if not was_typed(ctx, "sandbox"):
        typed["sandbox"] = None
    live = typed.pop("live")
    assert isinstance(live, Live)
    options = RunOptions.model_validate({**typed, "tools": live.tools or "replay", "model": live.model})
    ctx.exit(run_and_report(ctx.obj, options))
