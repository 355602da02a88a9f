"""`harness notify`: posts the summary of a run to a chat."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from harness.runs.store.folder import run_path

if TYPE_CHECKING:
    from harness.reports.summary import Summary
    from harness.runs.store.folder import RunFolder


_MOST = 10
_FIGURES = ("cost_usd", "tokens", "steps")


@click.command("notify")
@click.argument("run")
@click.option(
    "--webhook-env",
    default="HARNESS_WEBHOOK_URL",
    show_default=True,
    metavar="NAME",
    help="Environment variable that holds the URL of the incoming webhook.",
)
@click.option("--link", metavar="URL", help="A link to include, such as that of the job's artifacts.")
@click.option("--dry-run", is_flag=True, help="Print the message; send nothing.")
@click.pass_obj
def command(project: Path, /, run: str, webhook_env: str, link: str | None, dry_run: bool) -> None:
    """Post the summary of the stored RUN to a Slack-compatible incoming webhook.

    \b
    harness notify nightly
    harness notify nightly --link https://ci.example.com/jobs/7
    harness notify nightly --dry-run

    The message contains success, cost, tokens, latency and steps, the drift that the run found, and the first failed
    trials. Secrets of the suite are replaced, and redirects are not followed. The URL is never printed.

    Exit status: 0 posted, 3 not posted.
    """
    import os

    from harness.cassettes.redaction import Redactor
    from harness.drift.messages import send_message
    from harness.reports.summarising import summarise_run
    from harness.runs.plan.plan import secret_values
    from harness.runs.store.folder import RunFolder
    from harness.suite.loading import load_stored_suite

    folder = RunFolder.open(run_path(project, run))
    suite = load_stored_suite(project, folder.manifest.suite, folder.path)
    redactor = Redactor({**secret_values(suite), webhook_env: os.environ.get(webhook_env, "")})
    text = redactor.text("\n".join(_lines(folder, summarise_run(folder), link)))
    if dry_run:
        click.echo(text)
        return
    click.echo(f"posted the summary of {folder.manifest.run} to {send_message(os.environ, webhook_env, text)}")


def _lines(folder: "RunFolder", summary: "Summary", link: str | None) -> Iterator[str]:
    from harness.drift.messages import escaped, escaped_markup
    from harness.reports.render.wording import printable, success_words

    manifest = summary.manifest
    yield f"*{escaped(manifest.suite)}: {escaped(manifest.agent[:200])}*, run {escaped(manifest.run)}"
    yield f"{escaped(success_words(summary.success))}; {summary.counts.unmeasured} not measured"
    figures = {name: summary.figure(name) for name in _FIGURES}
    known = [f"{name} {one.mean:.4g}" for name, one in figures.items() if one is not None and one.mean is not None]
    if summary.latency is not None and summary.latency.trial is not None:
        known.append(f"latency p50 {summary.latency.trial.p50_ms / 1000:.3g} s")
    if known:
        yield f"per trial: {', '.join(known)}"
    yield from _drift(folder)
    for case in summary.failed[:_MOST]:
        reasons = printable("; ".join(case.reasons), 200)
        yield f"• {escaped(case.case_id)}/{case.attempt}: {escaped(reasons)}"
    if len(summary.failed) > _MOST:
        yield f"• and {len(summary.failed) - _MOST} more"
    if link is not None:
        yield escaped_markup(link)


def _drift(folder: "RunFolder") -> Iterator[str]:
    from collections import Counter

    from harness.runs.store.drift_report import DRIFT, read_drift

    if (folder.path / DRIFT).is_file():
        found = Counter(one.severity for one in read_drift(folder.path).findings)
        said = ", ".join(f"{found[name]} {name}" for name in ("breaking", "warning", "info") if found[name])
        yield f"drift of tools: {said or 'none'}"
