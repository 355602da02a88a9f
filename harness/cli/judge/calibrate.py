"""`harness judge calibrate`: a judge's prompt is revised from its disagreements with people."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from harness.cli.judge.options import in_flight_option, rubric_option, settings_of

if TYPE_CHECKING:
    from harness.judge import JudgeSettings
    from harness.pipeline import Calibrating


class Options(TypedDict):
    """The options of `harness judge calibrate`."""

    model: str | None
    base_url: str | None
    provider: str | None
    api_key: str | None
    prompt_version: str | None
    reflector_model: str | None
    reflector_base_url: str | None
    reflector_rules: Path | None
    max_calls: int
    noise_samples: int
    minibatch: int
    seed: int
    in_flight: int | None
    budget_usd: float | None


@click.command("calibrate")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@rubric_option
@click.option(
    "--model",
    metavar="NAME",
    help="The judge's model; default: the one in `judge.yaml`, else one of another family than the agent's.",
)
@click.option("--base-url", metavar="URL", help="Base URL of its API; default: the provider's.")
@click.option("--provider", type=click.Choice(["openai", "anthropic"]), help="Wire format of its API.")
@click.option("--api-key", metavar="VARIABLE", help="Environment variable that holds the API key.")
@click.option(
    "--prompt", "prompt_version", metavar="VERSION", help="Label of the version to start from; default: production."
)
@click.option("--reflector-model", metavar="NAME", help="The model that revises the prompt; default: the judge's.")
@click.option("--reflector-base-url", metavar="URL", help="Base URL of its API; default: the judge's.")
@click.option(
    "--reflector-rules",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Instead of a model: a YAML file that maps criteria to rules, which are tried one at a time.",
)
@click.option(
    "--max-calls", type=click.IntRange(1), default=600, show_default=True, help="Number of training questions."
)
@click.option(
    "--noise-samples",
    type=click.IntRange(1, 50),
    default=3,
    show_default=True,
    help="Number of repetitions that measure the judge's noise.",
)
@click.option(
    "--minibatch", type=click.IntRange(1), default=8, show_default=True, help="Number of questions per revision."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed that selects the held-out cases.")
@in_flight_option
@click.option(
    "--budget-usd", type=click.FloatRange(0, min_open=True), help="Stop when the models' cost reaches this amount."
)
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_context
def command(
    ctx: click.Context, /, runs: Sequence[str], rubric_name: str, as_json: bool, **options: Unpack[Options]
) -> None:
    """Revise the prompt of RUBRIC's judge until it decides as people do about RUN...

    \b
    harness judge calibrate tour-v1 tour-v2 --rubric counter --model gpt-4.1
    harness judge prompt list

    Labelled cases are split into training, validation and held-out cases. GEPA revises the prompt from the judge's
    errors in training. A revision is accepted if it is better on validation by more than the judge's noise and misses
    no more failures of critical criteria. The held-out cases are used once, at the end. An accepted revision becomes a
    new version in prompts/ with the label `candidate`; `harness judge prompt label` puts it into use. Exit 1 if no
    revision was accepted or the budget is spent; the same command then continues.
    """
    from harness.cli.output.console import out, print_json, say
    from harness.errors import ExitCode
    from harness.pipeline import calibrate_judge
    from harness.report import CalibrationView
    from harness.upstream import OutOfBudget

    try:
        done = calibrate_judge(_asked(ctx.obj, runs, rubric_name, options))
    except OutOfBudget as error:
        say(f"stopped: {error}; run the same command to continue, answered questions are not asked again")
        ctx.exit(ExitCode.VERDICT)
    if as_json:
        print_json(done.model_dump(mode="json"))
    else:
        out().print(CalibrationView(done))
    ctx.exit(ExitCode.VERDICT if done.after is None else ExitCode.DONE)


def _asked(project: Path, runs: Sequence[str], rubric_name: str, options: Options) -> "Calibrating":
    from harness.cli.judge.runs import opened_runs, prompt_of
    from harness.cli.output.console import say
    from harness.judge import CalibrationSettings
    from harness.pipeline import Bench, Calibrating, agents_models, suite_of
    from harness.upstream import budget_of

    opened = opened_runs(project, runs, rubric_name)
    suite = suite_of(project, opened.folders[0])
    agents = tuple(model for folder in opened.folders for model in agents_models(folder))
    settings = settings_of(project, suite.folder, options, agents)
    return Calibrating(
        bench=Bench(
            runs=opened,
            prompt=prompt_of(project, opened.rubric, options["prompt_version"], settings.label),
            settings=settings,
            budget=budget_of(options["budget_usd"], None, ()),
            say=say,
        ),
        reflector=_reflector(settings, options),
        settings=CalibrationSettings(
            seed=options["seed"],
            max_calls=options["max_calls"],
            noise_samples=options["noise_samples"],
            minibatch=options["minibatch"],
        ),
    )


def _reflector(settings: "JudgeSettings", options: Options) -> "JudgeSettings | Callable[[str], str]":
    if options["reflector_rules"] is not None:
        from harness.documents import read_document
        from harness.judge import CalibrationRuleReflector

        return CalibrationRuleReflector(read_document(options["reflector_rules"], dict[str, list[str]]))
    changed = {"model": options["reflector_model"], "base_url": options["reflector_base_url"]}
    return settings.model_copy(update={name: value for name, value in changed.items() if value is not None})
