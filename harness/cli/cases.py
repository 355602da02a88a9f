"""`harness case`: checks the cases of a suite, and makes cases from failed trials."""

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from harness.cli.console import say
from harness.cli.drafting import from_data
from harness.cli.options import (
    Live,
    attempt_option,
    jobs_option,
    live_option,
    refuse_typed,
    sandbox_option,
    selection_options,
)
from harness.errors import ExitCode, UsageError
from harness.runs.cases.checking import CaseFinding, check_cases
from harness.runs.execution.run import Watch
from harness.runs.plan.plan import RunOptions
from harness.runs.plan.planning import plan_of
from harness.suite.loading import load_suite
from harness.suite.models import ToolMode
from harness.suite.suites import Suite

if TYPE_CHECKING:
    from harness.cli.drafting import DraftOptions


@click.group("case")
def command() -> None:
    """Check a suite's cases, and draft new ones."""


@command.command("check")
@click.argument("suite")
@live_option("`sealed` if the suite has services and no other servers, else `none`", ("tools", "sealed", "none"))
@sandbox_option
@selection_options
@jobs_option
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.pass_context
def check(ctx: click.Context, /, suite: str, live: Live, as_json: bool, **typed: object) -> None:
    """Run the agents `oracle` and `nop` on SUITE; exit 1 if a case is wrong.

    \b
    harness case check drive_thru

    `oracle` makes the reference calls of a case, replies with its `expected_output`, and must pass it. `nop` does
    nothing and must fail it, unless the case declares `nop_passes: true`.
    """
    from harness.cli.console import print_json, say
    from harness.runs.plan.plan import RunOptions

    project: Path = ctx.obj
    findings = check_suite(project, live.tools, RunOptions.model_validate({"suite": suite, **typed}))
    wrong = [finding for finding in findings if finding.problem is not None]
    if as_json:
        print_json([finding.model_dump() for finding in findings])
    for finding in wrong:
        click.echo(f"{finding.case_id}: {finding.problem}", err=as_json)
    for finding in findings:
        if finding.warning is not None:
            click.echo(f"{finding.case_id}: warning: {finding.warning}", err=as_json)
    say(f"{len(findings)} cases checked, {len(wrong)} wrong")
    ctx.exit(ExitCode.VERDICT if wrong else ExitCode.DONE)


@command.command("from-trace")
@click.argument("run", required=False)
@click.argument("case", required=False)
@click.option("--session", "key", metavar="SESSION", help="A production session, instead of RUN and CASE.")
@attempt_option
@click.option("--suite", metavar="SUITE", help="Suite that receives the case; default: the suite of the run.")
@click.option(
    "-o",
    "--output",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The case file to extend; default: regressions.yaml in the suite's folder.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the case as JSON.")
@click.pass_context
def from_trace(
    ctx: click.Context, /, run: str | None, case: str | None, key: str | None, **options: "Unpack[DraftOptions]"
) -> None:
    """Make a case with a cassette from the trial of CASE in the stored or imported RUN, or from a production session.

    \b
    harness case from-trace tour-v1 order-correctness-003
    harness case from-trace production refund-17 --suite support
    harness case from-trace --session conversation-17

    The case is named prod-regression-<first 8 digits of the trace id> and describes the failure; each diagnosed failure
    becomes a check. Its limits are those of the case or the suite, wider if a successful trial used more. The case is
    verified at once: the failed trial must fail it, and stored successful trials of the same case must pass it; the
    exit status is 1 otherwise. An existing case is never overwritten. The cassette answers the calls of the trial;
    `harness record SUITE --case ID` adds those of other agents. The user of a session repeats the logged messages;
    missing information is reported.
    """
    from harness.cli.drafting import from_session, from_trial

    if key is not None and run is None:
        refuse_typed(ctx, ("attempt",), "--session")
        ctx.exit(from_session(ctx.obj, key, options))
    if key is not None or run is None or case is None:
        raise UsageError("give RUN and CASE, or --session")
    ctx.exit(from_trial(ctx.obj, run, case, options))


command.add_command(from_data)


# Carries out `harness case check`.


def check_suite(project: Path, mode: ToolMode | None, options: RunOptions) -> tuple[CaseFinding, ...]:
    """The finding of every selected case, in the suite's order; `mode`: None for the suite's own."""
    loaded = load_suite(project, options.suite or "")
    tools = mode or _default_mode(loaded)
    model = None if loaded.model is None else "replay"
    plan = plan_of(project, options.model_copy(update={"tools": tools, "model": model}))

    def watch(agent: str) -> Watch:
        say(f"{agent}: {len(plan.planned)} cases, tools {tools}")
        return Watch(say=say)

    return check_cases(plan, watch)


def _default_mode(suite: Suite) -> ToolMode:
    """`sealed` if all servers with an address are services of the environment, else `replay`."""
    servers = suite.reached.values()
    has_services = any(server.service is not None for server in servers)
    return "sealed" if has_services and not any(one.base_url for one in servers) else "replay"
