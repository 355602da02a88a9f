"""`harness optimise promote`: the accepted candidate as a patch or a pull request for review."""

from pathlib import Path
from typing import TYPE_CHECKING, TypedDict, Unpack

import click

from harness.cli.options import github_request_options

if TYPE_CHECKING:
    from harness.optimise import Promotion


class PullRequestOptions(TypedDict):
    """The options of the pull request."""

    folder: str
    repo: str | None
    api_url: str | None
    timeout: int


@click.command("promote")
@click.argument("run")
@click.option(
    "--patch",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="File for the patch; default: standard output.",
)
@click.option(
    "--evidence",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Also write the evidence as Markdown, for `harness issue comment`.",
)
@click.option(
    "--pull-request", is_flag=True, help="Open a pull request with the change and the evidence; it is not merged."
)
@click.option(
    "--folder",
    default="",
    metavar="PATH",
    help="With --pull-request: the folder of the project in the repository; default: the root.",
)
@click.option(
    "--repo",
    metavar="OWNER/NAME",
    envvar="GITHUB_REPOSITORY",
    show_envvar=True,
    help="With --pull-request: the repository.",
)
@github_request_options
@click.option("--json", "as_json", is_flag=True, help="Print title, evidence, patch and versions as JSON.")
@click.pass_obj
def command(
    project: Path,
    /,
    run: str,
    patch: Path | None,
    evidence: Path | None,
    as_json: bool,
    pull_request: bool,
    **where: Unpack[PullRequestOptions],
) -> None:
    """Write the candidate that RUN accepted: a version of each changed text in prompts/ with the label `candidate`, and
    a patch of the agent's files for `git apply`, preceded by the evidence.

    \b
    harness optimise promote optimise-grocery-cart-1a2b3c4d --patch cart.patch --evidence cart.md
    git apply cart.patch
    harness issue comment 12 cart.md --repo acme/agents
    harness optimise promote optimise-grocery-cart-1a2b3c4d --pull-request --repo acme/agents

    A pull request needs GITHUB_TOKEN with `contents: write` and `pull_requests: write`. It is opened once, against the
    default branch, and refused if the texts there differ from those that the optimisation started from.
    """
    from harness.case import load_stored_suite
    from harness.cli.output.console import print_json, say
    from harness.documents import write_output
    from harness.optimise import StoredOptimisation, promote
    from harness.results import run_path

    stored = StoredOptimisation(run_path(project, run))
    made = promote(project, load_stored_suite(project, stored.asked.suite, stored.folder), stored)
    say(f"prompts/: {', '.join(made.versions)}, with the label candidate")
    content = f"{made.title}\n\n{made.evidence}\n\n{made.patch}"
    if patch is not None:
        write_output(patch, content.encode())
        say(str(patch))
    if evidence is not None:
        write_output(evidence, f"{made.evidence}\n".encode())
        say(str(evidence))
    if pull_request:
        say(_opened(project, made, **where))
    if as_json:
        print_json(made.model_dump(mode="json"))
    elif patch is None and not pull_request:
        click.echo(content, nl=False)


def _opened(
    project: Path, made: "Promotion", *, repo: str | None, api_url: str | None, timeout: int, folder: str
) -> str:
    import os
    from pathlib import PurePosixPath

    from harness.issues import ProposedChange, ProposedFile, TrackerOptions, github_tracker

    options = TrackerOptions(project=project, repo=repo, api_url=api_url, timeout_s=timeout)
    files = {
        str(PurePosixPath(folder) / path): ProposedFile(before=made.before[path], after=text)
        for path, text in made.files.items()
    }
    change = ProposedChange(
        branch=f"harness/optimise-{made.candidate}", title=made.title, body=made.evidence, files=files
    )
    return github_tracker(options, os.environ).propose(change)
