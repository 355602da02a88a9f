"""The check `dom` on pages that were looked at, without any browser."""

from pathlib import Path

import pytest

from harness.errors import UsageError
from harness.scoring.evidence import Evidence
from harness.scoring.scorer import build_scorer
from harness.suite.cases import Case, CheckSpec
from harness.suite.checks import looks_of
from harness.suite.suites import Suite
from harness.traces.trajectory import Trajectory
from harness.traces.trial import ElementSeen, ElementsSeen, PageSeen, Trial
from tests.sandbox.browser.conftest import browsing_suite

EXPECT = [
    {"selector": "h1", "text": {"equals": "Thank you"}},
    {"selector": "li", "count": 2},
    {"selector": ".error", "count": 0},
    {"selector": "a", "attributes": {"href": "/next", "target": None}},
    {"selector": "input", "value": {"equals": "Ada"}, "checked": False},
]
FOUND = {
    "h1": ElementsSeen(count=1, elements=(ElementSeen(text="Thank you"),)),
    "li": ElementsSeen(count=2, elements=(ElementSeen(text="one"), ElementSeen(text="two", visible=False))),
    ".error": ElementsSeen(count=0),
    "a": ElementsSeen(count=1, elements=(ElementSeen(text="on", attributes={"href": "/next", "target": None}),)),
    "input": ElementsSeen(count=1, elements=(ElementSeen(text="", value="Ada", checked=False),)),
}


def suite_with(tmp_path: Path, **parameters: object) -> Suite:
    check = CheckSpec.model_validate({"name": "page", "verifier": "dom", "with": parameters})
    case = Case(id="c", task="t", checks=(check,))
    return browsing_suite(tmp_path, "http://127.0.0.1:1").model_copy(update={"cases": (case,)})


def verdict(suite: Suite, **seen: object):
    """What the check says of a page that was looked at as the check asks."""
    case = suite.cases[0]
    (look,) = looks_of(suite, case)
    page = PageSeen.model_validate({"digest": look.digest, "url": "http://site.test/end", "title": "End", **seen})
    nothing = Trajectory(trace_id="", agent="a", steps=())
    trial = Trial(case_id="c", attempt=1, outcome="finished", trajectory=nothing, pages={"page": page})
    return build_scorer(suite).score(Evidence(case=case, trial=trial, tools=())).verdicts[0]


def test_a_page_on_which_all_is_as_expected_passes(tmp_path: Path) -> None:
    suite = suite_with(tmp_path, url="http://site.test/end", title={"equals": "End"}, expect=EXPECT)

    assert (True, "http://site.test/end is as expected") == (
        (found := verdict(suite, found=FOUND)).passed,
        found.reason,
    )


@pytest.mark.parametrize(
    ("selector", "elements", "reason"),
    [
        ("h1", ElementsSeen(count=1, elements=(ElementSeen(text="Sorry"),)), "'h1': its text is not 'Thank you'"),
        ("li", ElementsSeen(count=3, elements=()), "'li' means 3 elements, not 2"),
        (".error", ElementsSeen(count=1, elements=(ElementSeen(text="x"),)), "'.error' means 1 elements, not 0"),
        ("h1", ElementsSeen(count=0), "there is no 'h1'"),
        ("h1", ElementsSeen(count=0, problem="no selector"), "'h1' cannot be read: no selector"),
        (
            "a",
            ElementsSeen(count=1, elements=(ElementSeen(text="on", attributes={"href": "/else", "target": None}),)),
            "'a': its attribute href is '/else', not '/next'",
        ),
        (
            "input",
            ElementsSeen(count=1, elements=(ElementSeen(text="", value="Ada", checked=True),)),
            "'input': it is checked",
        ),
    ],
)
def test_what_does_not_hold_is_told(tmp_path: Path, selector: str, elements: ElementsSeen, reason: str) -> None:
    suite = suite_with(tmp_path, url="http://site.test/end", expect=EXPECT)

    found = verdict(suite, found=FOUND | {selector: elements})

    assert (False, reason) == (found.passed, found.reason)


def test_one_element_is_enough_unless_every_one_is_asked_for(tmp_path: Path) -> None:
    one = suite_with(tmp_path, url="http://site.test/end", expect=[{"selector": "li", "visible": True}])
    each = suite_with(tmp_path, url="http://site.test/end", expect=[{"selector": "li", "visible": True, "every": True}])

    assert True is verdict(one, found=FOUND).passed
    assert (False, "'li': it is not shown") == ((found := verdict(each, found=FOUND)).passed, found.reason)


def test_a_changed_check_reads_its_old_look_only_where_that_saw_what_it_asks(tmp_path: Path) -> None:
    before = suite_with(tmp_path, url="http://site.test/end", expect=[{"selector": "h1", "text": {"equals": "Sorry"}}])
    stricter = suite_with(tmp_path, url="http://site.test/end", expect=[{"selector": "h1", "count": 1}])
    elsewhere = suite_with(tmp_path, url="http://site.test/other", expect=[{"selector": "h1"}])
    digests = [looks_of(suite, suite.cases[0])[0].digest for suite in (before, stricter, elsewhere)]

    assert digests[0] == digests[1]
    assert (None, "the check looks elsewhere since: run again") == (
        (found := verdict(elsewhere, digest=digests[0], found=FOUND)).passed,
        found.reason,
    )


def test_a_page_that_could_not_be_seen_fails_the_agent_whose_browser_it_is(tmp_path: Path) -> None:
    agents = suite_with(tmp_path, browser="agent", expect=[{"selector": "h1"}])
    fresh = suite_with(tmp_path, url="http://site.test/end", expect=[{"selector": "h1"}])

    found = verdict(agents, problem="the page has crashed")
    other = verdict(fresh, problem="the page has crashed")

    assert found.passed is False
    assert found.evidence["unmeasured_by"] == "agent"
    assert "the page has crashed" in found.reason
    assert (None, "there is no page to see: the page has crashed") == (other.passed, other.reason)


@pytest.mark.parametrize(
    ("parameters", "told"),
    [
        ({}, "asks nothing"),
        ({"url": "file:///etc/passwd", "title": {"equals": "x"}}, "with.url"),
        ({"expect": [{"selector": "a", "count": 0, "visible": True}]}, "there is no such element"),
        ({"expect": [{"selektor": "a"}]}, "with.expect.0"),
        ({"browser": "mine", "expect": [{"selector": "a"}]}, "with.browser"),
    ],
)
def test_a_check_that_cannot_work_is_refused_before_anything_runs(tmp_path: Path, parameters, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        build_scorer(suite_with(tmp_path, **parameters))


def test_without_hosts_or_browser_tools_there_is_no_page(tmp_path: Path) -> None:
    suite = suite_with(tmp_path, browser="agent", expect=[{"selector": "a"}])

    with pytest.raises(UsageError, match="`hosts:`"):
        build_scorer(suite.model_copy(update={"hosts": ()}))
    with pytest.raises(UsageError, match=r"`- browser: "):
        build_scorer(suite.model_copy(update={"servers": {}, "tools": ()}))
