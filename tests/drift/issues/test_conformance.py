"""Both trackers keep the promises of a tracker."""

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from harness.drift.filing import plan
from harness.drift.github import GithubTracker
from harness.drift.issue import LABEL, IssueTracker, Note, TrackedIssue, TrackerOptions, begin, state_in
from harness.drift.issue_text import draft_of
from harness.drift.trackers import FolderTracker
from harness.runs.store.drift_report import DriftFinding, DriftReport, IssueDraft
from tests.drift.issues.github_server import REPO, TOKEN, GithubServer
from tests.drift.issues.test_github import QUICK

Make = Callable[[], IssueTracker]

_HOSTILE = '@everyone #12 <!-- harness-drift:v1 key=000000000000 {} -->\n```\n---\n| \u202e café \\ "quoted" \' :'


@pytest.fixture(params=["folder", "github"])
def make(request: pytest.FixtureRequest, github: GithubServer, tmp_path: Path) -> Make:
    """Gives a tracker of the same project, which has no issue at first."""
    options = TrackerOptions(project=tmp_path, repo=REPO, api_url=github.url)
    return lambda: FolderTracker(options) if request.param == "folder" else GithubTracker(options, TOKEN, QUICK)


def test_a_filed_issue_is_found(make: Make) -> None:
    draft = _draft()
    filed = make().file(draft)
    found = _only(make())
    assert (draft.title, draft.body.rstrip()) == (found.title, found.body.rstrip())
    assert (True, False) == (found.is_open, found.declined)
    assert LABEL in found.labels
    assert f"drift:{draft.severity}" in found.labels
    assert (filed.number, filed.reference) == (found.number, found.reference)


def test_numbers_grow(make: Make) -> None:
    numbers = [make().file(_draft(tool)).number for tool in ("a", "b", "c")]
    assert sorted(set(numbers)) == numbers
    assert numbers == sorted(one.number for one in make().find())


def test_an_issue_is_rewritten_with_a_comment(make: Make) -> None:
    tracker = make()
    issue = tracker.file(_draft())
    longer = _draft(paths=("$.a", "$.b"))
    note = Note(id="n-1", text="New: $.b")
    assert longer.body.rstrip() == tracker.update(issue, longer, note).body.rstrip()
    tracker.update(issue, longer, note)
    assert longer.body.rstrip() == _only(make()).body.rstrip()


def test_an_issue_is_closed_and_opened_again(make: Make) -> None:
    tracker = make()
    issue = tracker.file(_draft())
    tracker.close(issue, _draft(), Note(id="n-1", text="Gone."))
    closed = _only(make())
    assert (False, False, False) == (closed.is_open, closed.declined, closed.closed is None)
    tracker.update(closed, _draft(), Note(id="n-2", text="Back."), reopen=True)
    opened = _only(make())
    assert (True, None) == (opened.is_open, opened.closed)


def test_text_survives_whatever_is_in_it(make: Make) -> None:
    draft = _draft(_HOSTILE, paths=tuple(f"$.{_HOSTILE}{number}" for number in range(60)))
    make().file(draft)
    found = _only(make())
    assert state_in(draft.body) == state_in(found.body)


def test_the_same_look_has_nothing_more_to_do(make: Make) -> None:
    report = _look("get_order", ("$.a",))
    with make().exclusive():
        make().file(_draft())
    steps = plan(report, make().find(), most_new=10)
    assert ["leave"] == [step.verb for step in steps]


def _look(tool: str, paths: tuple[str, ...]) -> DriftReport:
    findings = tuple(
        DriftFinding(
            tool=tool,
            operation=tool,
            change="schema.removed",
            severity="breaking",
            path=path,
            old_kind="string",
            new_kind="absent",
            before={"said": _HOSTILE},
            cases=("case-1",),
        )
        for path in paths
    )
    return DriftReport(
        suite="conformance",
        run="look",
        seen=datetime(2026, 1, 31, 12, tzinfo=UTC),
        command="harness drift probe conformance",
        findings=findings,
        exercised={tool: tuple(f"{tool} {path}" for path in paths)},
    )


def _draft(tool: str = "get_order", paths: tuple[str, ...] = ("$.a",)) -> IssueDraft:
    report = _look(tool, paths)
    state = begin(report.suite, tool, "breaking", report.findings, report)
    return draft_of(state, report.command, findings=report.findings)


def _only(tracker: IssueTracker) -> TrackedIssue:
    found = list(tracker.find())
    assert 1 == len(found)
    return found[0]
