"""`harness case mutate`: finds wrong behaviour that the checks of a suite do not detect."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypedDict, Unpack

import click

from harness.cli.options import TOOL_MODES, jobs_option, sandbox_option, selection_options
from harness.errors import ExitCode

if TYPE_CHECKING:
    from harness.case import ModelMode, ToolMode
    from harness.counterfactual import MutationCount, MutationReport

_SHOWN = 20


class Options(TypedDict):
    """The options of `harness case mutate`."""

    agent: str | None
    most: int
    tools: "ToolMode | None"
    model: "ModelMode | None"
    sandbox: str
    jobs: int | None
    cases: tuple[str, ...]
    categories: tuple[str, ...]
    difficulties: tuple[str, ...]
    tags: tuple[str, ...]
    failed_in: str | None
    min_mutation_score: float | None
    against_baseline: bool
    keep: bool
    as_json: bool


@click.command("mutate")
@click.argument("suite")
@click.option("--agent", metavar="VERSION", help="The agent that is mutated; default: the suite's.")
@click.option(
    "--mutants",
    "most",
    type=click.IntRange(1, 1000),
    default=12,
    show_default=True,
    help="Maximum number of mutants of each case.",
)
@click.option(
    "--tools", type=click.Choice(TOOL_MODES[:3]), help="Tool mode; default: `sealed`, answered by the suite's services."
)
@click.option("--model", type=click.Choice(["replay", "live"]), help="Source of the model's answers; default: replay.")
@sandbox_option
@selection_options
@jobs_option
@click.option(
    "--min-mutation-score", type=click.FloatRange(0, 1), metavar="SHARE", help="Exit 1 if the mutation score is lower."
)
@click.option("--against-baseline", is_flag=True, help="Exit 1 if the mutation score is lower than the baseline's.")
@click.option("--keep", is_flag=True, help="Store the score in the suite's baseline.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.pass_context
def mutate(ctx: click.Context, /, suite: str, **options: Unpack[Options]) -> None:
    """Change one behaviour at a time in every case of SUITE that the agent passes, and list changes that no check
    detects.

    \b
    harness case mutate drive_thru
    harness case mutate drive_thru --sandbox docker-warm --mutants 30
    harness case mutate drive_thru --min-mutation-score 0.9

    The gateway makes the mutants; the agent is not changed. A mutant drops or repeats a call, sends it to a similar
    tool or with another valid argument, adds a write, changes a number of the answer, adds or drops a read, stops
    early, or leaves a required step out. Mutants with the same end state and the same answer are equivalent and not
    counted. Every undetected mutant is printed with a check that would detect it.
    """
    from harness.case import load_suite
    from harness.cli.output.console import print_json, say
    from harness.counterfactual import mutate as run_mutants
    from harness.pipeline import RunOptions, plan_of, variant_tool_mode
    from harness.results import keep_mutation_score, mutation_floor, read_baseline
    from harness.visible_text import one_line

    project: Path = ctx.obj
    loaded = load_suite(project, suite)
    floor = options["min_mutation_score"]
    if options["against_baseline"]:
        floor = max(floor or 0.0, mutation_floor(project, suite, loaded.digest))
    if options["keep"]:
        read_baseline(project, suite, loaded.digest)  # fails before any trial starts if there is no baseline
    model = None if loaded.model is None else options["model"] or "replay"
    tools = options["tools"] or variant_tool_mode(loaded)
    wanted = RunOptions(
        suite=suite,
        agent=options["agent"],
        tools=tools,
        model=model,
        sandbox=options["sandbox"],
        jobs=options["jobs"],
        cases=options["cases"],
        categories=options["categories"],
        difficulties=options["difficulties"],
        tags=options["tags"],
        failed_in=options["failed_in"],
    )
    plan = plan_of(project, wanted)
    report = run_mutants(plan, options["most"], say)
    if options["as_json"]:
        print_json(report.model_dump(mode="json"))
    else:
        for line in _lines(report):
            click.echo(one_line(line))
    if options["keep"]:
        chosen = len({one.case_id for one in plan.planned})
        if chosen < len(loaded.cases):
            say(f"the stored score of the suite covers {chosen} of {len(loaded.cases)} cases")
        say(f"kept in {keep_mutation_score(project, suite, report.score, report.total.mutants, loaded.digest)}")
    ctx.exit(_status(report, floor))


def _status(report: "MutationReport", floor: float | None) -> ExitCode:
    from harness.cli.output.console import say

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
        lines.append(f"  not mutated, because the agent does not pass them: {', '.join(report.not_passed)}")
    for hole in report.holes[:_SHOWN]:
        lines.append(f"hole {hole.case_id} step {hole.step}: {hole.words}")
        lines.append(f"  unnoticed  {hole.changed}")
        if hole.proposal is not None:
            lines.append(f"  propose    {_check(hole.proposal)}")
    if len(report.holes) > _SHOWN:
        lines.append(f"and {len(report.holes) - _SHOWN} more holes; --json has all")
    return lines


def _counted(count: "MutationCount") -> str:
    text = f"{count.noticed} of {count.noticed + count.unnoticed} noticed"
    return text + (f", {count.equivalent} equivalent" if count.equivalent else "")


def _check(proposal: dict[str, Any]) -> str:
    import json

    return f"{{verifier: {proposal['verifier']}, with: {json.dumps(proposal['with'], ensure_ascii=False)[:300]}}}"
