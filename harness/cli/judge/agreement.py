"""`harness judge agreement`: a judge's verdicts compared with people's labels or with other verdicts."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from harness.cli.judge.options import rubric_option

if TYPE_CHECKING:
    from harness.judge import AgreementReport, ComparisonScore, Judgement
    from harness.pipeline import Runs


class Options(TypedDict):
    """The options of `harness judge agreement`."""

    against: str
    prompt_version: str | None
    model: str | None
    min_agreement: float | None
    min_kappa: float | None


@click.command("agreement")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@rubric_option
@click.option(
    "--against",
    default="labels",
    show_default=True,
    metavar="WHAT",
    help="`labels`; `reward`: whether the trial succeeded; `verifier:NAME`; `metric:NAME`: above 0.5.",
)
@click.option("--prompt", "prompt_version", metavar="VERSION", help="Only verdicts by this version of the prompt.")
@click.option("--model", metavar="NAME", help="Only verdicts by this model.")
@click.option("--min-agreement", type=click.FloatRange(0, 1), help="Exit 1 if a smaller share of the verdicts agrees.")
@click.option("--min-kappa", type=click.FloatRange(-1, 1), help="Exit 1 if kappa is lower.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures and all disagreements as JSON.")
@click.pass_context
def command(
    ctx: click.Context, /, runs: Sequence[str], rubric_name: str, as_json: bool, **options: Unpack[Options]
) -> None:
    """Compare judges' verdicts on RUN... with people's labels, separately for verdict and eligibility.

    \b
    harness judge agreement tour-v2 --rubric counter
    harness judge agreement tour-v1 tour-v2 --rubric counter --json
    harness judge agreement tour-v2 --rubric tool_agent --against reward
    harness judge agreement tour-v2 --rubric counter --min-kappa 0.6

    Figures are by criterion and domain, with intervals over cases; the agreement of a constant answer and of people
    with each other is shown for comparison. If the runs were compared with others, the output includes how often the
    judge's preference was the same in both orders. Exit 3 if nothing can be compared.
    """
    from harness.cli.judge.runs import opened_runs
    from harness.cli.output.console import out, print_json
    from harness.errors import ExitCode
    from harness.report import AgreementView, PreferenceView

    opened = opened_runs(ctx.obj, runs, rubric_name)
    report = _report(opened, _judgements(opened, options), options["against"])
    places = _places(opened, options)
    if as_json:
        print_json(report.model_dump(mode="json") | {"position": [one.model_dump(mode="json") for one in places]})
    else:
        out().print(AgreementView(report))
        if places:
            out().print(PreferenceView("compared in both orders with other runs (A)", places))
    found = report.overall.verdict
    below = [
        f"{name} {value if value is None else round(value, 3)} is below {least}"
        for name, value, least in (
            ("agreement", found.agreement.value, options["min_agreement"]),
            ("kappa", found.kappa, options["min_kappa"]),
        )
        if least is not None and (value is None or value < least)
    ]
    for problem in below:
        click.echo(problem, err=True)
    ctx.exit(ExitCode.VERDICT if below else ExitCode.DONE)


def _judgements(opened: "Runs", options: Options) -> "list[Judgement]":
    from harness.errors import NotMeasured
    from harness.results import latest, read_judgements

    def wanted(one: "Judgement") -> bool:
        judge = one.judge
        return (options["prompt_version"] in (None, judge.prompt_version) or judge.prompt is None) and (
            options["model"] in (None, judge.model) or judge.prompt is None
        )

    found: list[Judgement] = []
    for folder in opened.folders:
        found += latest(one for one in read_judgements(folder.path, opened.rubric.name) if wanted(one)).values()
    if not found:
        run = opened.folders[0].manifest.run
        raise NotMeasured(
            f"{run} was not judged by {opened.rubric.name!r}",
            remedy=f"harness judge run {run} --rubric {opened.rubric.name}",
        )
    return found


def _places(opened: "Runs", options: Options) -> "list[ComparisonScore]":
    """Whether its preferences go by the place, where these runs were compared with others by this rubric."""
    from harness.judge import scores_by_criterion
    from harness.results import latest_comparisons, read_comparisons

    digest, model = opened.rubric.digest, options["model"]
    found = [one for folder in opened.folders for one in read_comparisons(folder.path, opened.rubric.name)]
    return scores_by_criterion(
        one for one in latest_comparisons(found) if one.rubric_digest == digest and model in (None, one.judge.model)
    )


def _report(opened: "Runs", judgements: "list[Judgement]", against: str) -> "AgreementReport":
    from harness.errors import NotMeasured
    from harness.judge import against_labels, compare
    from harness.report import rewards_of

    if against == "labels":
        report = against_labels(judgements, opened.labels, opened.rubric)
    else:
        report = compare(judgements, rewards_of(opened.folders, against), opened.rubric, against)
    if not report.overall.verdict.agreement.n and not report.overall.eligibility.agreement.n:
        run = opened.folders[0].manifest.run
        raise NotMeasured(
            f"none of {len(judgements)} judgements has a counterpart in {against}",
            remedy=f"harness annotate {run} --rubric {opened.rubric.name} --as NAME" if against == "labels" else None,
        )
    return report
