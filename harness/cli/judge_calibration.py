"""`harness judge agreement` and `harness judge calibrate`: judges held against people's labels."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from harness.cli.judge import in_flight_option, model_option, rubric_option, settings_of
from harness.cli.options import budget_option

if TYPE_CHECKING:
    from harness.judging.agreement import AgreementReport
    from harness.judging.settings import JudgeSettings
    from harness.judging.verdicts import Judgement
    from harness.runs.judge_calibration import Calibrating, Runs


# `harness judge agreement`: a judge's verdicts compared with people's labels or with rewards.


class AgreementOptions(TypedDict):
    """The options of `harness judge agreement`."""

    against: str
    prompt_version: str | None
    model: str | None
    certify: bool


@click.command("agreement")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@rubric_option
@click.option(
    "--against",
    type=click.Choice(["labels", "reward"]),
    default="labels",
    show_default=True,
    help="`labels` of people; `reward`: whether the trial succeeded.",
)
@click.option("--prompt", "prompt_version", metavar="VERSION", help="Only verdicts by this version of the prompt.")
@click.option("--model", metavar="NAME", help="Only verdicts by this model.")
@click.option(
    "--certify",
    is_flag=True,
    help="Test the judge on the labels that decided nothing before, which uses them up; exit 1 without a certificate.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the figures and all disagreements as JSON.")
@click.pass_context
def agreement_command(
    ctx: click.Context, /, runs: Sequence[str], rubric_name: str, as_json: bool, **options: Unpack[AgreementOptions]
) -> None:
    """Compare judges' verdicts on RUN... with people's labels, separately for verdict and eligibility.

    \b
    harness judge agreement tour-v2 --rubric counter
    harness judge agreement tour-v1 tour-v2 --rubric counter --json
    harness judge agreement tour-v2 --rubric tool_agent --against reward
    harness judge agreement tour-v2 --rubric counter --certify

    Figures are by criterion and domain, with intervals over cases; the agreement of a constant answer and of people
    with each other is shown for comparison. Of several judges the one that answered last is compared. A judge
    is certified for a criterion if its true-positive and true-negative rates are at least 80 % at the lower ends of
    their 95 % intervals; another one can show, and decides no check. Exit 3 if nothing can be compared.
    """
    from harness.cli.console import out, print_json
    from harness.cli.judge import opened_runs
    from harness.errors import ExitCode
    from harness.reports.render.judging import agreement_view

    opened = opened_runs(ctx.obj, runs, rubric_name)
    judgements = _judgements(opened, options)
    report = _report(opened, judgements, options["against"])
    if as_json:
        print_json(report.model_dump(mode="json"))
    else:
        out().print(agreement_view(report))
    missing = _certify(opened, judgements) if options["certify"] else {}
    for name, reason in missing.items():
        click.echo(f"{name}: {reason}", err=True)
    ctx.exit(ExitCode.VERDICT if missing else ExitCode.DONE)


def _certify(opened: "Runs", judgements: "list[Judgement]") -> dict[str, str]:
    """What the judge lacks after the test."""
    from harness.errors import UsageError
    from harness.runs.judge_calibration import certify_judge

    judge = next((one.judge for one in judgements if one.judge.prompt is not None), None)
    if judge is None:
        raise UsageError("no judge's verdict is here to certify: code decided everything")
    missing = certify_judge(opened, judge, judgements)
    click.echo(
        f"{judge.model}, prompt {judge.prompt}@{judge.prompt_version}: " + ("not " if missing else "") + "certified"
    )
    return missing


def _judgements(opened: "Runs", options: AgreementOptions) -> "list[Judgement]":
    from harness.errors import NotMeasured
    from harness.runs.store.judgements import latest, of_last_judge, read_judgements

    def wanted(one: "Judgement") -> bool:
        judge = one.judge
        return (options["prompt_version"] in (None, judge.prompt_version) or judge.prompt is None) and (
            options["model"] in (None, judge.model) or judge.prompt is None
        )

    every = [one for folder in opened.folders for one in read_judgements(folder.path, opened.rubric.name)]
    by_run: dict[str, list[Judgement]] = {}
    for one in of_last_judge(filter(wanted, every)):
        by_run.setdefault(one.run, []).append(one)
    found = [one for own in by_run.values() for one in latest(own).values()]
    if not found:
        run = opened.folders[0].manifest.run
        raise NotMeasured(
            f"{run} was not judged by {opened.rubric.name!r}",
            remedy=f"harness judge run {run} --rubric {opened.rubric.name}",
        )
    return found


def _report(opened: "Runs", judgements: "list[Judgement]", against: str) -> "AgreementReport":
    from harness.errors import NotMeasured
    from harness.judging.agreement import against_labels, compare
    from harness.reports.judged import rewards_of

    if against == "labels":
        report = against_labels(judgements, opened.labels, opened.rubric)
    else:
        report = compare(judgements, rewards_of(opened.folders), opened.rubric, against)
    if not report.overall.verdict.agreement.n and not report.overall.eligibility.agreement.n:
        run = opened.folders[0].manifest.run
        raise NotMeasured(
            f"none of {len(judgements)} judgements has a counterpart in {against}",
            remedy=f"harness annotate {run} --rubric {opened.rubric.name} --as NAME" if against == "labels" else None,
        )
    return report


# `harness judge calibrate`: a judge's prompt is revised from its disagreements with people.


class CalibrateOptions(TypedDict):
    """The options of `harness judge calibrate`."""

    model: str | None
    prompt_version: str | None
    reflector: str | None
    max_calls: int
    minibatch: int
    in_flight: int | None
    budget: tuple[str, ...]


@click.command("calibrate")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@rubric_option
@model_option
@click.option(
    "--prompt", "prompt_version", metavar="VERSION", help="Label of the version to start from; default: production."
)
@click.option("--reflector", metavar="MODEL", help="The model that revises the prompt; default: the judge's.")
@click.option(
    "--max-calls", type=click.IntRange(1), default=600, show_default=True, help="Number of training questions."
)
@click.option(
    "--minibatch", type=click.IntRange(1), default=8, show_default=True, help="Number of questions per revision."
)
@in_flight_option
@budget_option
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@click.pass_context
def calibrate_command(
    ctx: click.Context, /, runs: Sequence[str], rubric_name: str, as_json: bool, **options: Unpack[CalibrateOptions]
) -> None:
    """Revise the prompt of RUBRIC's judge until it decides as people do about RUN...

    \b
    harness judge calibrate tour-v1 tour-v2 --rubric counter --model gpt-4.1
    harness judge prompts

    Labelled cases are split into training, validation and held-out cases. GEPA revises the prompt from the judge's
    errors in training, and the best one on validation is tried on the held-out cases. It is accepted if an exact paired
    test over these finds it better at 5 %, no domain is worse, and it misses no more failures of critical criteria. An
    accepted revision becomes a new version in prompts/ with the label `candidate`; `harness judge prompts NAME@VERSION
    --label production` puts it into use. Labels that decided once are not held out again. Exit 1 if the budget is
    spent; the same command then continues.
    """
    from harness.cli.console import out, print_json, say
    from harness.errors import ExitCode
    from harness.gateway.budgets import OutOfBudget
    from harness.reports.render.judging import calibration_view
    from harness.runs.judge_calibration import calibrate_judge

    try:
        done = calibrate_judge(_asked(ctx.obj, runs, rubric_name, options))
    except OutOfBudget as error:
        say(f"stopped: {error}; run the same command to continue, answered questions are not asked again")
        ctx.exit(ExitCode.VERDICT)
    if as_json:
        print_json(done.model_dump(mode="json"))
    else:
        out().print(calibration_view(done))
    ctx.exit(ExitCode.DONE)


def _asked(project: Path, runs: Sequence[str], rubric_name: str, options: CalibrateOptions) -> "Calibrating":
    from harness.cli.console import say
    from harness.cli.judge import opened_runs, prompt_of
    from harness.gateway.budgets import budget_of
    from harness.judging.calibration import CalibrationSettings
    from harness.runs.judge_calibration import Bench, Calibrating
    from harness.runs.judging import agents_models
    from harness.runs.measured_trials import suite_of

    opened = opened_runs(project, runs, rubric_name)
    suite = suite_of(project, opened.folders[0])
    agents = tuple(model for folder in opened.folders for model in agents_models(folder))
    settings = settings_of(project, suite.folder, options, agents)
    return Calibrating(
        bench=Bench(
            runs=opened,
            prompt=prompt_of(project, opened.rubric, options["prompt_version"], settings.label),
            settings=settings,
            budget=budget_of(options["budget"]),
            say=say,
        ),
        reflector=_reflector(project, suite.folder, settings, options),
        settings=CalibrationSettings(max_calls=options["max_calls"], minibatch=options["minibatch"]),
    )


def _reflector(
    project: Path, suite_folder: Path, settings: "JudgeSettings", options: CalibrateOptions
) -> "JudgeSettings":
    if options["reflector"] is None:
        return settings
    return settings_of(project, suite_folder, {"model": options["reflector"]})
