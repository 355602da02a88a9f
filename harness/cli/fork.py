"""`harness fork`: a stored trial played again up to a step, and on from there with one change."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import TOOL_MODES, jobs_option, sandbox_option
from harness.errors import ExitCode, UsageError
from harness.results import run_path

if TYPE_CHECKING:
    from harness.case import FaultSpec
    from harness.counterfactual import ForkChange, ForkResult

_FAULTS = ("timeout", "reset", "empty", "malformed", "429", "500", "503")


@click.command("fork")
@click.argument("run")
@click.argument("case", required=False)
@click.option("--attempt", type=click.IntRange(1), default=1, show_default=True, help="Which attempt at the case.")
@click.option("--at", "step", type=click.IntRange(0), metavar="STEP", help="Where to fork; see `harness explain`.")
@click.option(
    "--answer",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="FILE",
    help="The tool's call at the step is answered with the JSON in FILE.",
)
@click.option("--call", metavar="TOOL", help="TOOL is called in place of the step's call.")
@click.option(
    "--arguments",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    metavar="FILE",
    help="With --call: a JSON object; default: the step's own arguments.",
)
@click.option("--oracle", is_flag=True, help="The reference's call is made in place of the step's.")
@click.option("--drop", is_flag=True, help="The step's call is not made; the agent is fed its recorded answer.")
@click.option("--hint", metavar="TEXT", help="The user says TEXT after the agent's next reply.")
@click.option("--fault", type=click.Choice(_FAULTS), help="The step's call meets this fault.")
@click.option("--agent", metavar="VERSION", help="Another version of the agent goes on.")
@click.option(
    "--tools", type=click.Choice(TOOL_MODES[:3]), help="Who answers after the fork; default: the suite's services."
)
@click.option("--model", type=click.Choice(["replay", "live"]), help="Who answers for the model.")
@click.option("--trials", type=click.IntRange(1, 100), default=1, show_default=True, help="So many forks.")
@sandbox_option
@jobs_option
@click.option("--run-name", metavar="NAME", help="Name of the forks' run folder.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_context
def command(ctx: click.Context, /, run: str, case: str | None, **options: Any) -> None:
    """Play the trial of CASE in the stored RUN again up to STEP, and on from there with one change.

    \b
    harness fork tour-v1 order-correctness-003 --at 2
    harness fork tour-v1 order-correctness-003 --at 2 --oracle
    harness fork tour-v1 order-correctness-003 --at 2 --answer none_found.json
    harness fork tour-v1 order-correctness-003 --at 2 --fault timeout --trials 5
    harness fork tour-v1

    The agent is started anew and fed exactly what it was fed; the first step that differs from the trial ends the
    fork, and exits 1. Without a change, the fork shows whether the agent is deterministic. The fork is a trial like
    any other, in a run folder of its own. Exits 3 where the harness could not run a fork. Without CASE: how many trials
    of RUN can be forked, and why others cannot.
    """
    from harness.cli.cleaning import visible
    from harness.cli.console import print_json, say
    from harness.counterfactual import ForkRequest, fork, open_subject
    from harness.pipeline import RunOptions

    project: Path = ctx.obj
    if case is None:
        _show_possible(project, run, options["as_json"])
        return
    if options["step"] is None:
        raise UsageError("say where to fork", remedy=f"--at STEP; the steps: harness explain {run} {case}")
    subject = open_subject(project, run, case, options["attempt"])
    wishes = {name: options[name] for name in ("agent", "model", "sandbox", "jobs")}
    request = ForkRequest(
        step=options["step"],
        change=_change(options),
        options=RunOptions(**wishes),
        tools=options["tools"],
        repeats=options["trials"],
        name=options["run_name"],
    )
    result = fork(subject, request, say)
    if options["as_json"]:
        print_json(result.model_dump(mode="json") | {"determinism": result.determinism, "failed": result.failed})
    else:
        for line in _lines(result):
            click.echo(visible(line))
    if result.failed:
        ctx.exit(ExitCode.COULD_NOT)
    ctx.exit(ExitCode.DONE if result.determinism == 1 else ExitCode.VERDICT)


def _change(options: dict[str, Any]) -> "ForkChange":
    from harness.case import Invocation
    from harness.counterfactual import ForkChange

    if options["arguments"] is not None and options["call"] is None:
        raise UsageError("--arguments is for --call", remedy="name the tool too: --call TOOL")
    instead = [name for name in ("answer", "call", "oracle", "drop", "fault") if options[name]]
    if len(instead) > 1:
        raise UsageError(f"--{' and --'.join(instead)} change the same call", remedy="give one of them")
    call = None
    if options["call"] is not None:
        arguments = {} if options["arguments"] is None else _json_of(options["arguments"])
        if not isinstance(arguments, dict):
            raise UsageError(f"{options['arguments']}: expected a JSON object of arguments")
        call = Invocation(tool=options["call"], arguments=arguments)
    return ForkChange(
        answer=None if options["answer"] is None else (_json_of(options["answer"]),),
        call=call,
        oracle=options["oracle"],
        drop=options["drop"],
        hint=options["hint"],
        fault=None if options["fault"] is None else _fault(options["fault"]),
    )


def _fault(name: str) -> "FaultSpec":
    from harness.case import FaultSpec

    if name.isdecimal():
        return FaultSpec(tool="*", kind="http_status", status=int(name), call=1)
    return FaultSpec.model_validate({"tool": "*", "kind": name, "call": 1})


def _json_of(path: Path) -> Any:
    from harness.strict_json import NotJson, parse_json

    try:
        return parse_json(path.read_bytes())
    except NotJson as error:
        raise UsageError(f"{path}: expected JSON: {error}") from None


def _lines(result: "ForkResult") -> list[str]:
    words = {True: "succeeds", False: "fails", None: "cannot be told"}
    lines = [
        f"{result.parent}  forked at step {result.step}; change: {result.change}; tools {result.tools}",
        f"  the trial itself   {words[result.parent_success]}",
    ]
    for one in result.trials:
        told = f"  fork {one.attempt:<13} {words[one.success]} ({one.outcome})"
        told += "; the same end as the trial" if one.same_end else ""
        lines.append(told)
        if one.reason is not None:
            lines.append(f"    {one.reason}")
    if result.failed:
        lines.append(f"  {result.failed} of {len(result.trials)} forks could not be run, and tell nothing of the agent")
    if result.determinism is not None and result.determinism < 1:
        share = f"{result.determinism:.0%} of {len(result.trials) - result.failed}"
        lines.append(f"  not deterministic: {share} forks did the same before step {result.step}")
    lines.append(f"  kept as {result.run}; see: harness explain {result.run} {result.parent.split('/')[1]}")
    return lines


def _show_possible(project: Path, run: str, as_json: bool) -> None:
    from harness.cli.console import print_json
    from harness.counterfactual import forkable
    from harness.results import RunFolder

    possible, reasons = forkable(project, RunFolder.open(run_path(project, run)))
    if as_json:
        print_json({"possible": possible, "refused": dict(reasons)})
        return
    click.echo(f"{possible} of {possible + reasons.total()} trials can be forked")
    for reason, count in reasons.most_common():
        click.echo(f"  {count} cannot: {reason}")
