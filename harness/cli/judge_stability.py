"""`harness judge stability`: the same questions again, past every cache."""

from collections.abc import Sequence
from typing import Any

import click

from harness.cli.judge_options import model_options, settings_of


@click.command("stability")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("--rubric", "rubric_name", required=True, metavar="NAME", help="A suite's rubric, a template, or a file.")
@model_options
@click.option("--prompt", "prompt_version", metavar="VERSION", help="That very version of the rubric's prompt.")
@click.option(
    "--times", type=click.IntRange(2, 50), default=5, show_default=True, help="How often each question is asked."
)
@click.option("--items", type=click.IntRange(1), default=50, show_default=True, help="Questions, spread over the runs.")
@click.option("--in-flight", type=click.IntRange(1, 1024), help="Requests at a time; default: 32.")
@click.option("--budget-usd", type=click.FloatRange(0, min_open=True), help="Stop when the judge has cost this much.")
@click.option("--max-flip-rate", type=click.FloatRange(0, 1), help="Exit 1 where answers differ more often.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@click.pass_context
def command(ctx: click.Context, /, runs: Sequence[str], rubric_name: str, as_json: bool, **options: Any) -> None:
    """Ask the judge about RUN... several times, and count how often it changes its mind, by criterion.

    \b
    harness judge stability tour-v2 --rubric counter --model gpt-4.1 --times 5
    harness judge stability tour-v2 --rubric counter --max-flip-rate 0.05

    Nothing is taken from a recording and nothing is kept. The flip rate is the chance that two more answers to the same
    question differ: what a judged score may change by without any change of the agent.
    """
    from harness.cli.console import out, print_json, say
    from harness.cli.judge_runs import opened_runs, prompt_of
    from harness.errors import ExitCode
    from harness.judge.stability import stability
    from harness.pipeline import Bench, spread, suite_of
    from harness.report import StabilityView
    from harness.upstream import budget_of

    project = ctx.obj
    opened = opened_runs(project, runs, rubric_name)
    settings = settings_of(project, suite_of(project, opened.folders[0]).folder, options)
    prompt = prompt_of(project, opened.rubric, options["prompt_version"], settings.label)
    bench = Bench(
        runs=opened, prompt=prompt, settings=settings, budget=budget_of(options["budget_usd"], None, ()), say=say
    )
    questions = opened.unlabelled(spread(opened.work, options["items"]))
    found = stability(bench.judge(), prompt.text, questions, opened.rubric, options["times"])
    if as_json:
        print_json(found.model_dump(mode="json"))
    else:
        out().print(StabilityView(found))
    rate, most = found.overall.flip_rate, options["max_flip_rate"]
    above = most is not None and (rate is None or rate > most)
    ctx.exit(ExitCode.VERDICT if above else ExitCode.DONE)
