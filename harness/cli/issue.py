"""`harness issue`: files drift in a tracker, and shows the tracker's issues."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypedDict, TypeVar, Unpack

import click

from harness.cli.console import print_json, say
from harness.cli.options import refuse_typed
from harness.drift.filing import (
    Done,
    Filing,
    MergeRequest,
    ReportOutbox,
    TrackerAction,
    file_report,
    plan,
    planned,
    put_note,
)
from harness.drift.issue import IssueTracker, Note, TrackerOptions
from harness.drift.trackers import FOLDER, TOKEN, github_tracker, tracker_named
from harness.errors import ExitCode, UsageError
from harness.runs.store.drift_report import DriftReport, read_drift
from harness.runs.store.folder import run_path

Command = TypeVar("Command", bound=Callable[..., Any])


class TrackerValues(TypedDict):
    """The value of `tracker_option`."""

    tracker: str | None


class ListValues(TrackerValues):
    """The options of `harness issue list` that select and print."""

    as_json: bool


class FileValues(ListValues):
    """The options of `harness issue file`."""

    max_new: int
    dry_run: bool


@click.group("issue")
def command() -> None:
    """File drift as issues: one for each tool and severity, updated in later runs, closed when the drift is gone."""


def tracker_option(function: Command) -> Command:
    """The option for the tracker."""
    return click.option(
        "--tracker",
        metavar="NAME",
        help="`folder` (Markdown files in issues/), `github` (the repository in GITHUB_REPOSITORY), or an installed"
        " tracker. Default: github if GITHUB_TOKEN and GITHUB_REPOSITORY are set, else folder.",
    )(function)


def file_option(function: Command) -> Command:
    """The option for verbs that check for drift."""
    return click.option(
        "--file", "file_too", is_flag=True, help="File the findings as issues: see `harness issue file`."
    )(tracker_option(function))


def refuse_unfiled(ctx: click.Context, *, file_too: bool) -> None:
    """Raises UsageError for a tracker without --file."""
    refuse_typed(ctx, () if file_too else ("tracker",), "no --file")


@command.command("file")
@click.argument("source", metavar="RUN|FILE")
@tracker_option
@click.option(
    "--max-new",
    type=click.IntRange(0, 1000),
    default=10,
    show_default=True,
    help="Maximum number of new issues; further findings are filed as one summary.",
)
@click.option("--dry-run", is_flag=True, help="Print the planned actions with the text of the issues; write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON.")
@click.pass_context
def file_command(ctx: click.Context, /, source: str, **options: Unpack[FileValues]) -> None:
    """File the drift that RUN found (its drift.json, or a FILE).

    \b
    harness issue file nightly
    harness issue file nightly --dry-run
    GITHUB_REPOSITORY=acme/agents harness issue file nightly --tracker github

    Issues that cannot be filed are kept in issues/outbox and filed the next time. The label
    `drift:mute` stops comments.

    Exit status: 0 everything was filed, 3 an issue could not be filed.
    """

    ctx.exit(file_drift(ctx.obj, source, FileOptions(**options)))


@command.command("list")
@tracker_option
@click.option("--all", "with_closed", is_flag=True, help="Include closed issues.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def list_command(project: Path, /, with_closed: bool, **options: Unpack[ListValues]) -> None:
    """List the issues about drift.

    \b
    harness issue list
    harness issue list --all --json
    """

    list_issues(project, FileOptions(**options), with_closed=with_closed)


@command.command("comment")
@click.argument("number", type=click.IntRange(1))
@click.argument("body", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.option(
    "--name", default="report", show_default=True, help="Identifier of the comment: one comment is kept for each name."
)
@click.pass_obj
def comment_command(project: Path, /, number: int, body: Path, name: str) -> None:
    """Post the Markdown file BODY as a comment on the pull request or merge request NUMBER; later calls update it.

    \b
    harness compare baseline:drive_thru RUN --format comment > comment.md
    GITHUB_REPOSITORY=acme/agents harness issue comment 12 comment.md
    CI_PROJECT_ID=acme/agents harness issue comment 12 comment.md

    If CI_PROJECT_ID is set, as in GitLab's pipelines, the comment is a note of the server in CI_API_V4_URL (default:
    gitlab.com), and HARNESS_GITLAB_TOKEN holds an access token with the scope `api`. Otherwise it is a comment on
    GitHub, and GITHUB_TOKEN and GITHUB_REPOSITORY are needed. Exit status: 0 posted, 3 not posted.
    """
    note = _comment(body, name)
    gitlab_project = os.environ.get("CI_PROJECT_ID")
    if not gitlab_project:
        click.echo(
            github_tracker(TrackerOptions.of(project, os.environ), os.environ).comment(number, note, replace=True)
        )
        return
    token = os.environ.get(_GITLAB_TOKEN, "")
    if not token:
        raise UsageError(
            f"{_GITLAB_TOKEN} is not set", remedy="export a GitLab access token with the scope `api` in it"
        )
    url = os.environ.get("CI_API_V4_URL") or "https://gitlab.com/api/v4"
    written = put_note(MergeRequest(api_url=url, project=gitlab_project, number=number), token, note)
    click.echo(f"note {written} of merge request {number} has the report")


# Implements `harness issue`: files reports, prints the actions, and chooses the exit status.

_MOST_COMMENT = 65_000
_GITLAB_TOKEN = "HARNESS_GITLAB_TOKEN"


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """The options of `harness issue file`, before validation."""

    tracker: str | None = None
    max_new: int = 10
    dry_run: bool = False
    as_json: bool = False
    beside: bool = False
    """Whether the actions are printed to standard error, because standard output contains another document."""

    def open(self, project: Path) -> IssueTracker:
        return open_tracker(project, self.tracker)


def open_tracker(project: Path, name: str | None) -> IssueTracker:
    """The tracker with the name; None: the one that the environment selects."""
    return tracker_named(name, TrackerOptions.of(project, os.environ), os.environ)


def file_drift(project: Path, source: str, options: FileOptions) -> ExitCode:
    """Files the drift report of a run or of a drift.json."""
    return file_look(project, read_drift(run_path(project, source)), options)


def file_look(project: Path, report: DriftReport, options: FileOptions) -> ExitCode:
    """Files a drift report, and the reports in the outbox."""
    if options.dry_run and options.tracker == "github" and not os.environ.get(TOKEN):
        say(f"harness: {TOKEN} is not set, so GitHub was not asked which of these issues it has already")
        _print_plan(plan(report, (), most_new=options.max_new), options.as_json)
        return ExitCode.DONE
    tracker = options.open(project)
    if options.dry_run:
        steps = planned(report, tracker, most_new=options.max_new)
        _print_plan(steps, options.as_json)
        return ExitCode.DONE
    filings = file_report(
        report,
        tracker,
        ReportOutbox(project / FOLDER, tracker.name),
        most_new=options.max_new,
    )
    if options.as_json:
        print_json([_filing_json(filing) for filing in filings])
    else:
        for filing in filings:
            _print_filing(filing, tracker.name, err=options.beside)
    failed = [filing for filing in filings if filing.error is not None]
    for filing in failed:
        say(f"harness: {filing.error}\n  the drafts of {filing.report.run} are kept in {filing.kept}")
    return ExitCode.COULD_NOT if failed else ExitCode.DONE


def list_issues(project: Path, options: FileOptions, *, with_closed: bool) -> None:
    """Prints the issues about drift, oldest first."""
    tracker = options.open(project)
    found = [issue for issue in tracker.find() if issue.is_open or with_closed]
    if options.as_json:
        print_json([issue.model_dump(mode="json", exclude={"body"}) for issue in found])
        return
    for issue in found:
        labels = ", ".join(label for label in issue.labels if label != "harness-drift")
        click.echo(f"{issue.number:>5}  {'open' if issue.is_open else 'closed':6}  {issue.title}  ({labels})")
        click.echo(f"       {issue.url}")
    if not found:
        click.echo(f"no {'' if with_closed else 'open '}issue about drift in the tracker `{tracker.name}`")


def _comment(body: Path, name: str) -> Note:
    text = body.read_text(encoding="utf-8", errors="replace")
    if not text.strip():
        raise UsageError(f"{body} is empty", remedy="a comment needs text")
    if len(text) > _MOST_COMMENT:
        text = text[:_MOST_COMMENT] + "\n\n… truncated: the artifacts contain the complete report."
    return Note(id=f"comment-{name}", text=text)


def _print_plan(steps: Sequence[TrackerAction], as_json: bool) -> None:
    if as_json:
        print_json([_step_json(step) for step in steps])
        return
    for step in steps:
        click.echo(f"would {_step_text(step)}")
    for step in steps:
        if step.draft is not None:
            click.echo(f"\n{'=' * 80}\n{step.draft.title}\n[{', '.join(step.draft.labels)}]\n\n{step.draft.body}")
        if step.note is not None:
            click.echo(f"--- comment ---\n{step.note.comment}")
    if not steps:
        click.echo("nothing to file, and no open issue to update")


def _print_filing(filing: Filing, tracker: str, *, err: bool) -> None:
    counts = {verb: sum(one.step.verb == verb and one.error is None for one in filing.done) for verb in _PAST}
    said = ", ".join(f"{count} {_PAST[verb]}" for verb, count in counts.items() if count)
    click.echo(f"{filing.report.run}: {said or 'nothing to file'} (tracker {tracker})", err=err)
    for one in filing.done:
        where = "" if one.issue is None else f"  {one.issue.url}"
        click.echo(f"  {_step_text(one.step)}{where}{'' if one.error is None else '  FAILED: ' + one.error}", err=err)


_PAST = {"file": "filed", "update": "updated", "reopen": "reopened", "close": "closed", "leave": "left unchanged"}


def _step_text(step: TrackerAction) -> str:
    subject = step.tool or "a summary of tools"
    return f"{step.verb} {subject} ({step.about}): {step.why}"


def _filing_json(filing: Filing) -> dict[str, object]:
    return {
        "run": filing.report.run,
        "suite": filing.report.suite,
        "error": filing.error,
        "kept": filing.kept,
        "done": [_done_json(one) for one in filing.done],
    }


def _done_json(one: Done) -> dict[str, object]:
    issue = {} if one.issue is None else {"number": one.issue.number, "url": one.issue.url}
    return {**_step_json(one.step), **issue, "error": one.error}


def _step_json(step: TrackerAction) -> dict[str, object]:
    draft = {} if step.draft is None else step.draft.model_dump(mode="json", include={"title", "body", "fingerprints"})
    comment = None if step.note is None else step.note.text
    return {"verb": step.verb, "tool": step.tool, "about": step.about, "why": step.why, **draft, "comment": comment}
