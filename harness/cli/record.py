"""`harness record`: runs a suite against its real services and records their answers."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from harness.cli.options import (
    agent_options,
    jobs_option,
    model_options,
    sandbox_option,
    selection_options,
    was_typed,
)
from harness.errors import ExitCode, UsageError

# `harness record --from-command`: a command of the user's machine becomes a case.

Command = TypeVar("Command", bound=Callable[..., Any])

_SUITE = re.compile(r"(?=.{1,100}\Z)[a-z0-9]+(?:[._-][a-z0-9]+)*")
_CASE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_SERVER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
_OWN = (
    *("task", "files", "excluded", "included", "providers", "api_key", "mcp", "tool_hosts", "secrets", "allow_writes"),
    *("image", "seconds"),
)
_OF_A_SUITE = (*("agents", "variables", "prompts", "model", "user", "cases", "only", "failed_in", "jobs", "refresh"),)


def command_options(command: Command) -> Command:
    """What is recorded of a command, and what it may reach."""
    for option in reversed(
        (
            click.option(
                "--from-command",
                metavar="COMMAND",
                help="Make a case of this command: run it once in a sandbox, record what it asks, replay it offline."
                " {task} in it stands for --task.",
            ),
            click.option("--task", metavar="TEXT", help="The case's task, which takes the place of {task}."),
            click.option(
                "--files",
                type=click.Path(path_type=Path, file_okay=False),
                help="The folder that the command works in, copied for the snapshot; default: an empty one.",
            ),
            click.option(
                "--exclude", "excluded", multiple=True, metavar="GLOB", help="Leave these out of --files (repeatable)."
            ),
            click.option(
                "--include",
                "included",
                multiple=True,
                metavar="GLOB",
                help="Copy these although they are usually left out, or look like secrets (repeatable).",
            ),
            click.option(
                "--provider",
                "providers",
                multiple=True,
                metavar="[openai|anthropic|URL|none]",
                help="The models that the command asks (repeatable); default: those whose keys are set.",
            ),
            click.option("--api-key", metavar="NAME", help="The environment variable with the key for --provider URL."),
            click.option("--mcp", multiple=True, metavar="NAME=COMMAND", help="An MCP server over stdio (repeatable)."),
            click.option(
                "--tool-host",
                "tool_hosts",
                multiple=True,
                metavar="[HOST|URL|HOST=URL]",
                help="A host that the command calls over HTTP (repeatable).",
            ),
            click.option(
                "--secret",
                "secrets",
                multiple=True,
                metavar="NAME",
                help="An environment variable that the MCP servers get; its value is never stored (repeatable).",
            ),
            click.option(
                "--allow-writes",
                is_flag=True,
                help="Let the command write to MCP servers and hosts, whose state may be discarded.",
            ),
            click.option("--image", metavar="NAME", help="The image in images/ that the command runs in."),
            click.option(
                "--seconds",
                type=click.FloatRange(1, 86_400),
                default=600.0,
                show_default=True,
                help="Time limit of the command.",
            ),
        )
    ):
        command = option(command)
    return command


def refuse_mixed(ctx: click.Context, *, from_command: bool) -> None:
    """Raises UsageError for an option of the other way to record."""
    typed = [name for name in ctx.params if was_typed(ctx, name)]
    if not from_command:
        for name in typed:
            if name in _OWN:
                raise UsageError(f"{_flag(ctx, name)} is for a command", remedy="add --from-command 'PROGRAM ...'")
        return
    for name in typed:
        if name in _OF_A_SUITE:
            raise UsageError(
                f"{_flag(ctx, name)} is for a suite that exists, and not for --from-command", remedy="leave it out"
            )


def record_and_report(ctx: click.Context, name: str | None, typed: Mapping[str, Any]) -> ExitCode:
    """Records the command, prints what was written, and says whether the replay was complete and equal."""
    from harness.cli.console import print_json, say
    from harness.cli.running import warn_of_no_isolation
    from harness.gateway.budgets import budget_of
    from harness.runs.commands.recording import proposed_suite, record_command
    from harness.runs.commands.working_folder import CommandRequest, FolderChoice

    suite, case_id = _names(name) if name is not None else (proposed_suite(typed["from_command"]), None)
    files: Path | None = typed["files"]
    if files is None and (typed["excluded"] or typed["included"]):
        raise UsageError("--exclude and --include choose from a folder", remedy="name it: --files DIR")
    request = CommandRequest(
        typed=typed["from_command"],
        suite=suite,
        case_id=case_id,
        task=typed["task"],
        folder=None
        if files is None
        else FolderChoice(folder=files, exclude=typed["excluded"], include=typed["included"]),
        providers=typed["providers"],
        api_key=typed["api_key"],
        mcp=_servers(typed["mcp"]),
        hosts=typed["tool_hosts"],
        secrets=typed["secrets"],
        allow_writes=typed["allow_writes"],
        sandbox=typed["sandbox"],
        image=typed["image"],
        seconds=typed["seconds"],
        budget=budget_of(typed["budget"]),
        started_in=Path.cwd(),
        environment=dict(os.environ),
    )
    warn_of_no_isolation(request.sandbox)
    found = record_command(ctx.obj, request, say)
    if typed["as_json"]:
        print_json(_plain(found))
    else:
        _show(found, request.sandbox)
    return ExitCode.DONE if found.replayed.equal else ExitCode.VERDICT


def _flag(ctx: click.Context, name: str) -> str:
    return next((one.opts[0] for one in ctx.command.params if one.name == name), name)


def _names(typed: str) -> tuple[str, str | None]:
    suite, has_case, case_id = typed.partition("/")
    if not _SUITE.fullmatch(suite) or (has_case and not _CASE.fullmatch(case_id)):
        raise UsageError(
            f"{typed[:200]!r} cannot be the name of a suite and a case",
            remedy="SUITE or SUITE/CASE: at most 100 small letters, digits, dots, hyphens and underscores each, such as"
            " shop/fix-total",
        )
    return suite, case_id or None


def _servers(typed: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for one in typed:
        name, has_command, command = one.partition("=")
        if not has_command or not _SERVER.fullmatch(name) or name in found:
            why = "is named twice" if name in found else "is not NAME=COMMAND"
            raise UsageError(f"--mcp {one[:200]!r} {why}", remedy="for example --mcp notes='python3 notes_server.py'")
        found[name] = command
    return found


def _plain(found: Any) -> dict[str, Any]:
    trial, replayed = found.recorded.trial, found.replayed
    return {
        "suite": found.suite,
        "case": found.case_id,
        "new_suite": found.is_new_suite,
        "written": [str(path) for path in found.places],
        "model_requests": _requests(trial),
        "tool_calls": _calls(trial),
        "changed_files": [change.path for change in trial.end_state.changes] if trial.end_state else [],
        "answer": trial.trajectory.final_output,
        "replay": {
            "complete": replayed.complete,
            "equal": replayed.equal,
            "differences": list(replayed.differences),
            "misses": list(replayed.misses),
        },
        "checks": list(found.checks),
        "notes": list(found.notes),
    }


def _show(found: Any, sandbox: str) -> None:
    from harness.cli.console import out

    console, trial, replayed = out(), found.recorded.trial, found.replayed

    def line(text: str) -> None:
        console.print(text, markup=False, soft_wrap=True)

    changes = trial.end_state.changes if trial.end_state else ()
    line(
        f"recorded {found.suite}/{found.case_id}: {_requests(trial)} model requests, {_calls(trial)} tool calls,"
        f" {len(changes)} changed files, exit status 0"
    )
    if replayed.equal:
        line("replayed offline: complete, and equal to the recording")
    elif replayed.complete:
        line("replayed offline: complete, but NOT equal to the recording")
    else:
        line("replayed offline: NOT complete: some calls met no recording")
    for text in (*replayed.differences, *replayed.misses):
        line(f"  {text}")
    if not replayed.equal:
        line(f"  -> {_remedy(replayed)}")
    line(f"starting checks: {', '.join(found.checks) or 'none'} (what was observed once: read them)")
    for note in found.notes:
        line(f"note: {note}")
    for path in found.places:
        line(f"wrote {path}")
    line(f"next: harness run {found.suite} --case {found.case_id} --sandbox {sandbox}")


def _remedy(replayed: Any) -> str:
    if replayed.names_own_folder:
        return (
            "it tells the model its working folder, which is another one in each trial of `local`: record with"
            " --sandbox docker, where it is always /work"
        )
    if replayed.complete:
        return "look for what changes by itself (times, random numbers, the order of threads), and pin it"
    return (
        "its requests differ from run to run (a time, an id, an order): pin what changes, or leave fields of"
        " requests out of the key (`model.ignore`, `tools.ignore`, `hosts.ignore`), then record again"
    )


def _requests(trial: Any) -> int:
    return 0 if trial.model_use is None else int(trial.model_use.replies)


def _calls(trial: Any) -> int:
    return sum(trial.tiers.values())


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

    If the suite declares models of agents or users, their replies are recorded too; with --model replay they come from
    the cassettes.

    New recordings are added to a cassette; existing recordings are kept and answer the agent, so that the recordings of
    all versions agree. The output lists added, kept and replaced recordings of each cassette, and failed calls.
    Transient errors are not recorded, nor are calls after a lost write: record again in that case. Secrets are replaced
    before anything is written.

    With --from-command, a suite is made from the command of a coding agent or script: SUITE with an environment, a
    snapshot of --files and a case from one recorded run; or a further case of a SUITE with the same command. Exit 1
    if the replay was not complete and equal.
    """
    from harness.cassettes.check import unmatched_in
    from harness.cli.running import run_and_report
    from harness.runs.plan.plan import RunOptions
    from harness.runs.plan.variables import combinations
    from harness.suite.loading import load_suite

    refuse_mixed(ctx, from_command=typed["from_command"] is not None)
    if typed["from_command"] is not None:
        ctx.exit(record_and_report(ctx, suite, typed))
    if suite is None:
        raise UsageError("name a suite", remedy="harness record SUITE, or --from-command 'PROGRAM ...'")
    run = {name: value for name, value in typed.items() if name in RunOptions.model_fields}
    options = RunOptions.model_validate({"suite": suite, "tools": "record", **run})
    loaded = load_suite(ctx.obj, suite)
    if options.model is None and (loaded.model is not None or loaded.user.model is not None):
        options = options.model_copy(update={"model": "record"})
    named = {spec.partition("=")[0].strip() for spec in options.variables}
    declaring = tuple(
        version
        for version, agent in loaded.agents.items()
        if named <= agent.variables.keys() and (agent.prompt_versions or not options.prompts)
    )
    wanted = [
        {"agent": version, "variables": tuple(f"{name}={value}" for name, value in values.items())}
        for version in agents or declaring or tuple(loaded.agents)
        for values in combinations(loaded, version, options.variables)
    ]
    status = max([run_and_report(ctx.obj, options.model_copy(update=update)) for update in wanted])
    for words in () if options.as_json else unmatched_in(ctx.obj / "cassettes", loaded):
        click.echo(words)
    ctx.exit(status)
