"""`harness record`: runs a suite against its real services and records their answers."""

import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from harness.cli.options import (
    Live,
    agent_options,
    jobs_option,
    joined,
    live_option,
    model_options,
    refuse_typed,
    sandbox_option,
    selection_options,
    was_typed,
)
from harness.errors import ExitCode, UsageError

# `harness record -- PROGRAM ...`: a command of the user's machine becomes a case.

Command = TypeVar("Command", bound=Callable[..., Any])

_SUITE = re.compile(r"(?=.{1,100}\Z)[a-z0-9]+(?:[._-][a-z0-9]+)*")
_CASE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_SERVER = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
_OWN = ("excluded", "included", "mcp", "allow_writes", "image", "seconds")
_OF_A_SUITE = ("agents", "variables", "prompts", "live", "user", "cases", "only", "failed_in", "jobs", "refresh")


class RecordCommand(click.Command):
    """Takes what stands behind `--` as the words of a command."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keeps the words in `ctx.meta`."""
        if "--" in args:
            at = args.index("--")
            ctx.meta["harness.command"] = tuple(args[at + 1 :])
            args = args[:at]
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: click.Context) -> list[str]:
        """With the words."""
        return [*super().collect_usage_pieces(ctx), "[-- PROGRAM ARGUMENT ...]"]


command_options = joined(
    click.option("--exclude", "excluded", multiple=True, metavar="GLOB", help="Leave these files out (repeatable)."),
    click.option(
        "--include",
        "included",
        multiple=True,
        metavar="GLOB",
        help="Copy these although they are usually left out, or look like secrets (repeatable).",
    ),
    click.option("--mcp", multiple=True, metavar="NAME=COMMAND", help="An MCP server over stdio (repeatable)."),
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
"""What is copied for a command, and what it may reach."""


def record_and_report(ctx: click.Context, name: str | None, typed: Mapping[str, Any]) -> ExitCode:
    """Records the command, prints what was written, and says whether the replay was complete and equal."""
    from harness.cli.console import print_json, say
    from harness.cli.running import warn_of_no_isolation
    from harness.gateway.budgets import budget_of
    from harness.runs.commands.recording import proposed_suite, record_command
    from harness.runs.commands.working_folder import CommandRequest, FolderChoice
    from harness.sandbox.local import has_own_packages

    words = ctx.meta["harness.command"]
    suite, case_id = _names(name) if name is not None else (proposed_suite(words), None)
    sandbox = typed["sandbox"]
    if not was_typed(ctx, "sandbox") and typed["image"] is None and words and has_own_packages(words, os.environ):
        sandbox = "local"
        say("the program is one of a virtual environment of this machine, and is run in it: --sandbox local")
    request = CommandRequest(
        typed=words,
        suite=suite,
        case_id=case_id,
        folder=FolderChoice(folder=Path.cwd(), exclude=typed["excluded"], include=typed["included"]),
        mcp=_servers(typed["mcp"]),
        allow_writes=typed["allow_writes"],
        sandbox=sandbox,
        image=typed["image"],
        seconds=typed["seconds"],
        budget=budget_of(typed["budget"]),
        environment=dict(os.environ),
    )
    warn_of_no_isolation(sandbox)
    found = record_command(ctx.obj, request, say)
    if typed["as_json"]:
        print_json(_plain(found))
    else:
        _show(found, sandbox if was_typed(ctx, "sandbox") else "docker")
    return ExitCode.DONE if found.replayed.equal else ExitCode.VERDICT


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
    where = "" if sandbox == "docker" else f" --sandbox {sandbox}"
    line(f"next: harness run{where}     replays {found.suite} offline: the same answer, nothing paid")
    line("then: harness init . --ci github     the workflow for pull requests")


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


@click.command("record", cls=RecordCommand)
@click.argument("suite", required=False, metavar="[SUITE[/CASE]]")
@click.option(
    "--agent",
    "agents",
    multiple=True,
    metavar="NAME",
    help="Version of the agent whose calls are recorded; default: all versions (repeatable).",
)
@agent_options
@live_option("`all` that the suite declares", ("tools", "model", "all"))
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
    harness record grocery --agent shopper --with model=gpt-5-mini
    harness record -- python my_agent.py "book a table for two"

    If the suite declares models of agents or users, their replies are recorded too; with --live tools they come from
    the cassettes.

    New recordings are added to a cassette; existing recordings are kept and answer the agent, so that the recordings of
    all versions agree. The output lists added, kept and replaced recordings of each cassette, and failed calls.
    Transient errors are not recorded, nor are calls after a lost write: record again in that case. Secrets are replaced
    before anything is written.

    With a command behind `--`, a suite is made of it: the command is run once in a sandbox, in a copy of this folder;
    the model, tools and hosts that it asks are recorded, and replayed at once. The same command with another text adds
    a case. Exit 1 if the replay was not complete and equal.
    """
    from harness.cassettes.check import unmatched_in
    from harness.cli.running import run_and_report
    from harness.runs.plan.plan import RunOptions
    from harness.suite.loading import load_suite

    is_command = "harness.command" in ctx.meta
    refuse_typed(ctx, _OF_A_SUITE if is_command else _OWN, "a command" if is_command else "a suite that exists")
    if is_command:
        ctx.exit(record_and_report(ctx, suite, typed))
    if suite is None:
        raise UsageError("name a suite", remedy="harness record SUITE, or harness record -- PROGRAM ...")
    if not was_typed(ctx, "sandbox"):
        typed["sandbox"] = None  # what `harness run` takes
    run = {name: value for name, value in typed.items() if name in RunOptions.model_fields}
    options = RunOptions.model_validate({"suite": suite, **run})
    loaded = load_suite(ctx.obj, suite)
    live = typed["live"] if was_typed(ctx, "live") else Live("record", "record")
    assert isinstance(live, Live)
    has_model = loaded.model is not None or loaded.user.model is not None
    modes = {
        "tools": "record" if live.tools else "replay",
        "model": None if not has_model else "record" if live.model else "replay",
    }
    options = options.model_copy(update=modes)
    named = {spec.partition("=")[0].strip() for spec in options.variables}
    declaring = tuple(
        version
        for version, agent in loaded.agents.items()
        if named <= agent.variables.keys() and (agent.prompt_versions or not options.prompts)
    )
    wanted = [options.model_copy(update={"agent": version}) for version in agents or declaring or tuple(loaded.agents)]
    status = max([run_and_report(ctx.obj, one) for one in wanted])
    for words in () if options.as_json else unmatched_in(ctx.obj / "cassettes", loaded):
        click.echo(words)
    ctx.exit(status)
