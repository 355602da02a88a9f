"""`harness judge stability`: repeats questions without using recordings."""

from collections.abc import Sequence
from typing import Unpack

import click

from harness.cli.judge.options import (
    ModelOptions,
    budget_usd_option,
    in_flight_option,
    model_options,
    rubric_option,
    settings_of,
)


class Options(ModelOptions):
    """The options of `harness judge stability`."""

    prompt_version: str | None
    times: int
    items: int
    in_flight: int | None
    budget_usd: float | None
    max_flip_rate: float | None


@click.command("stability")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@rubric_option
@model_options
@click.option("--prompt", "prompt_version", metavar="VERSION", help="Version of the rubric's prompt.")
@click.option(
    "--times", type=click.IntRange(2, 50), default=5, show_default=True, help="Number of times each question is asked."
)
@click.option(
    "--items", type=click.IntRange(1), default=50, show_default=True, help="Number of questions, spread over the runs."
)
@in_flight_option
@budget_usd_option
@click.option("--max-flip-rate", type=click.FloatRange(0, 1), help="Exit 1 if the flip rate is higher.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_context
def command(
    ctx: click.Context, /, runs: Sequence[str], rubric_name: str, as_json: bool, **options: Unpack[Options]
) -> None:
    """Ask the judge about RUN... several times, and count how often its verdict changes, by criterion.

    \b
    harness judge stability tour-v2 --rubric counter --model gpt-4.1 --times 5
    harness judge stability tour-v2 --rubric counter --max-flip-rate 0.05

    Recordings are neither used nor written. The flip rate is the probability that two answers to the same question
    differ: a judged score may change by that much without any change of the agent.
    """
    from harness.cli.judge.runs import opened_runs, prompt_of
    from harness.cli.output.console import out, print_json, say
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
