"""Implements `harness issue`: files reports, prints the actions, and chooses the exit status."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import click

from harness.cli.output.console import print_json, say
from harness.errors import ExitCode, UsageError
from harness.issues import (
    Done,
    Filing,
    IssueTracker,
    MergeRequest,
    Note,
    ReportOutbox,
    TrackerAction,
    TrackerOptions,
    file_report,
    github_tracker,
    planned,
    put_note,
    tracker_named,
)
from harness.issues.folder import FOLDER
from harness.results import DriftReport, Severity, read_drift, run_path

_MOST_COMMENT = 65_000


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """The options of `harness issue file`, before validation."""

    tracker: str | None = None
    repo: str | None = None
    api_url: str | None = None
    timeout: int = 30
    max_new: int = 10
    min_severity: Severity = "info"
    dry_run: bool = False
    as_json: bool = False
    beside: bool = False
    """Whether the actions are printed to standard error, because standard output contains another document."""

    def open(self, project: Path) -> IssueTracker:
        options = TrackerOptions(project=project, repo=self.repo, api_url=self.api_url, timeout_s=self.timeout)
        return tracker_named(self.tracker, options, os.environ)


def file_drift(project: Path, source: str, options: FileOptions) -> ExitCode:
    """Files the drift report of a run or of a drift.json."""
    return file_look(project, read_drift(run_path(project, source)), options)


def file_look(project: Path, report: DriftReport, options: FileOptions) -> ExitCode:
    """Files a drift report, and the reports in the outbox."""
    tracker = options.open(project)
    if options.dry_run:
        steps = planned(report, tracker, most_new=options.max_new, least=options.min_severity)
        _print_plan(steps, options.as_json)
        return ExitCode.DONE
    filings = file_report(
        report,
        tracker,
        ReportOutbox(project / FOLDER, tracker.name),
        most_new=options.max_new,
        least=options.min_severity,
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


def put_comment(options: TrackerOptions, number: int, body: Path, name: str) -> str:
    """One comment on a pull request, updated the next time; gives its address."""
    tracker = github_tracker(options, os.environ)
    return tracker.comment(number, _comment(body, name), replace=True)


def put_merge_request_note(merge_request: MergeRequest, token_env: str, body: Path, name: str) -> int:
    """One note on a merge request, updated the next time; gives its number."""
    token = os.environ.get(token_env, "")
    if not token:
        raise UsageError(f"{token_env} is not set", remedy="export a GitLab access token with the scope `api` in it")
    return put_note(merge_request, token, _comment(body, name))


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
        click.echo(f"would {_words(step)}")
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
        click.echo(f"  {_words(one.step)}{where}{'' if one.error is None else '  FAILED: ' + one.error}", err=err)


_PAST = {"file": "filed", "update": "updated", "reopen": "reopened", "close": "closed", "leave": "left unchanged"}


def _words(step: TrackerAction) -> str:
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
