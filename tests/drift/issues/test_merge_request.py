"""`harness issue comment` in a pipeline of GitLab: one note on a merge request of GitLab."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from harness.cli.main import harness
from harness.errors import TrackerError, TrackerUnavailable, UsageError
from tests.drift.issues.gitlab_server import TOKEN, GitlabServer, gitlab_server


@pytest.fixture
def gitlab() -> Iterator[GitlabServer]:
    with gitlab_server() as server:
        yield server


@pytest.fixture
def report(tmp_path: Path) -> Path:
    file = tmp_path / "comment.md"
    file.write_text("success: 3 of 4\n")
    return file


def noted(report: Path, environment: dict[str, str], *options: str, number: int = 7) -> Result:
    return CliRunner().invoke(harness, ["issue", "comment", str(number), str(report), *options], env=environment)


def test_one_note_is_written_and_replaced_later(gitlab: GitlabServer, report: Path) -> None:
    for _ in range(120):  # more than one page
        gitlab.add("looks good", author=5)
    first = noted(report, gitlab.environment())
    again = noted(report, gitlab.environment())
    report.write_text("success: 4 of 4\n")
    third = noted(report, gitlab.environment())

    assert ["note 220 of merge request 7 has the report\n"] * 3 == [one.output for one in (first, again, third)]
    assert ["POST", "PUT"] == gitlab.writes  # an unchanged report is not written again
    assert gitlab.notes[-1]["body"].startswith("success: 4 of 4")


def test_each_name_has_a_note_of_its_own(gitlab: GitlabServer, report: Path) -> None:
    for name in ("smoke", "full"):
        noted(report, gitlab.environment(), "--name", name)
    assert ["POST", "POST"] == gitlab.writes


def test_a_note_of_somebody_else_with_the_same_mark_is_left_alone(gitlab: GitlabServer, report: Path) -> None:
    noted(report, gitlab.environment())
    forged = gitlab.notes[0]
    forged["author"] = {"id": 5}
    report.write_text("changed\n")
    noted(report, gitlab.environment())
    assert forged["body"].startswith("success")
    assert ["POST", "POST"] == gitlab.writes


@pytest.mark.parametrize(("status", "remedy"), [(401, "expired"), (403, "scope `api`"), (302, None), (500, None)])
def test_a_refusal_is_named_without_the_token(
    gitlab: GitlabServer, report: Path, status: int, remedy: str | None
) -> None:
    gitlab.status = status
    done = noted(report, gitlab.environment())
    assert isinstance(done.exception, TrackerUnavailable)
    assert f"HTTP {status}" in str(done.exception)
    assert TOKEN not in str(done.exception)
    assert remedy is None or remedy in (done.exception.remedy or "")


def test_a_merge_request_that_is_not_there_is_named(gitlab: GitlabServer, report: Path) -> None:
    done = noted(report, gitlab.environment(), number=8)
    assert isinstance(done.exception, TrackerUnavailable)
    assert done.exception.remedy


@pytest.mark.parametrize("api", ["https://me:secret@gitlab.example.com/api/v4", "file:///etc", "gitlab.example.com"])
def test_an_address_that_is_none_is_refused(gitlab: GitlabServer, report: Path, api: str) -> None:
    done = noted(report, {**gitlab.environment(), "CI_API_V4_URL": api})
    assert isinstance(done.exception, UsageError)
    assert "secret" not in str(done.exception)


def test_a_missing_token_and_an_empty_report_are_named(gitlab: GitlabServer, report: Path) -> None:
    without = noted(report, {**gitlab.environment(), "HARNESS_GITLAB_TOKEN": ""})
    assert str(without.exception).startswith("HARNESS_GITLAB_TOKEN is not set")
    report.write_text("\n")
    assert "is empty" in str(noted(report, gitlab.environment()).exception)


def test_a_server_that_is_no_gitlab_is_named(gitlab: GitlabServer, report: Path) -> None:
    gitlab.status = 200  # every answer is an object
    done = noted(report, gitlab.environment())
    assert isinstance(done.exception, TrackerError)
    assert "ends with /api/v4" in (done.exception.remedy or "")
