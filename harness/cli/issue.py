"""`harness issue`: files drift in a tracker, and shows the tracker's issues."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])


@click.group("issue")
def command() -> None:
    """File drift as issues: one a tool and severity, updated rather than doubled, closed when it is gone."""


def tracker_options(function: Command) -> Command:
    """Which tracker."""
    for option in reversed(
        (
            click.option(
                "--tracker",
                metavar="NAME",
                help="`folder` (Markdown files in issues/), `github`, or an installed one. Default: github where "
                "GITHUB_TOKEN and a repository are there, else folder.",
            ),
            click.option(
                "--repo", metavar="OWNER/NAME", envvar="GITHUB_REPOSITORY", show_envvar=True, help="The repository."
            ),
            click.option(
                "--api-url",
                metavar="URL",
                envvar="GITHUB_API_URL",
                show_envvar=True,
                help="GitHub's API, else its own.",
            ),
            click.option(
                "--timeout", type=click.IntRange(1, 600), default=30, show_default=True, help="Seconds for one request."
            ),
        )
    ):
        function = option(function)
    return function


def file_option(function: Command) -> Command:
    """The option for verbs that check for drift."""
    return click.option("--file", "file_too", is_flag=True, help="File what was found: see `harness issue file`.")(
        tracker_options(function)
    )


@command.command("file")
@click.argument("source", metavar="RUN|FILE")
@tracker_options
@click.option(
    "--max-new", type=click.IntRange(0, 1000), default=10, show_default=True, help="New issues; the rest: one summary."
)
@click.option(
    "--min-severity",
    type=click.Choice(["breaking", "warning", "info"]),
    default="info",
    show_default=True,
    help="What is less severe is not filed.",
)
@click.option("--dry-run", is_flag=True, help="Print what would be done, with the issues' text; write nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print what was done as JSON.")
@click.pass_context
def file_command(ctx: click.Context, /, source: str, **options: Any) -> None:
    """File the drift that RUN found (its drift.json, or a FILE).

    \b
    harness issue file nightly
    harness issue file nightly --dry-run
    harness issue file nightly --tracker github --repo acme/agents

    What cannot be filed is kept in issues/outbox and filed the next time. People steer with labels: `drift:mute` for no
    more comments, `drift:accepted` for a change that is meant.

    Exit status: 0 everything stands in the tracker, 3 something could not be filed.
    """
    from harness.cli.filing import FileOptions, file_drift

    ctx.exit(file_drift(ctx.obj, source, FileOptions(**options)))


@command.command("list")
@tracker_options
@click.option("--all", "with_closed", is_flag=True, help="Closed ones too.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_obj
def list_command(project: Path, /, with_closed: bool, **options: Any) -> None:
    """List the issues about drift.

    \b
    harness issue list
    harness issue list --all --json
    """
    from harness.cli.filing import FileOptions, list_issues

    list_issues(project, FileOptions(**options), with_closed=with_closed)


@command.command("comment")
@click.argument("number", type=click.IntRange(1))
@click.argument("body", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@click.option(
    "--repo", metavar="OWNER/NAME", envvar="GITHUB_REPOSITORY", show_envvar=True, required=True, help="The repository."
)
@click.option("--api-url", metavar="URL", envvar="GITHUB_API_URL", show_envvar=True, help="GitHub's API, else its own.")
@click.option("--timeout", type=click.IntRange(1, 600), default=30, show_default=True, help="Seconds for one request.")
@click.option("--name", default="report", show_default=True, help="One comment is kept for each name.")
@click.pass_obj
def comment_command(project: Path, /, number: int, body: Path, name: str, timeout: int, **options: Any) -> None:
    """Put the Markdown file BODY on the pull request NUMBER as one comment, which the next time is updated.

    \b
    harness compare baseline:drive_thru RUN --format markdown > comment.md
    harness issue comment 12 comment.md --repo acme/agents
    """
    from harness.cli.filing import put_comment
    from harness.issues import TrackerOptions

    click.echo(put_comment(TrackerOptions(project=project, timeout_s=timeout, **options), number, body, name))
