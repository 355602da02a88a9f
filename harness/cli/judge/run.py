"""`harness judge run`: a stored run against a rubric."""

from pathlib import Path
from typing import TYPE_CHECKING, Unpack

import click

from harness.cli.judge.options import (
    ModelOptions,
    budget_usd_option,
    in_flight_option,
    model_options,
    rubric_option,
    settings_of,
)
from harness.results import run_path

if TYPE_CHECKING:
    from harness.pipeline import Judged


_REASONS = 5
"""Reasons without a verdict that are printed."""


class Options(ModelOptions):
    """The options of `harness judge run`."""

    rubric_name: str
    prompt_version: str | None
    samples: int | None
    in_flight: int | None
    budget_usd: float | None
    budget_tokens: int | None
    cases: tuple[str, ...]
    criteria: tuple[str, ...]
    again: bool


@click.command("run")
@click.argument("run")
@rubric_option
@model_options
@click.option("--prompt", "prompt_version", metavar="VERSION", help="Version of the rubric's prompt.")
@click.option(
    "--samples", type=click.IntRange(1, 99), help="Number of times each question is asked; the majority decides."
)
@in_flight_option
@budget_usd_option
@click.option("--budget-tokens", type=click.IntRange(1), help="Stop when the judge has used this many tokens.")
@click.option("--case", "cases", multiple=True, metavar="ID", help="Only this case (repeatable).")
@click.option("--criterion", "criteria", multiple=True, metavar="ID", help="Only this criterion (repeatable).")
@click.option("--again", is_flag=True, help="Also judge what this judge has judged before.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_context
def command(ctx: click.Context, /, run: str, as_json: bool, **options: Unpack[Options]) -> None:
    """Judge the stored RUN by a rubric: one criterion at a time, each with the evidence that it declares.

    \b
    harness judge run tour-v2 --rubric tool_agent --model gpt-4.1
    harness judge run tour-v2 --rubric shopping --model my-model --base-url http://127.0.0.1:8000/v1
    harness judge run tour-v2 --rubric tool_agent --calls replay

    Verdicts are added to the run's folder at once. Criteria that this judge has judged before are skipped, and recorded
    answers cost nothing. Exit 1 if the judge failed at a criterion or the budget is spent.
    """
    from harness.cli.output.console import print_json, say
    from harness.errors import ExitCode
    from harness.report import judged_rubric

    project: Path = ctx.obj
    path = run_path(project, run)
    rubric, done = _judge(project, path, options)
    score = judged_rubric(path, rubric)
    if as_json:
        print_json({"judged": done.model_dump(mode="json"), "score": None if score is None else score.model_dump()})
    else:
        _tell(done)
        if score is not None:
            from harness.cli.output.console import out
            from harness.report import JudgedView

            out().print(JudgedView(score))
    if done.warning is not None:
        say(f"warning: {done.warning}")
    if done.stopped is not None:
        say(f"stopped: {done.stopped}; run the same command to continue")
    ctx.exit(ExitCode.VERDICT if done.stopped or done.answers.get("judge_failed") else ExitCode.DONE)


def _judge(project: Path, path: Path, options: Options) -> "tuple[str, Judged]":
    """The name of the rubric, and the result of judging by it."""
    from harness.cli.output.console import say
    from harness.judge import PromptRegistry, load_rubric
    from harness.pipeline import JudgeRequest, agents_models, judge_run, suite_of
    from harness.results import RunFolder
    from harness.upstream import budget_of

    folder = RunFolder.open(path)
    suite = suite_of(project, folder)
    rubric = load_rubric(options["rubric_name"], suite.folder)
    settings = settings_of(project, suite.folder, options, agents_models(folder))
    registry, version = PromptRegistry(project), options["prompt_version"]
    prompt = registry.version(rubric.prompt, version) if version else registry.get(rubric.prompt, settings.label)
    return rubric.name, judge_run(
        project,
        folder,
        JudgeRequest(
            rubric=rubric,
            prompt=prompt,
            settings=settings,
            mode=options["mode"],
            budget=budget_of(options["budget_usd"], options["budget_tokens"], ()),
            cases=options["cases"],
            criteria=options["criteria"],
            again=options["again"],
            say=say,
        ),
    )


def _tell(done: "Judged") -> None:
    kinds = ", ".join(f"{count} {answer.replace('_', ' ')}" for answer, count in sorted(done.answers.items()))
    cost = "" if done.usd is None else f", {done.usd:.4f} USD"
    click.echo(f"{done.trials} trials: {done.judged} judged now ({kinds or 'nothing'}), {done.before} before")
    click.echo(
        f"{done.calls} calls, {done.recorded} from recordings, {done.input_tokens + done.output_tokens} tokens{cost}"
    )
    for reason, count in list(done.failures.items())[:_REASONS]:
        click.echo(f"no verdict ({count} x): {reason}")
    if len(done.failures) > _REASONS:
        click.echo(f"no verdict for {len(done.failures) - _REASONS} other reasons; all of them: --json")
