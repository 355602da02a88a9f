"""`harness compare` and `harness baseline`: what changed between two runs, or since the baseline."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import click

from harness.cli.console import out, print_json
from harness.cli.options import all_option, form_of, json_option, refuse_all
from harness.errors import ExitCode, UsageError
from harness.reports.margin import no_worse_than, refuse_malformed
from harness.reports.migration import migration_of
from harness.reports.named import compare_named
from harness.reports.render.migration import migration_markdown, migration_view
from harness.runs.store.folder import RunFolder, run_path
from harness.suite.loading import load_stored_suite
from harness.suite.suites import prompt_texts

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
@click.option(
    "--migration",
    is_flag=True,
    help="Print a page about a change of the base model: success, rubrics, cost and latency by margin, and the"
    " failure modes"
    " that appeared.",
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
    migration: bool,
) -> None:
    """Show what changed from the run BEFORE (or `baseline:SUITE`) to the run AFTER, paired by case and attempt.

    \b
    harness compare tour-v1 tour-v2
    harness compare tour-v1 tour-v2 --format markdown
    harness compare tour-v1 tour-v2 --no-worse-than task_success=0.05 --no-worse-than cost_usd=10%
    harness compare baseline:drive_thru tour-v2
    harness compare baseline:drive_thru
    harness compare --migration old-model new-model --no-worse-than task_success=0.02

    Runs of different suites, or scored by different versions of a verifier, are not compared: the difference would have
    no meaning. Without AFTER, the baseline itself is shown, and whether it was made by the current suite, verifiers,
    metrics and detectors; the exit status is 3 if there is none, or if the suite has changed.

    Exit status with --no-worse-than or --migration: 0 better or at parity, 1 worse, 3 not determined.
    """
    shown = form_of(ctx, form, as_json)
    refuse_all(ctx, "--migration" if migration else shown)
    if after is None:
        if migration or margins or not before.startswith("baseline:"):
            raise UsageError("name a run to compare with", remedy=f"harness compare {before} RUN")
        _show_baseline(ctx.obj, before.removeprefix("baseline:"), shown, everything)
        return
    if migration:
        ctx.exit(compare_for_migration(ctx.obj, before, after, shown, margins))
    from harness.reports.render.markdown import addresses_of, comment_markdown, comparison_json, comparison_markdown
    from harness.reports.render.sections import margin_lines
    from harness.reports.render.terminal import comparison_view, first_comparison

    project: Path = ctx.obj
    comparison, repetitions = compare_named(project, before, run_path(project, after), margins)
    checks = no_worse_than(comparison, margins, repetitions()) if margins else []
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


# `harness compare --migration`: prints a page about a change of the base model.


def compare_for_migration(project: Path, before: str, after: str, form: str, margins: Sequence[str]) -> ExitCode:
    """Prints the page in a format of `harness compare`; returns the exit status."""
    refuse_malformed(margins)
    if form == "comment":
        raise UsageError("--format comment has no meaning with --migration", remedy="--format markdown prints its page")
    if before.startswith("baseline:"):
        raise UsageError(
            "--migration needs the trials of two runs, but a baseline stores no trials",
            remedy="name the run that the baseline was set from, or run the old model again",
        )
    old, new = RunFolder.open(run_path(project, before)), RunFolder.open(run_path(project, after))
    comparison, repetitions = compare_named(project, before, new.path)
    found = migration_of((old, new), comparison, margins, repetitions(), _prompt_texts(project, new))
    match form:
        case "terminal":
            out().print(migration_view(found))
        case "json":
            print_json(found.model_dump(mode="json"))
        case _:
            click.echo(migration_markdown(found), nl=False)
    return found.exit_code


def _prompt_texts(project: Path, run: RunFolder) -> dict[str, str]:
    """The prompts of the run's agent as it is now; empty for an imported run or a missing suite."""
    try:
        return prompt_texts(load_stored_suite(project, run.manifest.suite, run.path), run.manifest.agent)
    except UsageError:  # the page needs only names of prompts, so an invalid suite is not an error here
        return {}


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
