"""What looks do to issues, through the tracker `folder`: filed, updated, closed, opened again, muted."""

import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.drift.filing import Filing, ReportOutbox, file_report
from harness.drift.issue import TrackedIssue, TrackerOptions, state_in
from harness.drift.trackers import FolderTracker
from harness.runs.store.drift_report import DriftFinding, DriftReport, IssueDraft
from tests.drift.issues.conftest import finding, look

TOTAL, STATUS = finding(), finding(path="$.status", change="schema.type_changed", old_kind="string", new_kind="integer")


class Nights:
    """A project whose drift is filed night by night."""

    def __init__(self, project: Path) -> None:
        self.tracker = FolderTracker(TrackerOptions(project=project))
        self.outbox = ReportOutbox(project / "issues", "folder")
        self.folder = project / "issues"
        self.night = 0.0

    def file(self, *findings: DriftFinding, nights: float = 1, most_new: int = 10, **fields: object) -> list[str]:
        """What was done, verb by verb; what was left is not told."""
        self.night += nights
        return self.done(look(*findings, nights=self.night, **fields), most_new)

    def done(self, report: DriftReport, most_new: int = 10) -> list[str]:
        filing: Filing = file_report(report, self.tracker, self.outbox, most_new=most_new)[-1]
        assert None is filing.error
        return [one.step.verb for one in filing.done if one.step.verb != "leave"]

    def issues(self) -> list[TrackedIssue]:
        return list(self.tracker.find())

    def only(self) -> TrackedIssue:
        (issue,) = self.issues()
        return issue

    def text(self, number: int = 1) -> str:
        return self.path(number).read_text(encoding="utf-8")

    def path(self, number: int = 1) -> Path:
        return next(self.folder.glob(f"{number:04}-*.md"))

    def comments(self, number: int = 1) -> int:
        return self.text(number).count("<!-- harness-drift-note:v1")

    def edit(self, old: str, new: str, number: int = 1) -> None:
        text = self.text(number)
        assert old in text
        self.path(number).write_text(text.replace(old, new, 1), encoding="utf-8")


@pytest.fixture
def nights(tmp_path: Path) -> Nights:
    return Nights(tmp_path)


def test_one_issue_for_a_tool_and_severity(nights: Nights) -> None:
    mild = finding(path="$.note", severity="warning", change="schema.optional_removed")
    assert ["file", "file", "file"] == nights.file(TOTAL, STATUS, mild, finding("finalize"))
    first = nights.issues()[0]
    assert ("harness-drift", "drift:breaking") == first.labels
    assert 3 == len([issue for issue in nights.issues() if issue.is_open])


def test_a_look_that_finds_the_same_writes_nothing(nights: Nights) -> None:
    nights.file(TOTAL)
    before = nights.text()
    assert [] == nights.file(TOTAL)
    assert before == nights.text()


def test_the_date_of_a_lasting_change_is_renewed_weekly_without_a_comment(nights: Nights) -> None:
    nights.file(TOTAL)
    assert ["update"] == nights.file(TOTAL, nights=8)
    assert 0 == nights.comments()


def test_new_changes_of_a_tool_become_rows_of_its_issue_and_one_comment(nights: Nights) -> None:
    nights.file(TOTAL)
    extra = finding(path="$.items[].size", old_kind="string")
    assert ["update"] == nights.file(TOTAL, STATUS, extra)
    state = state_in(nights.only().body)
    assert state is not None
    assert {TOTAL.fingerprint, STATUS.fingerprint, extra.fingerprint} == {one.fingerprint for one in state.changes}
    assert 1 == nights.comments()


def test_other_values_and_other_cases_are_no_new_change(nights: Nights) -> None:
    nights.file(TOTAL)
    assert [] == nights.file(finding(before={"total_cents": 1}, after={"x": 2}))
    assert ["update"] == nights.file(finding(cases=("order-007",)))
    assert 0 == nights.comments()
    assert "`order-000`, `order-001`, `order-007`" in nights.only().body


def test_three_clean_looks_close_and_fewer_do_not(nights: Nights) -> None:
    nights.file(TOTAL)
    assert ["update"] == nights.file()
    assert "1 of 3 " in nights.only().body
    assert ["update"] == nights.file()
    assert 0 == nights.comments()
    assert ["close"] == nights.file()
    assert not nights.only().is_open
    assert 1 == nights.comments()
    assert [] == nights.file()


