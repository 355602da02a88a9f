"""`harness judge calibrate`: a judge's prompt is revised from its disagreements with people."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from harness.cli.judge_options import settings_of

if TYPE_CHECKING:
    from harness.judge import JudgeSettings
    from harness.pipeline import Calibrating


@click.command("calibrate")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("--rubric", "rubric_name", required=True, metavar="NAME", help="A suite's rubric, a template, or a file.")
@click.option("--model", metavar="NAME", help="The judge's model; default: `judge.yaml`, else another family.")
@click.option("--base-url", metavar="URL", help="Where it is served; default: at the provider.")
@click.option("--provider", type=click.Choice(["openai", "anthropic"]), help="The wire format it speaks.")
@click.option("--api-key", metavar="VARIABLE", help="Name of the environment variable that holds the key.")
@click.option("--prompt", "prompt_version", metavar="VERSION", help="The version to begin with; default: production.")
@click.option("--reflector-model", metavar="NAME", help="The model that revises the prompt; default: the judge's.")
@click.option("--reflector-base-url", metavar="URL", help="Where that is served; default: where the judge is.")
@click.option(
    "--reflector-rules",
    type=click.Path(path_type=Path, dir_okay=False, exists=True),
    help="Instead of a model: a YAML file, criterion -> rules to try, one at a time.",
)
@click.option("--max-calls", type=click.IntRange(1), default=600, show_default=True, help="Questions to learn by.")
@click.option("--noise-samples", type=click.IntRange(1, 50), default=3, show_default=True, help="To know its noise.")
@click.option(
    "--minibatch", type=click.IntRange(1), default=8, show_default=True, help="Questions a revision is made of."
)
@click.option("--seed", type=int, default=0, show_default=True, help="Which cases are held out.")
@click.option("--in-flight", type=click.IntRange(1, 1024), help="Requests at a time; default: 32.")
@click.option("--budget-usd", type=click.FloatRange(0, min_open=True), help="Stop when the models have cost this much.")
@click.option("--json", "as_json", is_flag=True, help="Print it as JSON.")
@click.pass_context
def command(ctx: click.Context, /, runs: Sequence[str], rubric_name: str, as_json: bool, **options: Any) -> None:
    """Revise the prompt of RUBRIC's judge until it decides as people do about RUN...

    \b
    harness judge calibrate tour-v1 tour-v2 --rubric counter --model gpt-4.1
    harness judge prompt list

    Labelled cases are split into training, validation and held-out. GEPA revises the prompt from what the judge got
    wrong in training; a revision is accepted where it is ahead on validation by more than the judge's own noise and
    lets no more of what is critical through. The held-out cases are looked at once, at the end. An accepted revision is
    a new version in prompts/ with the label `candidate`; `harness judge prompt label` makes it the one in use. Exit 1
    where none was accepted, or the budget was spent: the same command then goes on where it stopped.
    """
    from harness.cli.console import out, print_json, say
    from harness.errors import ExitCode
    from harness.pipeline import calibrate_judge
    from harness.report import CalibrationView
    from harness.upstream import OutOfBudget

    try:
        done = calibrate_judge(_asked(ctx.obj, runs, rubric_name, options))
    except OutOfBudget as error:
        say(f"stopped: {error}; go on with the same command, which asks nothing again")
        ctx.exit(ExitCode.VERDICT)
    if as_json:
        print_json(done.model_dump(mode="json"))
    else:
        out().print(CalibrationView(done))
    ctx.exit(ExitCode.VERDICT if done.after is None else ExitCode.DONE)


def _asked(project: Path, runs: Sequence[str], rubric_name: str, options: dict[str, Any]) -> "Calibrating":
    from harness.cli.console import say
    from harness.cli.judge_runs import opened_runs, prompt_of
    from harness.judge import Settings
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
        settings=Settings(
            seed=options["seed"],
            max_calls=options["max_calls"],
            noise_samples=options["noise_samples"],
            minibatch=options["minibatch"],
        ),
    )


def _reflector(settings: "JudgeSettings", options: dict[str, Any]) -> "JudgeSettings | Callable[[str], str]":
    if options["reflector_rules"] is not None:
        from harness.documents import read_document
        from harness.judge import RuleReflector

        return RuleReflector(read_document(options["reflector_rules"], dict[str, list[str]]))
    changed = {"model": options["reflector_model"], "base_url": options["reflector_base_url"]}
    return settings.model_copy(update={name: value for name, value in changed.items() if value is not None})
