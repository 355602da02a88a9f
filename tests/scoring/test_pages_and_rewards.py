"""Checks of what was read from outside of the calls: a web page, the tests of a task folder, an imported reward."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.scoring.evidence import Evidence
from harness.scoring.registry import VERIFIERS
from harness.suite.checks import page_look, task_tests_command
from harness.suite.suites import ToolServer

Build = Callable[..., Evidence]
FIELD = {"text": "Name ", "value": "Ada", "attributes": {"type": "text", "disabled": None}, "visible": True}
BOX = {"text": "News", "checked": False, "visible": False}


def seen_by(rule: dict[str, Any], evidence: Build, **page: Any) -> tuple[bool | None, str, dict[str, Any]]:
    check = VERIFIERS["dom"].model_validate(rule)
    digest = page_look("", check.model_dump(mode="json")).digest
    found = {
        "input": {"count": 2, "elements": [FIELD, BOX]},
        "p": {"count": 0},
        "x[": {"count": 0, "problem": "no CSS"},
    }
    pages = {"k": {"digest": digest, "url": "http://shop/done", "title": "Done", "found": found} | page}
    passed, reason, details = check.verify(evidence(pages=pages))
    return passed, reason, details


@pytest.mark.parametrize(
    ("rule", "reason"),
    [
        ({"selector": "input"}, None),
        ({"selector": "input", "count": 2}, None),
        ({"selector": "input", "count": 1}, "'input' means 2 elements, not 1"),
        ({"selector": "input", "count": 0}, "'input' means 2 elements, not 0"),
        ({"selector": "p", "count": 0}, None),
        ({"selector": "p"}, "there is no 'p'"),
        ({"selector": "never read"}, "there is no 'never read'"),
        ({"selector": "x["}, "'x[' cannot be read: no CSS"),
        ({"selector": "input", "text": {"equals": "Name"}}, None),
        ({"selector": "input", "text": {"equals": "Name"}, "every": True}, "its text is not 'Name'"),
        ({"selector": "input", "text": {"regex": "N"}, "every": True}, None),
        ({"selector": "input", "value": {"equals": "Ada"}}, None),
        ({"selector": "input", "value": {"equals": "Bob"}}, "its value is not 'Bob'"),
        ({"selector": "input", "attributes": {"type": "text"}}, None),
        ({"selector": "input", "attributes": {"type": "date"}}, "its attribute type is 'text', not 'date'"),
        ({"selector": "input", "attributes": {"disabled": None}, "every": True}, None),
        ({"selector": "input", "visible": True}, None),
        ({"selector": "input", "visible": True, "every": True}, "it is not shown"),
        ({"selector": "input", "visible": False, "every": True}, "it is shown"),
        ({"selector": "input", "checked": False}, None),
        ({"selector": "input", "checked": True}, "it is not checked"),
    ],
)
def test_an_element_of_a_page_is_as_expected_or_the_reason_says_what_is_not(
    evidence: Build, rule: dict[str, Any], reason: str | None
) -> None:
    passed, said, details = seen_by({"expect": [rule]}, evidence)
    assert (reason is None) == passed
    assert reason is None or reason in said
    assert ("http://shop/done", reason is not None) == (details["url"], "seen" in details)


def test_a_page_is_told_by_its_title_and_address_and_what_was_shown_is_kept(evidence: Build) -> None:
    assert True is seen_by({"title": {"equals": "Done"}, "address": {"contains": "/done"}}, evidence)[0]
    passed, reason, details = seen_by({"title": {"equals": "Home"}, "address": {"contains": "/home"}}, evidence)
    assert (False, "the title is not 'Home'; the address does not contain '/home'") == (passed, reason)
    assert {"count": 2, "texts": ["Name ", "News"]} == details["seen"]["input"]
    assert False is seen_by({"title": {"equals": "Home"}}, evidence, title=None)[0]


def test_a_page_that_was_not_read_cannot_tell_and_one_that_the_agent_left_unreadable_is_its_doing(
    evidence: Build,
) -> None:
    rule = {"title": {"equals": "Done"}}
    check = VERIFIERS["dom"].model_validate(rule)
    assert (None, "no page was examined", {}) == check.verify(evidence())
    passed, reason, _ = seen_by(rule, evidence, digest="0" * 64)
    assert (None, True) == (passed, "run again" in reason)
    for browser, by in (("fresh", None), ("agent", "agent")):
        passed, _, details = seen_by(rule | {"browser": browser}, evidence, problem="it crashed")
        assert (None, by) == (passed, details.get("unmeasured_by"))


def test_a_page_check_needs_a_host_and_the_agents_page_a_browser(suite: Callable[..., Any]) -> None:
    fresh, agent = (
        VERIFIERS["dom"].model_validate({"title": {"equals": "x"}, "browser": one}) for one in ("fresh", "agent")
    )
    assert "declares no `hosts:`" in (fresh.problem_in(suite()) or "")
    hosts = [{"host": "shop.example"}]
    with_host = suite().model_copy(update={"hosts": tuple(hosts)})
    assert None is fresh.problem_in(with_host)
    assert "with.browser: " in (agent.problem_in(with_host) or "")
    servers = {"b": ToolServer.model_construct(browser=True)}
    assert None is agent.problem_in(with_host.model_copy(update={"servers": servers}))


@pytest.mark.parametrize(
    "rule",
    [
        {},
        {"expect": [{"selector": "p", "count": 0, "visible": False}]},
        {"expect": [{"selector": ""}]},
        {"url": "ftp://x"},
    ],
)
def test_a_page_check_that_asks_nothing_or_the_impossible_is_refused(rule: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"asks nothing|count: 0|selector|url"):
        VERIFIERS["dom"].model_validate(rule)


def rewarded(evidence: Build, written: dict[str, Any], **trial: Any) -> tuple[bool | None, str, dict[str, Any]]:
    digest = task_tests_command({"digest": "d", "timeout_s": 600.0, "env": {}}).digest
    program = {"code": 1, "stdout": "o" * 2001, "stderr": "e"} | trial.pop("exit", {})
    commands = {"k": {"digest": digest, "exit": program, "written": written}}
    passed, reason, details = (
        VERIFIERS["task_tests"].model_validate({"digest": "d"}).verify(evidence(commands=commands, **trial))
    )
    return passed, reason, details


@pytest.mark.parametrize(
    ("written", "passed", "reason"),
    [
        ({"reward.txt": "1"}, True, "the tests gave reward 1"),
        ({"reward.txt": "0.99"}, False, "the tests gave reward 0.99"),
        ({"reward.json": '{"a": 1, "b": 2}'}, True, "a 1, b 2"),
        ({"reward.json": '{"a": 1, "b": 0.5}'}, False, "a 1, b 0.5"),
        ({"reward.json": '{"reward": 1, "b": 0}'}, True, "gave reward 1"),
        ({"reward.json": '{"reward": 0}', "reward.txt": "1"}, False, "gave reward 0"),
        ({"reward.json": "true"}, True, "gave reward 1"),
        ({"reward.json": '{"reward": false}'}, False, "gave reward 0"),
        ({"reward.json": "{}"}, False, "reward.json of the tests holds no reward"),
        ({"reward.json": '{"reward": "1"}'}, False, "reward is '1', and no finite number"),
        ({"reward.json": '{"reward": NaN}'}, False, "no finite number"),
        ({"reward.json": '{"reward": 1' + "0" * 400 + "}"}, False, "no finite number"),
        ({"reward.txt": "inf"}, False, "no finite number"),
        ({"reward.txt": "passed"}, False, "reward.txt of the tests is malformed: 'passed'"),
        ({"reward.json": None}, False, "reward.json of the tests cannot be read"),
        ({}, False, "the tests wrote no reward"),
    ],
)
def test_the_tests_of_a_task_folder_are_believed_by_their_reward(
    evidence: Build, written: dict[str, Any], passed: bool, reason: str
) -> None:
    found, said, details = rewarded(evidence, written)
    assert passed == found
    assert reason in said
    assert ("o" * 2000, "e", 1) == (details["stdout"], details["stderr"], details["code"])


def test_tests_that_did_not_end_or_did_not_see_all_give_no_reward(evidence: Build) -> None:
    good = {"reward.txt": "1"}
    assert (False, "the tests did not end within 600 s") == rewarded(evidence, good, exit={"timed_out": True})[:2]
    passed, reason, details = rewarded(evidence, good, end_state={"complete": False})
    assert (None, "agent") == (passed, details["unmeasured_by"])
    assert reason.endswith("it was too large")
    assert True is rewarded(evidence, good, end_state={"complete": True})[0]
    other = VERIFIERS["task_tests"].model_validate({"digest": "other"})
    assert (None, "the test script was not run: run again", {}) == other.verify(evidence())
    made = evidence(commands={"k": {"digest": "0", "exit": {"code": 0}}})
    assert "changed" in other.verify(made)[1]


@pytest.mark.parametrize(
    ("reward", "at_least", "passed"),
    [(1, 1.0, True), (0.5, 1.0, False), (0.5, 0.5, True), (0, 0.0, True), (True, 1.0, None), ("1", 1.0, None)],
)
def test_an_imported_reward_passes_from_its_floor_on(
    evidence: Build, reward: Any, at_least: float, passed: Any
) -> None:
    check = VERIFIERS["reward"].model_validate({"at_least": at_least})
    assert passed is check.verify(evidence(states={"reward": reward}))[0]
    assert None is check.verify(evidence())[0]


def test_a_failure_that_was_found_once_must_not_be_found_again(evidence: Build) -> None:
    loop = evidence([("find", {"query": "x"})] * 3)
    clean = evidence([("find", {"query": "x"})])

    def told(made: Evidence, **rule: Any) -> tuple[bool | None, str]:
        return VERIFIERS["no_failure"].model_validate({"failure": "loop_trap"} | rule).verify(made)[:2]

    assert (True, "no loop_trap was found") == told(clean)
    assert (False, True) == (told(loop)[0], told(loop)[1].startswith("repeated_call from step 1: find: 3 times"))
    assert True is told(loop, kinds=["unchanged_retry"])[0]
    assert False is told(loop, kinds=["repeated_call", "unchanged_retry"])[0]
    assert True is told(loop, failure="goal_drift")[0]
