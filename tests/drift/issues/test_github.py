"""The tracker `github` against a server that behaves, and misbehaves, as GitHub does."""

from pathlib import Path

import pytest

from harness.drift.filing import Filing, ReportOutbox, file_report
from harness.drift.github import GithubTracker, RequestPace
from harness.drift.issue import Note, TrackerOptions
from harness.errors import TrackerError
from harness.runs.store.drift_report import DriftReport
from tests.drift.issues.conftest import finding, look
from tests.drift.issues.github_server import (
    REPO,
    TOKEN,
    Answering,
    Fault,
    GithubServer,
    When,
    dies_after_doing,
    drops_labels,
    hangs,
    says,
    sends,
)

ISSUES = r"/issues(\?|$)"


QUICK = RequestPace(between_writes_s=0, longest_wait_s=5, first_pause_s=0.01)


def tracker(server: GithubServer, *, pace: RequestPace = QUICK, timeout_s: int = 30) -> GithubTracker:
    options = TrackerOptions(project=Path(), repo=REPO, api_url=server.url, timeout_s=timeout_s)
    return GithubTracker(options, TOKEN, pace)


def file(server: GithubServer, project: Path, report: DriftReport, timeout_s: int = 30) -> tuple[Filing, ...]:
    return file_report(report, tracker(server, timeout_s=timeout_s), ReportOutbox(project / "issues", "github"))


def test_a_change_is_filed_once_and_then_left_alone(github: GithubServer, tmp_path: Path) -> None:
    file(github, tmp_path, look(finding()))
    before = len(github.writes())
    file(github, tmp_path, look(finding(), nights=1))
    assert 1 == len(github.issues)
    assert before == len(github.writes())


def test_lists_are_read_to_their_last_page_also_where_one_fails_at_first(github: GithubServer, tmp_path: Path) -> None:
    tools = [f"tool_{number}" for number in range(8)]
    file(github, tmp_path, look(*(finding(tool) for tool in tools)))
    github.faults = [When("GET", "page=2", says(502, "Bad Gateway"))]
    (again,) = file(github, tmp_path, look(*(finding(tool) for tool in tools), nights=1))
    assert 8 == len(again.done)
    assert 8 == len(github.issues)


def test_pull_requests_are_no_issues(github: GithubServer, tmp_path: Path) -> None:
    file(github, tmp_path, look(finding()))
    github.issues[0]["pull_request"] = {"url": "x"}
    assert [] == list(tracker(github).find())


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("body", ["", "[]", '{"message": "Moved"}'])
def test_a_redirect_is_no_empty_list(github: GithubServer, tmp_path: Path, status: int, body: str) -> None:
    file(github, tmp_path, look(finding()))
    elsewhere = {"Location": "https://someone:secret@example.org/repos/acme/agents/issues?key=secret"}
    github.faults = [When("GET", ISSUES, sends(status, body, elsewhere), times=99)]
    with pytest.raises(TrackerError) as refused:
        tracker(github).find()
    assert ("to https" if status == 301 else "example.org") in refused.value.message  # PyGithub looks at a 301 itself
    assert "secret" not in str(refused.value)
    assert "address" in (refused.value.remedy or "")


@pytest.mark.parametrize("status", [200, 204])
@pytest.mark.parametrize("body", ["", "{}", "null"])
def test_an_answer_without_content_is_no_empty_list(github: GithubServer, status: int, body: str) -> None:
    github.faults = [When("GET", ISSUES, sends(status, body if status == 200 else ""), times=99)]
    with pytest.raises(TrackerError, match=rf"\b{status}\b"):
        tracker(github).find()
    github.faults = []
    assert [] == list(tracker(github).find())


def test_a_redirected_write_is_an_error_and_its_draft_is_kept(github: GithubServer, tmp_path: Path) -> None:
    github.faults = [When("POST", ISSUES, sends(307, "", {"Location": f"{github.url}/repos/acme/renamed/issues"}))]
    (filing,) = file(github, tmp_path, look(finding()))
    assert "307" in (filing.error or "")
    assert filing.kept is not None
    assert [] == github.issues


