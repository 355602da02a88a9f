"""`harness simulator`: reports on simulated users."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.runs.store.folder import run_path

if TYPE_CHECKING:
    from harness.reports.simulated import UserSummary


_RUBRIC = "user_simulator"


@click.group("simulator")
def command() -> None:
    """Report on simulated users.

    \b
    harness simulator report RUN
    """


@command.command("report")
@click.argument("run")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.pass_obj
def report(project: Path, run: str, as_json: bool) -> None:
    """Show how the conversations of RUN ended, which ones its simulated users made invalid, and the effect on the
    score.

    \b
    harness simulator report grocery-v2
    harness simulator report grocery-v2 --json

    What a judge found by `harness judge run RUN --rubric user_simulator` is shown with it, and for which criteria the
    judge is certified.
    """
    from harness.cli.console import print_json
    from harness.reports.judged import judged_rubric
    from harness.reports.simulated import summarise_users
    from harness.runs.store.folder import RunFolder
    from harness.runs.store.judgements import read_judgements

    folder = RunFolder.open(run_path(project, run))
    judgements, score = read_judgements(folder.path, _RUBRIC), judged_rubric(folder.path, _RUBRIC)
    lacking = {} if score is None else {one.criterion: one.uncertified for one in score.criteria if one.uncertified}
    trials = (stored.trial for stored in folder.trials())
    summary = summarise_users(trials, folder.scorecards(), judgements, lacking)
    if as_json:
        print_json(summary.model_dump(mode="json"))
        return
    for line in lines_of(summary):
        click.echo(line)


def lines_of(summary: "UserSummary") -> list[str]:
    """The report as text."""
    from harness.reports.render.wording import UNJUDGED_USERS

    ended = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in summary.ended.items())
    if not summary.conversations:
        return ["no conversation had a simulated user: --user model or --user logged gives it one"]
    lines = [f"{summary.conversations} conversations with simulated users: {ended}"]
    lines.append(
        f"success: {_percent(summary.success)} without invalid conversations, "
        f"{_percent(summary.success_with_invalid)} with them counted as failures"
    )
    if summary.replayed is not None:
        asked = f", {summary.entailed} of them by the model of `entailment:`" if summary.entailed else ""
        lines.append(f"replayed from logs: {_percent(summary.replayed)} of the user's messages{asked}")
    if summary.input_tokens or summary.output_tokens:
        cost = "cost unknown" if summary.cost_usd is None else f"{summary.cost_usd:.4f} USD"
        lines.append(f"the users' model: {summary.input_tokens} + {summary.output_tokens} tokens, {cost}")
    for group in summary.groups:
        within = "" if group.interval is None else f" [{_percent(group.interval.low)}, {_percent(group.interval.high)}]"
        share = f"{group.invalid} of {group.conversations} invalid, {_percent(group.rate)}{within}"
        lines.append(f"{group.by} {group.name}: {share}")
    lines += [
        f"invalid: {one.case_id}/{one.attempt} turn {one.turn}, {one.kind}: {one.reason}" for one in summary.invalid
    ]
    lines += [f"counted as failed: {one}" for one in summary.steered]
    if summary.generated and not summary.is_judged:
        lines.append(UNJUDGED_USERS)
    if summary.is_judged:
        missing = f", which gave no answer to {summary.unanswered} questions" if summary.unanswered else ""
        lacking = "" if summary.uncertified else ", is certified for all criteria"
        lines.append(f"judge: {summary.judge}{missing}{lacking}")
    for reason in dict.fromkeys(summary.uncertified.values()):
        names = ", ".join(name for name, own in summary.uncertified.items() if own == reason)
        lines.append(f"what it finds by {names} is shown and proves nothing, {reason}")
    lines += [
        f"judged by {summary.judge}: {one.case_id}/{one.attempt} {one.kind}: {one.reason[:200]}"
        for one in summary.judged
    ]
    if summary.judged:
        lines.append(f"success without what a judge doubts: {_percent(summary.success_without_judged)}")
    lines += [
        f"diverged: {one.case_id}/{one.attempt} at turn {one.turn} by {one.kind}: {one.reason}"
        for one in summary.diverged
    ]
    return lines


def _percent(share: float | None) -> str:
    return "unknown" if share is None else f"{100 * share:.1f} %"
