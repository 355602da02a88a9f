"""`harness compare` and `harness baseline`: what changed between two runs, or since the baseline."""

import os
from pathlib import Path
from typing import Literal

import click

from harness.cli.console import out, print_json
from harness.cli.options import all_option, form_of, json_option, refuse_all
from harness.errors import ExitCode, UsageError
from harness.reports.margin import no_worse_than
from harness.reports.named import compare_named
from harness.runs.store.folder import RunFolder, run_path

# `harness compare`: compares two runs, case by case.


@click.command("compare")
@click.argument("before")
@click.argument("after", required=False)
@click.option(
    "--format",
    "form",
    type=click.Choice(["terminal", "markdown", "comment"]),
    default="terminal",
    show_default=True,
    help="Format of the comparison; `comment`: Markdown for a pull request, with the figures first.",
)
@json_option
@all_option
@click.option(
    "--no-worse-than",
    "margins",
    multiple=True,
    metavar="METRIC=MARGIN",
    help="Test whether AFTER is worse by more than MARGIN; for amounts also a percentage, as in cost_usd=10%"
    " (repeatable).",
)
@click.pass_context
def compare_command(
    ctx: click.Context,
    before: str,
    after: str | None,
    form: Literal["terminal", "markdown", "comment"],
    as_json: bool,
    everything: bool,
    margins: tuple[str, ...],
) -> None:
    """Show what changed from the run BEFORE (or `baseline:SUITE`) to the run AFTER, paired by case and attempt.

    \b
    harness compare tour-v1 tour-v2
    harness compare tour-v1 tour-v2 --format markdown
    harness compare tour-v1 tour-v2 --no-worse-than task_success=0.05 --no-worse-than cost_usd=10%
    harness compare baseline:drive_thru tour-v2
    harness compare baseline:drive_thru

    Runs of different suites, or scored by different versions of a verifier, are not compared: the difference would have
    no meaning. Without AFTER, the baseline itself is shown, and whether it was made by the current suite, verifiers,
    metrics and detectors; the exit status is 3 if there is none, or if the suite has changed.

    Exit status with --no-worse-than: 0 better or at parity, 1 worse, 3 not determined.
    """
    shown = form_of(ctx, form, as_json)
    refuse_all(ctx, shown)
    if after is None:
        if margins or not before.startswith("baseline:"):
            raise UsageError("name a run to compare with", remedy=f"harness compare {before} RUN")
        _show_baseline(ctx.obj, before.removeprefix("baseline:"), shown, everything)
        return
    from harness.reports.render.markdown import addresses_of, comment_markdown, comparison_json, comparison_markdown
    from harness.reports.render.sections import margin_lines
    from harness.reports.render.terminal import comparison_view, first_comparison

    project: Path = ctx.obj
    comparison = compare_named(project, before, run_path(project, after), margins)
    checks = no_worse_than(comparison, margins)
    match shown:
        case "terminal":
            out().print(comparison_view(comparison) if everything else first_comparison(comparison, before))
        case "markdown":
            click.echo(comparison_markdown(comparison), nl=False)
        case "comment":
            click.echo(comment_markdown(comparison, checks, addresses_of(os.environ)), nl=False)
        case "json":
            click.echo(comparison_json(comparison, checks), nl=False)
    if shown not in ("comment", "json"):
        for line in margin_lines(checks):
            click.echo(line)
    ctx.exit(max((check.exit_code for check in checks), default=ExitCode.DONE))


# `harness baseline`: the results that changes are compared with.


@click.command("baseline")
@click.argument("run")
@click.option(
    "--allow-unmeasured",
    type=click.IntRange(0),
    default=0,
    help="Maximum number of trials that may be missing from the run, each left-out case of the suite included.",
)
@click.pass_obj
def baseline_command(project: Path, run: str, allow_unmeasured: int) -> None:
    """Make the stored RUN the baseline of its suite: baselines/SUITE.json, which you commit.

    \b
    harness run drive_thru --run-name good
    harness baseline good
    git add baselines/drive_thru.json

    `harness compare baseline:drive_thru` shows it, and whether it is current.
    """
    from harness.runs.store.baseline import baseline_of, write_baseline
    from harness.suite.loading import load_stored_suite

    folder = RunFolder.open(run_path(project, run))
    suite = load_stored_suite(project, folder.manifest.suite, folder.path)
    baseline = baseline_of(folder, allow_unmeasured, [case.id for case in suite.cases])
    click.echo(write_baseline(project, baseline))


def _show_baseline(project: Path, suite: str, form: str, everything: bool) -> None:
    from harness.reports.render.markdown import summary_markdown
    from harness.reports.render.terminal import SummaryView, first_report
    from harness.reports.summarising import summarise
    from harness.runs.store.baseline import read_baseline
    from harness.scoring.findings.facts import outdated
    from harness.scoring.scorer import build_scorer
    from harness.suite.loading import load_suite

    declared = load_suite(project, suite)
    baseline = read_baseline(project, suite, declared.digest)
    summary = summarise(baseline.manifest, baseline.scorecards)
    older = outdated(baseline.manifest.scorer_versions, build_scorer(declared).versions)
    match form:
        case "json":
            print_json({**summary.model_dump(mode="json"), "outdated": list(older)})
            return
        case "terminal":
            more = f"harness compare baseline:{suite} --all"
            out().print(SummaryView(summary) if everything else first_report(summary, None, more))
        case _:
            click.echo(summary_markdown(summary), nl=False)
    if older:
        click.echo(f"evaluated by other versions, which a run is not compared by: {'; '.join(older)}")
        click.echo("  -> run the suite again, then: harness baseline RUN")