@pytest.mark.slow
def test_writes_are_a_second_apart(github: GithubServer, tmp_path: Path) -> None:
    slow = tracker(github, pace=RequestPace())
    file_report(look(finding("a"), finding("b")), slow, ReportOutbox(tmp_path / "issues", "github"))
    first, second = (at for at, _, _ in github.writes())
    assert second - first >= 0.99


LIMITED = {"X-RateLimit-Remaining": "0", "X-RateLimit-Reset": "99999999999"}
SECONDARY = "You have exceeded a secondary rate limit"
WHOLE = {
    "403 retry-after": When("POST", ISSUES, says(403, SECONDARY, {"Retry-After": "1"})),
    "429": When("POST", ISSUES, says(429, "Too many requests", {"Retry-After": "0"})),
    "500 while listing": When("GET", ISSUES, says(500, "Server Error"), times=2),
    "labels dropped": When("POST", ISSUES, drops_labels),
    "dies after creating": When("POST", ISSUES, dies_after_doing()),
    "dies between creating and labelling": When("POST", ISSUES, dies_after_doing(without_labels=True)),
}


@pytest.mark.parametrize("fault", WHOLE)
def test_what_can_be_sat_out_or_found_again_is_filed_at_once(github: GithubServer, tmp_path: Path, fault: str) -> None:
    github.faults = [WHOLE[fault]]
    (filing,) = file(github, tmp_path, look(finding()))
    assert None is filing.error
    file(github, tmp_path, look(finding(), nights=1))
    assert 1 == len(github.issues)
    assert {"harness-drift", "drift:breaking"} == {label["name"] for label in github.issues[0]["labels"]}


KEPT = {
    "401": (When("GET", ISSUES, says(401, "Bad credentials"), times=99), "(401)"),
    "403": (When("POST", ISSUES, says(403, "Resource not accessible by integration"), times=99), "issues: write"),
    "403 limited for long": (
        When("POST", ISSUES, says(403, "API rate limit exceeded", LIMITED), times=99),
        "rate limit",
    ),
    "404": (When("GET", ISSUES, says(404, "Not Found"), times=99), "is not there"),
    "422": (When("POST", ISSUES, says(422, "Validation Failed"), times=99), "refuses this"),
    "500": (When("POST", ISSUES, says(500, "Server Error"), times=99), "fails (500)"),
    "hangs": (When("POST", ISSUES, hangs), "does not answer"),
}


@pytest.mark.parametrize("name", KEPT)
def test_what_cannot_be_filed_is_kept_and_filed_the_next_time(github: GithubServer, tmp_path: Path, name: str) -> None:
    fault, said = KEPT[name]
    github.faults = [fault]
    timeout_s = 2 if name == "hangs" else 30  # the others must not be cut short on a busy machine
    (filing,) = file(github, tmp_path, look(finding("a"), finding("b")), timeout_s=timeout_s)
    assert said in (filing.error or "")
    assert TOKEN not in str(filing)
    assert filing.kept is not None
    assert {"a-breaking.md", "b-breaking.md", "drift.json"} == {path.name for path in Path(filing.kept).iterdir()}
    github.faults = []
    first, second = file(github, tmp_path, look(finding("a"), finding("b"), nights=1))
    assert (None, None) == (first.error, second.error)
    assert 2 == len(github.issues)
    assert not Path(filing.kept).exists()


def test_one_refused_draft_does_not_hold_up_the_others(github: GithubServer, tmp_path: Path) -> None:
    github.faults = [When("POST", ISSUES, says(422, "Validation Failed"))]
    (filing,) = file(github, tmp_path, look(finding("a"), finding("b")))
    assert ["b"] == [one.step.tool for one in filing.filed]
    file(github, tmp_path, look(finding("a"), finding("b"), nights=1))
    assert 2 == len(github.issues)


def test_a_comment_is_not_said_twice_where_the_rest_failed(github: GithubServer, tmp_path: Path) -> None:
    file(github, tmp_path, look(finding()))
    github.faults = [When("PATCH", r"/issues/1$", says(500, "Server Error"))]
    both = (finding(), finding(path="$.status"))
    (failed,) = file(github, tmp_path, look(*both, nights=1))
    assert failed.error is not None
    file(github, tmp_path, look(*both, nights=1))
    assert 1 == len(github.comments[1])
    assert "$.status" in github.issues[0]["body"]


