"""`harness issue`: files drift in a tracker, and shows the tracker's issues."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypedDict, TypeVar, Unpack

import click

from harness.cli.options import github_request_options

Command = TypeVar("Command", bound=Callable[..., Any])


class RepositoryOptions(TypedDict):
    """The options that select a tracker's repository."""

    repo: str | None
    api_url: str | None


class TrackerValues(RepositoryOptions):
    """The values of `tracker_options`."""

    tracker: str | None
    timeout: int


class ListValues(TrackerValues):
    """The options of `harness issue list` that select and print."""

    as_json: bool


class FileValues(ListValues):
    """The options of `harness issue file`."""

    max_new: int
    min_severity: Literal["breaking", "warning", "info"]
    dry_run: bool


@click.group("issue")
def command() -> None:
    """File drift as issues: one for each tool and severity, updated in later runs, closed when the drift is gone."""


def tracker_options(function: Command) -> Command:
    """Which tracker."""
    for option in reversed(
        (
            click.option(
                "--tracker",
                metavar="NAME",
                help="`folder` (Markdown files in issues/), `github`, or an installed tracker. Default: github if "
                "GITHUB_TOKEN and a repository are set, else folder.",
            ),
            click.option(
                "--repo", metavar="OWNER/NAME", envvar="GITHUB_REPOSITORY", show_envvar=True, help="The repository."
            ),
            github_request_options,
        )
    ):
        function = option(function)
    return function


def file_option(function: Command) -> Command:
    """The option for verbs that check for drift."""
    return click.option(
        "--file", "file_too", is_flag=True, help="File the findings as issues: see `harness issue file`."
    )(tracker_options(function))


@command.command("file")
@click.argument("source", metavar="RUN|FILE")
@tracker_options
@click.option(
    "--max-new",
    type=click.IntRange(0, 1000),
    default=10,
    show_default=True,
    help="Maximum number of new issues; further findings are filed as one summary.",
)
@click.option(
    "--min-severity",
    type=click.Choice(["breaking", "warning", "info"]),
    default="info",
    show_default=True,
    help="Lowest severity that is filed.",
)
@click.option("--dry-run", is_flag=True, help="Print the planned actions with the text of the issues; write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON.")
@click.pass_context
def file_command(ctx: click.Context, /, source: str, **options: Unpack[FileValues]) -> None:
    """File the drift that RUN found (its drift.json, or a FILE).

    \b
    harness issue file nightly
    harness issue file nightly --dry-run
    harness issue file nightly --tracker github --repo acme/agents

    Issues that cannot be filed are kept in issues/outbox and filed the next time. Labels control the updates:
    `drift:mute` stops comments, `drift:accepted` accepts an intended change.

    Exit status: 0 everything was filed, 3 an issue could not be filed.
    """
    from harness.cli.drift.filing import FileOptions, file_drift

    ctx.exit(file_drift(ctx.obj, source, FileOptions(**options)))


@command.command("list")
@tracker_options
@click.option("--all", "with_closed", is_flag=True, help="Include closed issues.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def list_command(project: Path, /, with_closed: bool, **options: Unpack[ListValues]) -> None:
    """List the issues about drift.

    \b
    harness issue list
    harness issue list --all --json
    """
    from harness.cli.drift.filing import FileOptions, list_issues

    list_issues(project, FileOptions(**options), with_closed=with_closed)


@command.command("comment")
@click.argument("number", type=click.IntRange(1))
@click.argument("body", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.option(
    "--repo", metavar="OWNER/NAME", envvar="GITHUB_REPOSITORY", show_envvar=True, required=True, help="The repository."
)
@github_request_options
@click.option(
    "--name", default="report", show_default=True, help="Identifier of the comment: one comment is kept for each name."
)
@click.pass_obj
def comment_command(
    project: Path, /, number: int, body: Path, name: str, timeout: int, **options: Unpack[RepositoryOptions]
) -> None:
    """Post the Markdown file BODY as a comment on the pull request NUMBER; later calls update the same comment.

    \b
    harness compare baseline:drive_thru RUN --format markdown > comment.md
    harness issue comment 12 comment.md --repo acme/agents
    """
    from harness.cli.drift.filing import put_comment
    from harness.issues import TrackerOptions

    click.echo(put_comment(TrackerOptions(project=project, timeout_s=timeout, **options), number, body, name))


@command.command("note")
@click.argument("number", type=click.IntRange(1))
@click.argument("body", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.option(
    "--gitlab-project",
    metavar="NUMBER|PATH",
    envvar="CI_PROJECT_ID",
    show_envvar=True,
    required=True,
    help="The project of GitLab.",
)
@click.option(
    "--gitlab-api",
    metavar="URL",
    envvar="CI_API_V4_URL",
    show_envvar=True,
    default="https://gitlab.com/api/v4",
    show_default=True,
    help="Address of the server's API.",
)
@click.option(
    "--token-env",
    default="HARNESS_GITLAB_TOKEN",
    show_default=True,
    metavar="NAME",
    help="Environment variable that holds an access token with the scope `api`.",
)
@click.option(
    "--name", default="report", show_default=True, help="Identifier of the note: one note is kept for each name."
)
def note_command(number: int, body: Path, gitlab_project: str, gitlab_api: str, token_env: str, name: str) -> None:
    """Post the Markdown file BODY as a note on GitLab's merge request NUMBER; later calls update the same note.

    \b
    harness compare baseline:drive_thru RUN --format comment > comment.md
    harness issue note 12 comment.md --gitlab-project acme/agents

    Exit status: 0 posted, 3 not posted.
    """
    from harness.cli.drift.filing import put_merge_request_note
    from harness.issues import MergeRequest

    merge_request = MergeRequest(api_url=gitlab_api, project=gitlab_project, number=number)
    written = put_merge_request_note(merge_request, token_env, body, name)
    click.echo(f"note {written} of merge request {number} has the report")
