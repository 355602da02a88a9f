"""`harness issue` as it is typed: real processes, real files, a real server."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner

from harness.cli.main import harness as command_line
from harness.errors import HarnessError
from harness.runs.store.drift_report import DriftReport, write_drift
from tests.drift.issues.conftest import finding, look
from tests.drift.issues.github_server import REPO, TOKEN, GithubServer, When, says, sends

HARNESS = str(Path(sys.executable).parent / "harness")
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("GITHUB_")}


def night(project: Path, name: str, report: DriftReport) -> Path:
    folder = project / "runs" / name
    folder.mkdir(parents=True)
    return write_drift(folder, report)


@dataclass
class Ended:
    """How the command ended, as its process would have."""

    returncode: int
    stdout: str
    stderr: str


def harness(project: Path, *arguments: str, **environment: str) -> Ended:
    """In this process: a new one for each command takes a second, mostly to import."""
    unset = {name: None for name in os.environ if name.startswith(("GITHUB_", "CI_"))}
    done = CliRunner().invoke(
        command_line, ["--project", str(project), "issue", *arguments], env={**unset, **environment}
    )
    if done.exception is None or isinstance(done.exception, SystemExit):
        return Ended(done.exit_code, done.stdout, done.stderr)
    if not isinstance(done.exception, HarnessError):
        raise done.exception
    return Ended(int(done.exception.exit_code), done.stdout, str(done.exception))


def test_a_run_is_filed_into_the_folder_listed_and_printed_beforehand(tmp_path: Path) -> None:
    night(tmp_path, "nightly", look(finding()))
    dry = harness(tmp_path, "file", "nightly", "--dry-run")
    assert (0, "") == (dry.returncode, dry.stderr)
    assert dry.stdout.startswith("would file get_order (breaking): 1 change\n")
    assert not list(tmp_path.glob("issues/*.md"))
    at_github = harness(tmp_path, "file", "nightly", "--dry-run", "--tracker", "github")
    assert (0, dry.stdout, "GITHUB_TOKEN is not set") == (0, at_github.stdout, at_github.stderr[9:32])
    done = harness(tmp_path, "file", "nightly")
    assert (0, "") == (done.returncode, done.stderr)
    assert "nightly" not in done.stdout.splitlines()[0]
    listed = harness(tmp_path, "list", "--json")
    assert ["[drift] drive_thru: get_order answers differently (breaking)"] == [
        issue["title"] for issue in json.loads(listed.stdout)
    ]


def test_two_runs_at_once_file_one_issue(tmp_path: Path) -> None:
    night(tmp_path, "one", look(finding("a"), finding("b"), run="one"))
    night(tmp_path, "two", look(finding("a"), finding("b"), run="two", nights=0.001))
    running = [
        subprocess.Popen([HARNESS, "--project", str(tmp_path), "issue", "file", name], env=ENVIRONMENT)
        for name in ("one", "two")
    ]
    assert [0, 0] == [process.wait(timeout=120) for process in running]
    assert 2 == len(list(tmp_path.glob("issues/0*.md")))


def test_where_github_fails_the_drafts_are_kept_and_the_token_is_nowhere(github: GithubServer, tmp_path: Path) -> None:
    drift = night(tmp_path, "nightly", look(finding()))
    github.faults = [When("GET", "/issues", says(401, "Bad credentials"))]
    where = {"GITHUB_TOKEN": TOKEN, "GITHUB_API_URL": github.url, "GITHUB_REPOSITORY": REPO}
    failed = harness(tmp_path, "file", str(drift), **where)
    assert 3 == failed.returncode
    assert "(401)" in failed.stderr
    written = [path.read_text() for path in tmp_path.rglob("*") if path.is_file()]
    assert not [text for text in (failed.stdout, failed.stderr, *written) if TOKEN in text]
    assert 1 == len(list(tmp_path.glob("issues/outbox/github/*/get_order-breaking.md")))
    elsewhere = harness(tmp_path, "file", str(drift), "--tracker", "folder")
    assert (0, 1) == (elsewhere.returncode, len(list(tmp_path.glob("issues/outbox/github/*"))))
    assert 0 == harness(tmp_path, "file", str(drift), **where).returncode
    assert 1 == len(github.issues)
    assert [] == list(tmp_path.glob("issues/outbox/github/*"))


def test_a_list_that_is_a_redirect_is_an_error_and_not_an_empty_list(github: GithubServer, tmp_path: Path) -> None:
    where = {"GITHUB_TOKEN": TOKEN, "GITHUB_API_URL": github.url, "GITHUB_REPOSITORY": REPO}
    assert 0 == harness(tmp_path, "list", **where).returncode
    for status in (302, 307, 308):
        github.faults = [When("GET", "/issues", sends(status, "", {"Location": "/login"}), times=9)]
        listed = harness(tmp_path, "list", **where)
        assert (3, "") == (listed.returncode, listed.stdout)
        assert f"GET /repos/{REPO}/issues with a redirect ({status}" in listed.stderr
        assert "to '/login'" in listed.stderr


def test_what_is_missing_is_said(tmp_path: Path) -> None:
    night(tmp_path, "nightly", look(finding()))
    (tmp_path / "runs" / "undrifted").mkdir()
    for arguments, environment, said in (
        (["file", "nightli"], {}, "did you mean 'nightly'"),
        (["file", "undrifted"], {}, "drift.json"),
        (["file", "nightly", "--tracker", "github"], {}, "GITHUB_TOKEN"),
        (["file", "nightly", "--tracker", "github"], {"GITHUB_TOKEN": TOKEN}, "GITHUB_REPOSITORY=owner/name"),
        (["file", "nightly", "--tracker", "jira"], {}, "there is no tracker named 'jira'"),
        (
            ["list"],
            {"GITHUB_TOKEN": TOKEN, "GITHUB_API_URL": "http://192.0.2.1", "GITHUB_REPOSITORY": REPO},
            "in the clear",
        ),
    ):
        found = harness(tmp_path, *arguments, **environment)
        assert 2 == found.returncode
        assert said in found.stderr


def test_a_third_tracker_joins_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "ours.py").write_text(
        "from harness.drift.trackers import FolderTracker\n\n\nclass Ours(FolderTracker):\n    name = 'ours'\n"
    )
    night(tmp_path, "nightly", look(finding()))
    done = harness(tmp_path, "file", "nightly", "--tracker", "ours:Ours")
    assert "(tracker ours)" in done.stdout


def test_the_comment_of_a_pull_request_is_put_there_once(github: GithubServer, tmp_path: Path) -> None:
    github.route("POST", f"/repos/{REPO}/issues", {"title": "a pull request"})
    body = tmp_path / "comment.md"
    for text in ("first", "second"):
        body.write_text(text)
        where = {"GITHUB_TOKEN": TOKEN, "GITHUB_API_URL": github.url, "GITHUB_REPOSITORY": REPO}
        done = harness(tmp_path, "comment", "1", str(body), **where)
        assert (0, f"{github.url}/c/1\n") == (done.returncode, done.stdout)
    assert ["second"] == [one["body"].split("\n")[0] for one in github.comments[1]]
