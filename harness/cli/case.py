"""`harness case`: whether a suite's cases are right themselves, and cases from trials that went wrong."""

from pathlib import Path
from typing import Any

import click

from harness.cli.case_coverage import coverage
from harness.cli.case_mutate import mutate
from harness.cli.options import TOOL_MODES, jobs_option, sandbox_option, selection_options
from harness.results import run_path


@click.group("case")
def command() -> None:
    """Check a suite's cases, and draft new ones."""


@command.command("check")
@click.argument("suite")
@click.option(
    "--tools",
    type=click.Choice(TOOL_MODES),
    help="Who answers; default: `sealed` where the suite has services and no server outside of them, else `replay`.",
)
@sandbox_option
@selection_options
@jobs_option
@click.option("--json", "as_json", is_flag=True, help="Print the findings as JSON.")
@click.pass_context
def check(ctx: click.Context, /, suite: str, as_json: bool, **options: Any) -> None:
    """Run `oracle` and `nop` over SUITE; exit 1 where a case is wrong.

    \b
    harness case check drive_thru

    The oracle plays a case's reference calls, replies with its `expected_output`, and must pass it; an agent that does
    nothing must fail it, unless the case says `nop_passes: true`.
    """
    from harness.cli.checking import check_suite
    from harness.cli.console import print_json, say
    from harness.errors import ExitCode

    project: Path = ctx.obj
    findings = check_suite(project, suite, options)
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
@click.argument("run")
@click.argument("case")
@click.option("--attempt", type=click.IntRange(1), default=1, show_default=True, help="Which attempt at the case.")
@click.option("--suite", metavar="SUITE", help="Which suite it becomes a case of; default: the one that was run.")
@click.option(
    "-o",
    "--output",
    "file",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The case file that it is added to; default: regressions.yaml in the suite's folder.",
)
@click.pass_context
def from_trace(ctx: click.Context, /, run: str, case: str, attempt: int, suite: str | None, file: Path | None) -> None:
    """Turn the trial of CASE in the stored RUN, ours or an imported one, into a draft case with its cassette.

    \b
    harness case from-trace tour-v1 order-correctness-003
    harness case from-trace production refund-17 --suite support

    The case is called prod-regression-<first 8 of the trace's id> and says what failed; each diagnosed failure becomes
    a check. Its limits are the case's own, or the suite's, wider where a trial that succeeded used more. It is proven
    at once: the failed trial must fail it, and stored trials that succeeded at the same case must pass; exit 1 where
    that does not hold. A case that exists is never overwritten. Its cassette answers what the trial asked; `harness
    record SUITE --case ID` adds the paths of other agents.
    """
    from harness.cli.console import say
    from harness.errors import ExitCode
    from harness.pipeline import Request, case_from_trace

    project: Path = ctx.obj
    request = Request(run=run_path(project, run), case_id=case, attempt=attempt, suite=suite, file=file)
    done = case_from_trace(project, request)
    click.echo(f"{done.case.id}  {done.file}")
    if done.cassette is not None:
        click.echo(f"  cassette  {done.cassette}")
    for note in done.notes:
        say(f"{done.case.id}: {note}")
    if not done.listed:
        say(f"suite.yaml does not read that file yet; let it say  {done.line}")
    proof = done.proof
    click.echo(f"  the trial it was made from {_SAID[proof.failing]} it")
    for name, answer in proof.passing.items():
        click.echo(f"  {name}, which succeeded, {_SAID[answer]} it")
    if not proof.passing:
        click.echo("  no trial that succeeded is at hand: whether one can pass it is not known")
    if not proof.holds and not done.succeeded:
        say(f"{done.case.id}: not proven; read its checks before you rely on it")
    say(f"then: harness run {done.suite} --case {done.case.id}")
    ctx.exit(ExitCode.DONE if proof.holds or done.succeeded else ExitCode.VERDICT)


command.add_command(mutate)
command.add_command(coverage)

_SAID = {"passes": "passes", "fails": "fails", "unknown": "neither passes nor fails"}
