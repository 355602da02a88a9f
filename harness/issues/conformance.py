"""The conformance checks of the issue tracker interface, which run against any tracker.

To check a tracker of your own, call `run_conformance(make)`, where each call of `make` returns a tracker of the same
empty project, and read the results that are not None. Each check needs an empty project of its own: pass a separate
`make` for each.
"""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime

from harness.errors import HarnessError
from harness.issues.body import draft_of
from harness.issues.lifecycle import begin
from harness.issues.planning import plan
from harness.issues.state import state_in
from harness.issues.tracker import LABEL, IssueTracker, Note, TrackedIssue
from harness.results import DriftFinding, DriftReport, IssueDraft

Make = Callable[[], IssueTracker]

_HOSTILE = '@everyone #12 <!-- harness-drift:v1 key=000000000000 {} -->\n```\n---\n| \u202e café \\ "quoted" \' :'


class TrackerNotConforming(Exception):
    """The tracker does not conform; the message describes its behaviour."""


def a_filed_issue_is_found(make: Make) -> None:
    draft = _draft()
    filed = make().file(draft)
    found = _only(make())
    _expect("title and body", (found.title, found.body.rstrip()), (draft.title, draft.body.rstrip()))
    _expect("open, declined", (found.is_open, found.declined), (True, False))
    _expect("labels", LABEL in found.labels and f"drift:{draft.severity}" in found.labels, True)
    _expect("number and reference", (found.number, found.reference), (filed.number, filed.reference))


def the_same_filed_twice_is_one_open_issue(make: Make) -> None:
    first, second = make().file(_draft()), make().file(_draft())
    _expect("the issue that stands", second.number, first.number)
    _expect("open issues", len([one for one in make().find() if one.is_open]), 1)


def numbers_grow(make: Make) -> None:
    numbers = [make().file(_draft(tool)).number for tool in ("a", "b", "c")]
    _expect("numbers", numbers, sorted(set(numbers)))
    _expect("found", sorted(one.number for one in make().find()), numbers)


def an_issue_is_rewritten_with_a_comment(make: Make) -> None:
    tracker = make()
    issue = tracker.file(_draft())
    longer = _draft(paths=("$.a", "$.b"))
    note = Note(id="n-1", text="New: $.b")
    _expect("body", tracker.update(issue, longer, note).body.rstrip(), longer.body.rstrip())
    tracker.update(issue, longer, note)
    _expect("body that is found", _only(make()).body.rstrip(), longer.body.rstrip())


def an_issue_is_closed_and_opened_again(make: Make) -> None:
    tracker = make()
    issue = tracker.file(_draft())
    tracker.close(issue, _draft(), Note(id="n-1", text="Gone."))
    closed = _only(make())
    _expect("open, declined, time", (closed.is_open, closed.declined, closed.closed is None), (False, False, False))
    tracker.update(closed, _draft(), Note(id="n-2", text="Back."), reopen=True)
    opened = _only(make())
    _expect("open, time", (opened.is_open, opened.closed), (True, None))


def a_duplicate_is_closed_and_not_declined(make: Make) -> None:
    tracker = make()
    tracker.close(tracker.file(_draft()), _draft(), None, duplicate=True)
    closed = _only(make())
    _expect("open, declined", (closed.is_open, closed.declined), (False, False))


def text_survives_whatever_is_in_it(make: Make) -> None:
    draft = _draft(_HOSTILE, paths=tuple(f"$.{_HOSTILE}{number}" for number in range(60)))
    make().file(draft)
    found = _only(make())
    _expect("memory", state_in(found.body), state_in(draft.body))


def the_same_look_has_nothing_more_to_do(make: Make) -> None:
    report = _look("get_order", ("$.a",))
    with make().exclusive():
        make().file(_draft())
    steps = plan(report, make().find(), most_new=10)
    _expect("what is left to do", [step.verb for step in steps], ["leave"])


CHECKS: tuple[Callable[[Make], None], ...] = (
    a_filed_issue_is_found,
    the_same_filed_twice_is_one_open_issue,
    numbers_grow,
    an_issue_is_rewritten_with_a_comment,
    an_issue_is_closed_and_opened_again,
    a_duplicate_is_closed_and_not_declined,
    text_survives_whatever_is_in_it,
    the_same_look_has_nothing_more_to_do,
)


def run_conformance(makes: Iterable[Make]) -> dict[str, str | None]:
    """Runs each check in an empty project of its own; returns check name -> problem, or None."""
    found: dict[str, str | None] = {}
    for check, make in zip(CHECKS, makes, strict=False):
        try:
            check(make)
        except (TrackerNotConforming, HarnessError, OSError, ValueError) as error:
            found[check.__name__] = f"{type(error).__name__}: {error}"
        else:
            found[check.__name__] = None
    return found


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
    _expect("issues found", len(found), 1)
    return found[0]


def _expect(what: str, actual: object, expected: object) -> None:
    if actual != expected:
        raise TrackerNotConforming(f"{what}: {actual!r} in place of {expected!r}")