def test_an_issue_whose_maker_died_before_labelling_it_is_found_and_labelled(
    github: GithubServer, tmp_path: Path
) -> None:
    file(github, tmp_path, look(finding()))
    github.issues[0]["labels"] = []
    file(github, tmp_path, look(finding(), nights=1))
    assert [{"harness-drift", "drift:breaking"}] == [
        {one["name"] for one in issue["labels"]} for issue in github.issues
    ]


def test_of_two_issues_that_say_the_same_the_younger_is_closed_by_the_next_look(
    github: GithubServer, tmp_path: Path
) -> None:
    file(github, tmp_path, look(finding()))
    github.route("POST", f"/repos/{REPO}/issues", github.issues[0] | {"labels": ["harness-drift", "drift:breaking"]})
    for night in (1, 2):
        file(github, tmp_path, look(finding(), nights=night))
    assert ["open", "closed"] == [one["state"] for one in github.issues]
    assert 1 == len(github.comments[2])


def test_a_stranger_cannot_plant_an_issue(github: GithubServer, tmp_path: Path) -> None:
    file(github, tmp_path, look(finding()))
    github.issues[0].update(
        labels=[], author_association="NONE", user={"login": "x", "id": 2, "type": "User", "url": "x"}
    )
    file(github, tmp_path, look(finding(), nights=1))
    assert 2 == len(github.issues)


@pytest.mark.parametrize("is_app", [False, True])
@pytest.mark.parametrize("author", ["mallory", "dependabot[bot]", None])
def test_a_comment_of_somebody_else_with_our_mark_is_neither_edited_nor_counted(
    github: GithubServer, tmp_path: Path, author: str | None, *, is_app: bool
) -> None:
    github.is_app = is_app
    file(github, tmp_path, look(finding()))
    note = Note(id="report", text="first")
    forged = {"id": 1, "body": f"forged {note.mark}", "html_url": "https://github.com/c/1", "url": f"{github.url}/c/1",
              "user": None if author is None else {"login": author, "type": "Bot", "id": 7}}  # fmt: skip
    github.comments[1].append(forged)
    for text in ("first", "second"):
        tracker(github).comment(1, note.model_copy(update={"text": text}), replace=True)
    tracker(github).comment(1, note, replace=False)
    assert [f"forged {note.mark}", f"second\n\n{note.mark}"] == [one["body"] for one in github.comments[1]]


def test_one_comment_on_a_pull_request_is_updated(github: GithubServer, tmp_path: Path) -> None:
    from harness.drift.issue import Note

    github.route("POST", f"/repos/{REPO}/issues", {"title": "a pull request"})
    tracker(github).comment(1, Note(id="comment-report", text="first"), replace=True)
    tracker(github).comment(1, Note(id="comment-report", text="second"), replace=True)
    assert ["second"] == [one["body"].split("\n")[0] for one in github.comments[1]]


def _sends(content: bytes) -> Fault:
    def act(answering: Answering) -> bool:
        answering.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n" + content)
        answering.wfile.flush()
        answering.close_connection = True
        return True

    return act


@pytest.mark.parametrize(
    "content",
    [
        b"Content-Length: 500\r\n\r\n[{",
        b"Content-Length: 2\r\n\r\n[}",
        b"Content-Length: 3\r\n\r\n[1]",
        b'Content-Length: 14\r\n\r\n[{"number":[]}]',
        b'Content-Length: 15\r\n\r\n[{"number": 1}]',
        b"Content-Length: 5000\r\n\r\n" + b"9" * 5000,
        b"Content-Length: 5000\r\n\r\n" + b"[" * 5000,
        b'Content-Length: 31\r\n\r\n[{"number": 1, "state": 1e400 }]',
    ],
)
def test_an_answer_that_cannot_be_used_keeps_the_drafts(github: GithubServer, tmp_path: Path, content: bytes) -> None:
    github.faults = [When("GET", ISSUES, _sends(content), times=99)]
    filed = file(github, tmp_path, look(finding()))
    assert ["GitHub" in (one.error or "") and one.kept is not None for one in filed] == [True]
    assert [] == github.writes()
    github.faults = []
    file(github, tmp_path, look(finding(), nights=1))
    assert 1 == len(github.issues)
