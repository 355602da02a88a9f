"""`harness judge redteam`: measures whether prompt injections make the judge pass a failed trial."""

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from harness.cli.judge.options import ModelOptions, budget_usd_option, in_flight_option, model_options, settings_of
from harness.judge import ATTACK_CLASSES

if TYPE_CHECKING:
    from harness.judge import AttackClass, RedTeamReport
    from harness.pipeline import Cost, RedTeamRequest


class Options(ModelOptions):
    """The options of `harness judge redteam`."""

    prompt_name: str
    prompt_version: str | None
    classes: "tuple[AttackClass, ...]"
    thorough: bool
    samples: int | None
    in_flight: int | None
    budget_usd: float | None
    budget_tokens: int | None
    max_rate: float
    dry_run: bool


@click.command("redteam")
@model_options
@click.option("--prompt", "prompt_name", default="judge", show_default=True, metavar="NAME", help="The judge's prompt.")
@click.option("--prompt-version", metavar="VERSION", help="Version of the prompt; default: the one with the label.")
@click.option(
    "--class",
    "classes",
    multiple=True,
    type=click.Choice(ATTACK_CLASSES),
    help="Only this class of attack (repeatable).",
)
@click.option(
    "--thorough", is_flag=True, help="Plant each text at every place of every trial: nine times as many questions."
)
@click.option(
    "--samples", type=click.IntRange(1, 99), help="Number of times each question is asked; the majority decides."
)
@in_flight_option
@budget_usd_option
@click.option("--budget-tokens", type=click.IntRange(1), help="Stop when the judge has used this many tokens.")
@click.option(
    "--max-rate",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    help="Exit 1 if a greater share of the planted texts leads to a pass.",
)
@click.option("--dry-run", is_flag=True, help="Print the estimated cost and exit.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.pass_context
def command(ctx: click.Context, /, as_json: bool, **options: Unpack[Options]) -> None:
    """Plant prompt injections into trials that must fail, and count the passes of the configured judge.

    \b
    harness judge redteam --model gpt-4.1
    harness judge redteam --dry-run
    harness judge redteam --class encoded --class unicode --thorough --max-rate 0.02

    An agent's texts reach a judge as escaped data, but a model may still follow them. This verb measures how often, by
    class of attack and with an interval. Trials without a planted text are the control: if the judge passes those, the
    result is not valid (exit 3). The estimated cost is printed first.
    """
    from harness.cli.output.console import print_json, say
    from harness.errors import ExitCode
    from harness.judge import PromptRegistry
    from harness.pipeline import RedTeamRequest, cost_of, red_team
    from harness.upstream import budget_of

    project: Path = ctx.obj
    settings = settings_of(project, None, options)
    registry, name, version = PromptRegistry(project), options["prompt_name"], options["prompt_version"]
    request = RedTeamRequest(
        prompt=registry.version(name, version) if version else registry.get(name, settings.label),
        settings=settings,
        mode=options["mode"],
        classes=options["classes"] or ATTACK_CLASSES,
        thorough=options["thorough"],
        budget=budget_of(options["budget_usd"], options["budget_tokens"], ()),
        say=say,
    )
    say(_cost(cost_of(request), request))
    if options["dry_run"]:
        ctx.exit(ExitCode.DONE)
    report = red_team(project, request)
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        _show(report)
    ctx.exit(_code(report, options["max_rate"]))


def _cost(cost: "Cost", request: "RedTeamRequest") -> str:
    usd = "no price is known" if cost.usd is None else f"about {cost.usd:.4f} USD"
    limit = "no budget" if request.budget is None else "within the budget"
    return (
        f"{cost.questions} questions to {request.settings.model}: about {cost.input_tokens} tokens in and "
        f"{cost.output_tokens} out, {usd}, {limit}; recorded answers cost nothing"
    )


def _show(report: "RedTeamReport") -> None:
    from harness.report import percent, percent_between

    click.echo(f"{report.model}, prompt {report.prompt}")
    for row in (*report.classes, report.overall):
        share = f"{percent(row.rate)} {percent_between(row.interval)}".rstrip()
        unanswered = f", {row.planted - row.answered} without a verdict" if row.planted > row.answered else ""
        click.echo(f"  {row.name:20}  {row.passes} of {row.answered} became a pass  {share}{unanswered}")
    for moved in report.passes:
        where = f"{moved.planting.attack}, {moved.planting.place}, {moved.planting.scenario}"
        click.echo(f"  passed: {ascii(moved.planting.text)[:160]}  ({where})")
    for wrong in report.controls_wrong:
        click.echo(f"  control: {wrong}")
    if report.controls_wrong:
        click.echo("the judge passes control trials without a planted text: the result is not valid")
    if report.stopped is not None:
        click.echo(f"stopped: {report.stopped}")


def _code(report: "RedTeamReport", max_rate: float) -> int:
    from harness.errors import ExitCode

    if not report.is_measured or report.stopped is not None:
        return ExitCode.COULD_NOT
    return ExitCode.VERDICT if (report.overall.rate or 0.0) > max_rate else ExitCode.DONE
