"""An accepted candidate as a pull request, on a server that answers as GitHub does."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from harness.cli.main import harness
from harness.errors import HarnessError
from tests.drift.issues.github_server import REPO, TOKEN, GithubServer, When, dies_after_doing, says
from tests.improve.prompts.conftest import accepted, tea

PROMPT = "suites/tea/waiter/prompts/waiter.md"
BETTER = "You are a kind waiter.\n"


@pytest.fixture
def github() -> Iterator[GithubServer]:
    with GithubServer() as server:
        yield server


@pytest.fixture
def project(tmp_path: Path, github: GithubServer) -> Path:
    folder = tea(tmp_path)
    github.git.main[PROMPT] = (folder / PROMPT).read_text()
    accepted(folder, BETTER)
    return folder


def opened(project: Path, github: GithubServer, *words: str, token: str = TOKEN) -> Result:
    command = ["--project", str(project), "optimise", "promote", "made", "--pull-request"]
    env = {"GITHUB_TOKEN": token, "GITHUB_API_URL": github.url, "GITHUB_REPOSITORY": REPO}
    return CliRunner().invoke(harness, [*command, *words], env=env)


def refused(result: Result) -> str:
    assert isinstance(result.exception, HarnessError), result.output
    return str(result.exception)


def test_the_change_and_its_evidence_are_one_pull_request_however_often_it_is_promoted(
    project: Path, github: GithubServer
):
    for _ in range(2):
        done = opened(project, github)
        assert 0 == done.exit_code, done.output
        assert f"{github.url}/repos/{REPO}/pull/1" in done.output
    (pull,) = github.git.pulls
    assert ("tea: Improve the prompt of all components", "main") == (pull["title"], pull["base"]["ref"])
    assert re.search("`gepa`.*`made`", pull["body"])
    assert {PROMPT: BETTER} == github.git.files(pull["head"]["ref"])
    assert ["c0"] == github.git.commits[github.git.branches[pull["head"]["ref"]]]["parents"]
    assert BETTER != github.git.main[PROMPT]
    assert not [path for _, _, path in github.requests if "merge" in path]


@pytest.mark.slow
def test_an_opening_that_broke_off_after_the_branch_is_finished_by_the_next(project: Path, github: GithubServer):
    github.faults = [When("POST", "/pulls", says(502, "Bad gateway"))]
    assert "GitHub fails (502)" in refused(opened(project, github))
    assert 0 == opened(project, github).exit_code
    assert 1 == len(github.git.pulls)
    assert 2 == len(github.git.branches)


@pytest.mark.slow
def test_an_answer_that_is_lost_opens_no_second_pull_request(project: Path, github: GithubServer):
    github.faults = [When("POST", "/pulls", dies_after_doing())]
    assert "GitHub does not" in refused(opened(project, github))
    assert 0 == opened(project, github).exit_code
    assert 1 == len(github.git.pulls)


@pytest.mark.slow
def test_other_texts_in_the_repository_are_not_replaced(project: Path, github: GithubServer):
    github.git.main[PROMPT] = "Somebody wrote this.\n"
    assert re.search(f"{PROMPT} .*'main' of {REPO}", refused(opened(project, github)))
    assert {"main"} == github.git.branches.keys()
    assert not github.git.pulls


@pytest.mark.slow
def test_a_project_in_a_folder_of_the_repository_is_named_by_it(project: Path, github: GithubServer):
    github.git.main[f"evals/{PROMPT}"] = github.git.main.pop(PROMPT)
    assert 0 == opened(project, github, "--folder", "evals").exit_code
    assert BETTER == github.git.files(github.git.pulls[0]["head"]["ref"])[f"evals/{PROMPT}"]


@pytest.mark.slow
def test_a_token_that_may_not_is_told_what_it_needs(project: Path, github: GithubServer):
    assert "GITHUB_TOKEN" in refused(opened(project, github, token=""))
    github.faults = [When("POST", "/git/trees", says(403, "Resource not accessible"))]
    assert "pull_requests: write" in refused(opened(project, github))