def test_a_look_that_did_not_exercise_the_path_counts_for_nothing(nights: Nights) -> None:
    nights.file(TOTAL)
    for _ in range(5):
        assert [] == nights.file(tools=("another",))
    nights.file()
    nights.file(tools=())
    nights.file()
    assert nights.only().is_open
    assert ["close"] == nights.file()


def test_clean_looks_must_be_in_a_row(nights: Nights) -> None:
    nights.file(TOTAL)
    nights.file()
    nights.file()
    nights.file(TOTAL)
    nights.file()
    nights.file(unconfirmed=(TOTAL,))
    nights.file()
    nights.file()
    assert nights.only().is_open
    assert ["close"] == nights.file()


def test_a_look_is_counted_once_however_often_it_is_filed(nights: Nights) -> None:
    nights.file(TOTAL)
    clean = look(nights=2)
    assert ["update"] == nights.done(clean)
    assert [] == nights.done(clean)
    assert [] == nights.done(look(nights=1.5))
    assert "1 of 3 " in nights.only().body


def test_one_of_two_changes_that_vanishes_is_said_and_the_issue_stays(nights: Nights) -> None:
    nights.file(TOTAL, STATUS)
    nights.file(STATUS)
    nights.file(STATUS)
    assert ["update"] == nights.file(STATUS)
    assert 1 == nights.comments()
    assert "gone since" in nights.only().body
    assert nights.only().is_open


def test_what_comes_back_within_two_weeks_is_opened_again(nights: Nights) -> None:
    nights.file(TOTAL)
    [nights.file() for _ in range(3)]
    assert ["reopen"] == nights.file(TOTAL, nights=5)
    assert nights.only().is_open
    assert 2 == nights.comments()


def test_what_comes_back_later_is_a_new_issue_that_names_the_old_one(nights: Nights) -> None:
    nights.file(TOTAL)
    [nights.file() for _ in range(3)]
    assert ["file"] == nights.file(TOTAL, nights=20)
    old, new = nights.issues()
    assert (False, True) == (old.is_open, new.is_open)
    assert f": {old.reference}." in new.body
    nights.file(TOTAL, STATUS)
    assert f": {old.reference}." in nights.issues()[1].body


def test_another_change_of_a_tool_whose_issue_is_closed_is_a_new_issue(nights: Nights) -> None:
    nights.file(TOTAL)
    [nights.file() for _ in range(3)]
    assert ["file"] == nights.file(STATUS)
    assert 2 == len(nights.issues())


def test_a_muted_issue_is_kept_current_in_silence(nights: Nights) -> None:
    nights.file(TOTAL)
    nights.edit("- drift:breaking\n", "- drift:breaking\n- drift:mute\n")
    assert ["update"] == nights.file(TOTAL, STATUS)
    [nights.file() for _ in range(4)]
    assert nights.only().is_open
    assert 0 == nights.comments()


DECLINED = ("state: open", "state: declined")
MUTED = ("- drift:breaking\n", "- drift:breaking\n- drift:mute\n")


@pytest.mark.parametrize(("old", "new"), [DECLINED, MUTED])
def test_what_people_closed_and_muted_stays_closed(nights: Nights, old: str, new: str) -> None:
    nights.file(TOTAL)
    nights.edit(old, new)
    if "state: open" in nights.text():
        nights.edit("state: open", "state: closed")
    assert [] == nights.file(TOTAL)
    assert not nights.only().is_open


def test_what_people_closed_while_it_is_there_is_opened_again(nights: Nights) -> None:
    nights.file(TOTAL)
    nights.edit("state: open", "state: closed")
    assert ["reopen"] == nights.file(TOTAL)


def test_beyond_the_cap_the_rest_stands_in_one_summary_and_stays_there(nights: Nights) -> None:
    many = [finding(f"tool_{number}") for number in range(7)]
    assert ["file"] * 3 == nights.file(*many, most_new=2)
    assert [] == nights.file(*many, most_new=2)
    summary = nights.issues()[-1]
    assert "[drift] drive_thru: 5 more tools answer differently" == summary.title
    assert all(f"`tool_{number}`" in summary.body for number in range(2, 7))
    for issue in nights.issues():
        assert 1 == len({line.count("|") for line in issue.body.splitlines() if line.startswith("|")})
    tools = tuple(f"tool_{number}" for number in range(7))
    for _ in range(3):
        nights.file(tools=tools)
    assert [False] * 3 == [issue.is_open for issue in nights.issues()]


