"""A change of files proposed as a pull request on GitHub: a branch with one commit, opened once, and never merged."""

from collections.abc import Mapping
from functools import partial

from github import InputGitTreeElement
from github.PullRequest import PullRequest
from github.Repository import Repository

from harness.errors import TrackerError
from harness.issues.retrying import RetryingClient
from harness.values import Frozen

PERMISSION = "contents: write and pull_requests: write"
_FILE = "100644"


class ProposedFile(Frozen):
    """One existing file."""

    before: str
    after: str


class ProposedChange(Frozen):
    """The content of a pull request."""

    branch: str
    """Derived from the change, so that proposing it twice opens one pull request."""
    title: str
    body: str
    files: Mapping[str, ProposedFile]
    """Path in the repository -> the complete text."""


def propose(repo: Repository, client: RetryingClient, change: ProposedChange) -> str:
    """Opens a pull request against the default branch, unless it exists, and returns its address.

    Raises TrackerError where a file on that branch differs from the start of the change.
    """
    found = client.read(lambda: _opened(repo, change.branch))
    if found is not None:
        return found.html_url
    base = client.read(lambda: repo.default_branch)
    _check(repo, client, change, base)
    if not client.read(lambda: list(repo.get_git_matching_refs(f"heads/{change.branch}"))):
        _push(repo, client, change, base)
    made = client.write(lambda: repo.create_pull(base=base, head=change.branch, title=change.title, body=change.body))
    return made.html_url


def _opened(repo: Repository, branch: str) -> PullRequest | None:
    owner = repo.full_name.partition("/")[0]
    listed = repo.get_pulls(state="open", head=f"{owner}:{branch}")
    return next((one for one in listed if one.head.ref == branch), None)


def _check(repo: Repository, client: RetryingClient, change: ProposedChange, base: str) -> None:
    for path, file in change.files.items():
        there = client.read(partial(_content, repo, path, base))
        if there != file.before.encode():
            raise TrackerError(
                f"{path} is another one on the branch {base!r} of {repo.full_name} than the change begins from",
                remedy="push what is in use, or optimise what is there: the evidence is about these texts alone",
            )


def _content(repo: Repository, path: str, branch: str) -> bytes | None:
    """The file's text; None: the path is a folder."""
    found = repo.get_contents(path, ref=branch)
    return None if isinstance(found, list) else found.decoded_content


def _push(repo: Repository, client: RetryingClient, change: ProposedChange, base: str) -> None:
    """Creates the branch with one commit. Objects without a branch are invisible, so that an attempt may fail at any
    point.
    """
    head = client.read(lambda: repo.get_branch(base).commit.sha)
    parent = client.read(lambda: repo.get_git_commit(head))
    elements = [InputGitTreeElement(path, _FILE, "blob", content=file.after) for path, file in change.files.items()]
    tree = client.write(lambda: repo.create_git_tree(elements, parent.tree))
    commit = client.write(lambda: repo.create_git_commit(change.title, tree, [parent]))
    client.write(lambda: repo.create_git_ref(f"refs/heads/{change.branch}", commit.sha))
