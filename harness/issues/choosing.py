"""Selects the tracker: by name, or the one whose requirements are met."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, cast

from harness.distribution import extra_remedy
from harness.errors import UsageError
from harness.issues.folder import FolderTracker
from harness.issues.tracker import IssueTracker, TrackerOptions
from harness.plugins import find_object

if TYPE_CHECKING:
    from harness.issues.github import GithubTracker

TOKEN = "GITHUB_TOKEN"


def tracker_named(name: str | None, options: TrackerOptions, environment: Mapping[str, str]) -> IssueTracker:
    """Opens the tracker `name`; None: `github` where a token and a repository are set, else `folder`.

    Other names are entry points in the group `harness.tracker`, or `module:Name`: a class, or a function, that takes
    TrackerOptions. Raises UsageError where something is missing.
    """
    chosen = name or ("github" if environment.get(TOKEN) and options.repo else "folder")
    match chosen:
        case "folder":
            return FolderTracker(options)
        case "github":
            return _github(options, environment.get(TOKEN, ""))
        case _:
            found = find_object("tracker", chosen, {"folder": FolderTracker, "github": _github})
            if not callable(found):
                raise UsageError(f"tracker {chosen!r} is not a class")
            return cast(Callable[[TrackerOptions], IssueTracker], found)(options)


def github_tracker(options: TrackerOptions, environment: Mapping[str, str]) -> "GithubTracker":
    """The GitHub tracker, for operations that only it supports."""
    return _github(options, environment.get(TOKEN, ""))


def _github(options: TrackerOptions, token: str) -> "GithubTracker":
    if not token:
        raise UsageError(f"the tracker `github` needs a token in {TOKEN}", remedy="or use --tracker folder")
    if options.repo is None:
        raise UsageError("the tracker `github` needs a repository", remedy="--repo owner/name, or --tracker folder")
    try:
        from harness.issues.github import GithubTracker
    except ModuleNotFoundError as error:
        raise UsageError(
            f"the tracker `github` needs a package that is not installed: {error.name}",
            remedy=f"{extra_remedy('github')}, or use --tracker folder",
        ) from None
    return GithubTracker(options, token)
