"""Both trackers do what trackers must do, and the checks find one that does not."""

from collections.abc import Callable
from pathlib import Path

import pytest

from harness.issues import IssueTracker, TrackerOptions
from harness.issues.conformance import CHECKS, Make, run_conformance
from harness.issues.folder import FolderTracker
from harness.issues.github import GithubTracker
from tests.issues.github_server import REPO, TOKEN, GithubServer
from tests.issues.test_github import QUICK


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("kind", ["folder", "github"])
def test_trackers_keep_the_promise(
    check: Callable[[Make], None], kind: str, github: GithubServer, tmp_path: Path
) -> None:
    def make() -> IssueTracker:
        options = TrackerOptions(project=tmp_path, repo=REPO, api_url=github.url)
        return FolderTracker(options) if kind == "folder" else GithubTracker(options, TOKEN, QUICK)

    check(make)


class Forgetful(FolderTracker):
    """Files whatever it is told, and never closes."""

    def find(self) -> list:
        return [one.model_copy(update={"is_open": True, "labels": ()}) for one in super().find()]


def test_the_checks_find_what_is_wrong(tmp_path: Path) -> None:
    places = [TrackerOptions(project=tmp_path / str(number)) for number in range(len(CHECKS))]
    found = run_conformance([lambda place=place: Forgetful(place) for place in places])
    wrong = {name for name, what in found.items() if what is not None}
    assert {
        "a_filed_issue_is_found",
        "an_issue_is_closed_and_opened_again",
        "a_duplicate_is_closed_and_not_declined",
        "the_same_look_has_nothing_more_to_do",
    } == wrong
