"""`harness record`: runs a suite against its real services and records their answers."""

import click

from harness.cli.options import agent_options, jobs_option, sandbox_option, selection_options
from harness.cli.run.from_command import command_options, record_and_report, refuse_mixed
from harness.cli.run.spending import model_options
from harness.errors import UsageError


@click.command("record")
@click.argument("suite", required=False, metavar="[SUITE[/CASE]]")
@click.option(
    "--agent",
    "agents",
    multiple=True,
    metavar="NAME",
    help="Version of the agent whose calls are recorded; default: all versions (repeatable).",
)
@agent_options
@model_options
@selection_options
@sandbox_option
@jobs_option
@click.option("--refresh", is_flag=True, help="Replace recordings whose answer has changed.")
@click.option(
    "--json",
    "as_json",
    is_flag=True,
    help="Print one JSON document for each agent; `recorded` lists the changes of its cassettes.",
)
@command_options
@click.pass_context
def command(ctx: click.Context, /, suite: str | None, agents: tuple[str, ...], **typed: object) -> None:
    """Run SUITE against its real services and record their answers as cassettes.

    \b
    harness record drive_thru                   record the calls of every version of the agent
    harness record drive_thru --agent v2 --case order-correctness-007
    harness record grocery --agent shopper --with model=gpt-5,gpt-5-mini
    harness record shop/total --from-command 'claude -p {task}' --task 'Mend total()' --files . --image claude

    If the suite declares a model, its replies are recorded too; with --model replay they come from the cassettes.

    New recordings are added to a cassette; existing recordings are kept and answer the agent, so that the recordings of
    all versions agree. The output lists added, kept and replaced recordings of each cassette, and failed calls.
    Transient errors are not recorded, nor are calls after a lost write: record again in that case. Secrets are replaced
    before anything is written.

    With --from-command, a suite is made from the command of a coding agent or script: SUITE with an environment, a
    snapshot of --files and a case from one recorded run; or a further case of a SUITE with the same command. Exit 1
    if the replay was not complete and equal.
    """
    from harness.case import load_suite
    from harness.cli.run.running import run_and_report
    from harness.pipeline import RunOptions, combinations

    refuse_mixed(ctx, from_command=typed["from_command"] is not None)
    if typed["from_command"] is not None:
        ctx.exit(record_and_report(ctx, suite, typed))
    if suite is None:
        raise UsageError("name a suite", remedy="harness record SUITE, or --from-command 'PROGRAM ...'")
    run = {name: value for name, value in typed.items() if name in RunOptions.model_fields}
    options = RunOptions.model_validate({"suite": suite, "tools": "record", **run})
    loaded = load_suite(ctx.obj, suite)
    if loaded.model is not None and options.model is None:
        options = options.model_copy(update={"model": "record"})
    named = {spec.partition("=")[0].strip() for spec in options.variables}
    versioned = options.prompt_label is not None or bool(options.prompts)
    declaring = tuple(
        version
        for version, agent in loaded.agents.items()
        if named <= agent.variables.keys() and (agent.prompt_versions or not versioned)
    )
    wanted = [
        {"agent": version, "variables": tuple(f"{name}={value}" for name, value in values.items())}
        for version in agents or declaring or tuple(loaded.agents)
        for values in combinations(loaded, version, options.variables)
    ]
    ctx.exit(max([run_and_report(ctx.obj, options.model_copy(update=update)) for update in wanted]))
