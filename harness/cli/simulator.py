"""`harness simulator`: what the simulated users of a run did, and a user's model that follows rules."""

import time
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.results import run_path

if TYPE_CHECKING:
    from harness.report import UserSummary


@click.group("simulator")
def command() -> None:
    """Simulated users: their report, and a double of their model.

    \b
    harness simulator report RUN
    harness simulator rule-user --port 8123
    """


@command.command("report")
@click.argument("run")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON.")
@click.pass_obj
def report(project: Path, run: str, as_json: bool) -> None:
    """Show how the conversations of RUN ended, which its simulated users invalidated, and what that did to the score.

    \b
    harness simulator report grocery-v2
    harness simulator report grocery-v2 --json
    """
    from harness.cli.console import print_json
    from harness.report import summarise_users
    from harness.results import RunFolder

    folder = RunFolder.open(run_path(project, run))
    summary = summarise_users((stored.trial for stored in folder.trials()), folder.scorecards())
    if as_json:
        print_json(summary.model_dump(mode="json"))
        return
    for line in _lines(summary):
        click.echo(line)


@command.command("rule-user")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=0,
    show_default="a free one",
    help="Port of the model, on this machine alone.",
)
@click.option("--latency-ms", type=click.FloatRange(0), default=0.0, show_default=True, help="How long it thinks.")
def rule_user(port: int, latency_ms: float) -> None:
    """Serve a user's model that follows the plan of its request by rules, until Ctrl-C; its base URL is printed first.

    \b
    harness simulator rule-user --port 8123

    It is for trying out scenarios and pipelines without a model: what it says is never a measure of quality.
    """
    from harness.simulate import RuleUser

    with RuleUser(port=port, latency_s=latency_ms / 1000) as model:
        click.echo(model.url)
        while True:
            time.sleep(3600)


def _lines(summary: "UserSummary") -> list[str]:
    ended = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in summary.ended.items())
    lines = [f"{summary.conversations} conversations with simulated users: {ended or 'none'}"]
    lines.append(
        f"success: {_percent(summary.success)} without invalid conversations, "
        f"{_percent(summary.success_with_invalid)} with them counted as failures"
    )
    if summary.replayed is not None:
        lines.append(f"replayed from logs: {_percent(summary.replayed)} of the user's messages")
    if summary.input_tokens or summary.output_tokens:
        cost = "cost unknown" if summary.cost_usd is None else f"{summary.cost_usd:.4f} USD"
        lines.append(f"the users' model: {summary.input_tokens} + {summary.output_tokens} tokens, {cost}")
    for group in summary.groups:
        within = "" if group.interval is None else f" [{_percent(group.interval.low)}, {_percent(group.interval.high)}]"
        share = f"{group.invalid} of {group.conversations} invalid, {_percent(group.rate)}{within}"
        lines.append(f"{group.by} {group.name}: {share}")
    lines += [
        f"invalid: {one.case_id}/{one.attempt} turn {one.turn}, {one.fault}: {one.reason}" for one in summary.invalid
    ]
    lines += [f"counted as failed: {one}" for one in summary.steered]
    lines += [
        f"diverged: {one.case_id}/{one.attempt} at turn {one.turn} by {one.kind}, {one.replayed} replayed: {one.reason}"
        for one in summary.diverged
    ]
    return lines


def _percent(share: float | None) -> str:
    return "unknown" if share is None else f"{100 * share:.1f} %"
