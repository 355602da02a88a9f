"""`harness case mutate`: which wrong things a suite's checks do not notice."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.options import TOOL_MODES, jobs_option, sandbox_option, selection_options
from harness.errors import ExitCode

if TYPE_CHECKING:
    from harness.counterfactual import MutationCount, MutationReport

_SHOWN = 20


@click.command("mutate")
@click.argument("suite")
@click.option("--agent", metavar="VERSION", help="The agent that is mutated; default: the suite's.")
@click.option("--mutants", "most", type=click.IntRange(1, 1000), default=12, show_default=True, help="Of each case.")
@click.option("--tools", type=click.Choice(TOOL_MODES[:3]), help="Who answers; default: the suite's services.")
@sandbox_option
@selection_options
@jobs_option
@click.option("--min-mutation-score", type=click.FloatRange(0, 1), metavar="SHARE", help="Exit 1 where it is lower.")
@click.option("--against-baseline", is_flag=True, help="Exit 1 where it is lower than the baseline's.")
@click.option("--keep", is_flag=True, help="Keep the score in the suite's baseline.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.pass_context
def mutate(ctx: click.Context, /, suite: str, **options: Any) -> None:
    """Do one thing wrong at a time in every case of SUITE that the agent passes, and list what no check notices.

    \b
    harness case mutate drive_thru
    harness case mutate drive_thru --sandbox docker-warm --mutants 30
    harness case mutate drive_thru --min-mutation-score 0.9

    Mutants are made at the gateway, without touching the agent: a call dropped or doubled, sent to a sibling tool,
    with another valid argument, a write too many, a number of the answer changed, a read too many or too few, stopped
    early, a required step left out. What leaves the same world and the same answer is not counted. A hole is shown
    with a check that would notice it.
    """
    from harness.case import load_suite
    from harness.cli.cleaning import visible
    from harness.cli.console import print_json, say
    from harness.counterfactual import mutate as run_mutants
    from harness.pipeline import RunOptions, plan_of, variant_tool_mode
    from harness.results import keep_mutation_score, mutation_floor

    project: Path = ctx.obj
    loaded = load_suite(project, suite)
    floor = options["min_mutation_score"]
    if options["against_baseline"]:
        floor = max(floor or 0.0, mutation_floor(project, suite, loaded.digest))
    names = ("agent", "sandbox", "jobs", "cases", "categories", "difficulties", "tags", "failed_in")
    wishes = {name: options[name] for name in names if name in options}
    model = None if loaded.model is None else "replay"
    tools = options["tools"] or variant_tool_mode(loaded)
    plan = plan_of(project, RunOptions(suite=suite, tools=tools, model=model, **wishes))
    report = run_mutants(plan, options["most"], say)
    if options["as_json"]:
        print_json(report.model_dump(mode="json"))
    else:
        for line in _lines(report):
            click.echo(visible(line))
    if options["keep"]:
        say(f"kept in {keep_mutation_score(project, suite, report.score, report.total.mutants, loaded.digest)}")
    ctx.exit(_status(report, floor))


def _status(report: "MutationReport", floor: float | None) -> ExitCode:
    from harness.cli.console import say

    if floor is None:
        return ExitCode.DONE
    if report.score is None:
        say("gate mutation_score: not measured: no mutant counts")
        return ExitCode.COULD_NOT
    holds = report.score >= floor - 1e-9
    say(f"gate mutation_score >= {floor:g}: {'holds' if holds else 'fails'} ({report.score:.3f})")
    return ExitCode.DONE if holds else ExitCode.VERDICT


def _lines(report: "MutationReport") -> list[str]:
    total = report.total
    score = "not measured" if report.score is None else f"{report.score:.1%}"
    lines = [
        f"{report.suite} {report.agent}: mutation score {score}: {total.noticed} of {total.noticed + total.unnoticed}"
        f" noticed; {total.equivalent} equivalent, {total.unmeasured} not measured",
        f"  {report.trials} trials in {report.seconds:g} s, tools {report.tools}",
    ]
    lines += [f"  {name:<22}{_counted(count)}" for name, count in report.operators.items()]
    lines += [f"  check {name:<16} noticed {count}" for name, count in report.checks.items()]
    if report.not_passed:
        lines.append(f"  not passed by the agent, so not mutated: {', '.join(report.not_passed)}")
    for hole in report.holes[:_SHOWN]:
        lines.append(f"hole {hole.case_id} step {hole.step}: {hole.words}")
        lines.append(f"  unnoticed  {hole.changed}")
        if hole.proposal is not None:
            lines.append(f"  propose    {_check(hole.proposal)}")
    if len(report.holes) > _SHOWN:
        lines.append(f"and {len(report.holes) - _SHOWN} more holes; --json has all")
    return lines


def _counted(count: "MutationCount") -> str:
    told = f"{count.noticed} of {count.noticed + count.unnoticed} noticed"
    return told + (f", {count.equivalent} equivalent" if count.equivalent else "")


def _check(proposal: dict[str, Any]) -> str:
    import json

    return f"{{verifier: {proposal['verifier']}, with: {json.dumps(proposal['with'], ensure_ascii=False)[:300]}}}"
