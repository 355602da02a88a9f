"""`harness run`: runs a suite."""

import click

from harness.cli.options import (
    TOOL_MODES,
    PluginType,
    ShardType,
    agent_options,
    executors,
    jobs_option,
    run_name,
    sandbox_option,
    selection_options,
)
from harness.cli.run.spending import model_options


@click.command("run")
@click.argument("suite", required=False)
@click.option(
    "--agent",
    metavar="NAME",
    help="Version of the suite's agent, or `oracle` (plays the reference) or `nop` (does nothing).",
)
@agent_options
@click.option("--tools", type=click.Choice(TOOL_MODES), default="replay", show_default=True, help="Who answers.")
@model_options
@sandbox_option
@selection_options
@click.option(
    "--trials",
    "--repeat",
    type=click.IntRange(1, 1000),
    default=1,
    show_default=True,
    help="Attempts per case.",
)
@click.option(
    "--against",
    metavar="RUN",
    help="Run that --no-worse-than compares with, instead of the baseline.",
)
@click.option(
    "--stop-early",
    is_flag=True,
    help="Stop once the confidence sequence of the success rate excludes the gate's value; without a gate: once its"
    " bounds"
    " differ by 0.1.",
)
@click.option(
    "--check-determinism",
    is_flag=True,
    help="Exit 1 if two attempts at a case differ, and print the first differing step.",
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
    help="`local`: on this machine. `ray`: on all nodes of a Ray cluster, --jobs trials in parallel on each"
    " (default: its"
    " processors). NAME: an installed executor.",
)
@click.option("--ray-address", default="auto", show_default=True, metavar="HOST:PORT", help="Address of the cluster.")
@click.option(
    "--prefetch",
    type=click.IntRange(0, 16),
    show_default="2 with --jobs 1, else 0; 0 for task folders",
    help="Number of containers that are started in advance (sandbox `docker`).",
)
@click.option(
    "--shard", type=ShardType(), metavar="I/N", help="Run only part I of N; `harness merge` merges the parts."
)
@click.option(
    "--shuffle",
    type=int,
    metavar="SEED",
    help="Start the trials in random order; the order of results does not change.",
)
@click.option(
    "--replay",
    type=click.Choice(["strict", "lenient"]),
    default="strict",
    show_default=True,
    help="`lenient`: answer a replay miss from the nearest earlier state, which may be wrong; such answers are"
    " counted.",
)
@click.option("--refresh", is_flag=True, help="With --tools record: replace recordings whose answer has changed.")
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
    help="Gate: exit 1 if METRIC is worse than in the baseline, or in --against RUN, by more than MARGIN, 3 if that"
    " cannot be determined; for amounts also a percentage, as in cost_usd=10% (repeatable).",
)
@click.option("--against-baseline", is_flag=True, help="Gate: exit 1 if the run is worse than baselines/SUITE.json.")
@click.option(
    "--allow-unmeasured",
    type=click.IntRange(0),
    show_default="0",
    help="Maximum number of trials that a gate may leave unmeasured.",
)
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
@click.option(
    "--faults",
    type=click.Choice(["all"]),
    help="`all`: inject every error of every tool at every step of the passing cases, and remove every field of its"
    " answers,"
    " one fault per trial.",
)
@click.option(
    "--watch",
    is_flag=True,
    help="After the run, run affected cases again whenever a file of the agent, its prompts or the suite changes.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the summary as JSON.")
@click.pass_context
def command(ctx: click.Context, /, faults: str | None, watch: bool, **typed: object) -> None:
    """Run every case of SUITE in a sandbox that is restored from its snapshot, and score the trials.

    \b
    harness run drive_thru
    harness run drive_thru --agent v1 --category modifiers --trials 4
    harness run path/to/harbor_tasks --agent oracle
    harness run grocery --agent shopper --with model=gpt-5,gpt-5-mini --model live
    harness run grocery --agent shopper --prompt-label candidate
    harness run drive_thru --tools sealed --fail-under task_success=0.9
    harness run drive_thru --repeat 3 --check-determinism
    harness run grocery --trials 8 --stop-early --fail-under task_success=0.8
    harness run drive_thru --against-baseline
    harness run drive_thru --no-worse-than task_success=0.05 --no-worse-than cost_usd=10%
    harness run drive_thru --shard 2/4
    harness run drive_thru --executor ray --ray-address auto
    harness run drive_thru --otlp http://127.0.0.1:4318
    harness run drive_thru --faults all --sandbox docker-warm
    harness run drive_thru --category modifiers --watch
    harness run --resume 20260131-235959-drive_thru-v2
    """
    from harness.cli.run.running import run_and_report
    from harness.pipeline import RunOptions, is_matrix

    options = RunOptions.model_validate(typed)
    if watch:
        from harness.cli.run.watch import watch_and_report

        ctx.exit(watch_and_report(ctx.obj, options, faults=faults is not None))
    if faults is not None:
        from harness.cli.run.faults import carry_out_campaign

        own_tools = ctx.get_parameter_source("tools") is not click.core.ParameterSource.COMMANDLINE
        ctx.exit(carry_out_campaign(ctx.obj, options, own_tools=own_tools))
    if is_matrix(ctx.obj, options):
        from harness.cli.run.matrix import run_matrix_and_report

        ctx.exit(run_matrix_and_report(ctx.obj, options))
    ctx.exit(run_and_report(ctx.obj, options))