def test_who_files_waits_until_another_has_ended(nights: Nights) -> None:
    with ThreadPoolExecutor() as threads:
        with nights.tracker.exclusive():
            filing = threads.submit(nights.file, TOTAL)
            with pytest.raises(TimeoutError):
                filing.result(timeout=0.3)
            assert [] == nights.issues()
        assert ["file"] == filing.result(timeout=60)


def test_a_look_survives_a_harness_that_is_killed_while_it_files(nights: Nights) -> None:
    class Killed(FolderTracker):
        def file(self, draft: IssueDraft) -> TrackedIssue:
            if draft.tool == "finalize":
                raise KeyboardInterrupt
            return super().file(draft)

    dying = Killed(TrackerOptions(project=nights.folder.parent))
    with pytest.raises(KeyboardInterrupt):
        file_report(look(finding("finalize"), finding("another"), nights=0.5), dying, nights.outbox)
    assert 1 == len(nights.issues())
    nights.file(tools=())
    assert 2 == len(nights.issues())
    assert [] == list(nights.outbox.waiting())


def test_the_look_of_another_suite_leaves_the_issue_alone(nights: Nights) -> None:
    nights.file(TOTAL)
    assert ["file"] == nights.file(TOTAL, suite="another")
    for _ in range(3):
        nights.file(suite="another")
    assert [True, False] == [issue.is_open for issue in nights.issues()]


def test_a_marker_that_a_person_damaged_begins_anew_and_makes_no_twin(nights: Nights) -> None:
    nights.file(TOTAL)
    nights.edit('"suite"', '"sui')
    assert ["update"] == nights.file(TOTAL)
    assert state_in(nights.only().body) is not None


def test_an_issue_from_which_people_took_the_label_is_theirs(nights: Nights) -> None:
    nights.file(TOTAL)
    nights.edit("- harness-drift\n", "")
    nights.edit("state: open", "state: closed")
    assert ["file"] == nights.file(TOTAL)


def test_a_head_that_a_person_broke_is_named_and_nothing_is_lost(nights: Nights) -> None:
    nights.file(TOTAL)
    nights.edit("state: open", "state: ajar")
    (filing,) = file_report(look(TOTAL, nights=2), nights.tracker, nights.outbox)
    assert filing.error is not None
    assert re.search(r"0001-.*\.md: field 'state'", filing.error)
    nights.edit("state: ajar", "state: open")
    assert [] == nights.file(TOTAL, nights=2)
    assert [] == list(nights.outbox.waiting())


TOOLS = ("a", "b")
PATHS = ("$.x", "$.y")
night = st.tuples(*(st.sampled_from(["there", "clean", "not asked"]) for _ in range(4)))


@given(st.lists(night, max_size=9))
@settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
def test_whatever_the_nights_bring_an_issue_is_open_while_something_is_there(
    tmp_path_factory: pytest.TempPathFactory, sequence: list[tuple[str, ...]]
) -> None:
    nights = Nights(tmp_path_factory.mktemp("nights"))
    model = {tool: Expected() for tool in TOOLS}
    for one in sequence:
        places = dict(zip([(tool, path) for tool in TOOLS for path in PATHS], one, strict=True))
        exercised = {
            tool: tuple(f"{tool} {path}" for path in PATHS if places[tool, path] != "not asked") for tool in TOOLS
        }
        there = [finding(tool, path) for (tool, path), state in places.items() if state == "there"]
        nights.file(*there, exercised=exercised)
        for tool, expected in model.items():
            expected.night({path: places[tool, path] for path in PATHS})
        opened = [issue.title for issue in nights.issues() if issue.is_open]
        assert sorted(opened) == [
            f"[drift] drive_thru: {tool} answers differently (breaking)" for tool in TOOLS if model[tool].is_open
        ]


class Expected:
    """The life of one tool's issue, told in the simplest way: clean looks by path."""

    def __init__(self) -> None:
        self.clean: dict[str, int] = {}
        self.is_open = False

    def night(self, seen: dict[str, str]) -> None:
        there = {path for path, state in seen.items() if state == "there"}
        if not self.is_open:
            if not there:
                return
            if not there & set(self.clean):
                self.clean = {}
            self.is_open = True
        for path, state in seen.items():
            if state == "there":
                self.clean[path] = 0
            elif state == "clean" and path in self.clean:
                self.clean[path] = min(3, self.clean[path] + 1)
        self.is_open = any(count < 3 for count in self.clean.values())
