"""`harness judge`: rubrics, judges and their prompts. One module a subcommand, imported only when it is named."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypedDict, TypeVar, Unpack

import click

from harness.cli.main import LazyGroup, Verb
from harness.cli.options import budget_option, joined, refuse_typed
from harness.runs.store.folder import run_path

if TYPE_CHECKING:
    from harness.judging.prompts import Prompt
    from harness.judging.rubrics import Rubric
    from harness.judging.settings import JudgeSettings
    from harness.runs.judge_calibration import Runs
    from harness.runs.judging import Judged


_COMMANDS = {
    "run": "Judge a stored run by a rubric, one criterion at a time.",
    "agreement": "Compare judges' verdicts with people's labels or with rewards.",
    "calibrate": "Revise a judge's prompt until it agrees with people's labels.",
    "rubrics": "List, check and show rubrics.",
    "prompts": "List, show and label the versions of prompts.",
}


_MODULES = {
    "rubrics": "judge_prompts",
    "prompts": "judge_prompts",
    "agreement": "judge_calibration",
    "calibrate": "judge_calibration",
}


@click.group(
    "judge",
    cls=LazyGroup,
    verbs={name: Verb(_MODULES.get(name, "judge"), f"{name}_command", line) for name, line in _COMMANDS.items()},
)
def command() -> None:
    """Decide criteria that need a model as judge.

    \b
    harness judge run tour-v2 --rubric tool_agent --model gpt-4.1
    harness judge rubrics
    """


# Options of the subcommands that use a model as judge.

Command = TypeVar("Command", bound=Callable[..., Any])

CALLS = ("auto", "replay", "live")
_SETTINGS = ("model", "samples", "in_flight", "label")


rubric_option = click.option(
    "--rubric",
    "rubric_name",
    required=True,
    metavar="NAME",
    help="Name of a rubric of the suite or of a template, or a file.",
)
in_flight_option = click.option(
    "--in-flight", type=click.IntRange(1, 1024), help="Maximum number of concurrent requests; default: 32."
)


model_option = click.option(
    "--model",
    metavar="NAME",
    help="The judge's model; default: the one in `judge.yaml`, else one of another family than the agent's."
    " `judge.yaml`, else OPENAI_BASE_URL or ANTHROPIC_BASE_URL, says where it is reached.",
)


class ModelOptions(TypedDict):
    """The values of `model_options`."""

    model: str | None
    label: str | None
    mode: Literal["auto", "replay", "live"]


model_options = joined(
    model_option,
    click.option("--label", metavar="LABEL", help="Label that selects the version of the prompt; default: production."),
    click.option(
        "--calls",
        "mode",
        type=click.Choice(CALLS),
        default="auto",
        show_default=True,
        help="`auto`: use recorded answers, ask for the others and record them; `replay`: recorded answers only.",
    ),
)
"""The options that select the judge's model and its prompt."""


def settings_of(
    project: Path, suite_folder: Path | None, options: Mapping[str, Any], agents: tuple[str, ...] = ()
) -> "JudgeSettings":
    """The judge of the command line's options, which override `judge.yaml`."""
    from harness.judging.settings import judge_settings

    return judge_settings(project, suite_folder, {name: options.get(name) for name in _SETTINGS}, agents)


# The runs and the rubric of a subcommand of `harness judge`.


def opened_runs(project: Path, runs: Sequence[str], rubric_name: str) -> "Runs":
    """Raises UsageError for an unknown run or rubric, and for runs of several suites."""
    from harness.judging.rubrics import load_rubric
    from harness.runs.judge_calibration import Runs
    from harness.runs.measured_trials import suite_of
    from harness.runs.store.folder import RunFolder

    folders = tuple(RunFolder.open(run_path(project, run)) for run in runs)
    suite = suite_of(project, folders[0])
    return Runs(project, folders, load_rubric(rubric_name, suite.folder).with_violations(suite.cases))


def prompt_of(project: Path, rubric: "Rubric", version: str | None, label: str) -> "Prompt":
    """The given version of the rubric's prompt, else the version with the label."""
    from harness.judging.prompts import PromptRegistry

    registry = PromptRegistry(project)
    return registry.version(rubric.prompt, version) if version else registry.get(rubric.prompt, label)


# `harness judge run`: a stored run against a rubric.

_REASONS = 5
"""Reasons without a verdict that are printed."""


class RunOptions(ModelOptions):
    """The options of `harness judge run`."""

    rubric_name: str
    prompt_version: str | None
    samples: int | None
    in_flight: int | None
    budget: tuple[str, ...]
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
@budget_option
@click.option("--case", "cases", multiple=True, metavar="ID", help="Only this case (repeatable).")
@click.option("--criterion", "criteria", multiple=True, metavar="ID", help="Only this criterion (repeatable).")
@click.option("--again", is_flag=True, help="Also judge what this judge has judged before.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_context
def run_command(ctx: click.Context, /, run: str, as_json: bool, **options: Unpack[RunOptions]) -> None:
    """Judge the stored RUN by a rubric: one criterion at a time, each with the evidence that it declares.

    \b
    harness judge run tour-v2 --rubric tool_agent --model gpt-4.1
    OPENAI_BASE_URL=http://127.0.0.1:8000/v1 harness judge run tour-v2 --rubric shopping --model my-model
    harness judge run tour-v2 --rubric tool_agent --calls replay

    Verdicts are added to the run's folder at once. Criteria that this judge has judged before are skipped, and recorded
    answers cost nothing. Exit 1 if the judge failed at a criterion or the budget is spent.
    """
    from harness.cli.console import out, print_json
    from harness.errors import ExitCode
    from harness.reports.judged import judged_by_each
    from harness.reports.render.judging import judged_view

    refuse_typed(ctx, ("label",) if options["prompt_version"] else (), "--prompt")
    project: Path = ctx.obj
    path = run_path(project, run)
    rubric, done = _judge(project, path, options)
    scores = judged_by_each(path, rubric)
    if as_json:
        print_json({"judged": done.model_dump(mode="json"), "scores": [one.model_dump(mode="json") for one in scores]})
    else:
        _tell(done)
        for one in scores:
            out().print(judged_view(one))
    _warn(done)
    ctx.exit(ExitCode.VERDICT if done.stopped or done.answers.get("judge_failed") else ExitCode.DONE)


def _warn(done: "Judged") -> None:
    from harness.cli.console import say

    if done.warning is not None:
        say(f"warning: {done.warning}")
    if done.stopped is not None:
        say(f"stopped: {done.stopped}; run the same command to continue")


def _judge(project: Path, path: Path, options: RunOptions) -> "tuple[str, Judged]":
    """The name of the rubric, and the result of judging by it."""
    from harness.cli.console import say
    from harness.gateway.budgets import budget_of
    from harness.judging.prompts import PromptRegistry
    from harness.judging.rubrics import load_rubric
    from harness.runs.judging import JudgeRequest, agents_models, judge_run
    from harness.runs.measured_trials import suite_of
    from harness.runs.store.folder import RunFolder

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
            budget=budget_of(options["budget"]),
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
