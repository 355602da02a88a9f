"""What an agent makes unmeasurable fails its check; what the harness or the suite cannot tell stays unknown."""

import pytest

from harness.scoring.scorer import score_trial
from harness.suite.checks import CommandCheck

ADDED = [{"path": "/work/a", "change": "added"}]
PARTIAL = {"changes": ADDED, "complete": False, "problem": "larger than is read back"}
COMPLETE = {**PARTIAL, "complete": True, "problem": None}
RAN = {"digest": CommandCheck(name="", run=("true",), timeout_s=30.0).digest, "exit": {"code": 0}}
UNREAD = {"p": {"unmeasurable": "larger than is read back"}}
PROBES = {"sql": {"path": "a.db", "query": "SELECT 1"}, "api": {"server": "s", "path": "/"}, "state": {"tool": "find"}}

FILES = {"verifier": "files", "with": {"added": ["a"]}}
COMMAND = {"verifier": "command", "with": {"run": ["true"]}}
SQL = {"verifier": "sql", "with": {"probe": "p", "count": 1}}
API = {"verifier": "api", "with": {"probe": "p"}}
STATE = {"verifier": "state", "with": {"probe": "p", "equals": {}}}
SCHEMA = {"verifier": "json_schema", "with": {"of": "probe", "probe": "p", "schema": {}}}


@pytest.mark.parametrize(
    ("check", "hidden", "honest"),
    [
        (FILES, {"end_state": PARTIAL}, {"end_state": COMPLETE}),
        (COMMAND, {"commands": {"k": RAN}, "end_state": PARTIAL}, {"commands": {"k": RAN}, "end_state": COMPLETE}),
        (SQL, {"states": UNREAD}, {"states": {"p": {"rows": [{"a": 1}]}}}),
        (API, {"states": UNREAD}, {"states": {"p": {"status": 200, "body": {}}}}),
        (STATE, {"states": UNREAD}, {"states": {"p": {}}}),
        (SCHEMA, {"states": UNREAD}, {"states": {"p": {}}}),
    ],
)
def test_a_check_that_the_agent_has_blinded_fails_and_says_why(evidence, suite, check, hidden, honest) -> None:
    probe = [{"name": "p", **{k: v for k, v in PROBES.items() if k == check["verifier"]}}]
    declared = suite([{"checks": [{"name": "k", **check}], "probes": probe if "sql" in probe[0] or "api" in probe[0]
                       else [{"name": "p", "tool": "find"}]}])  # fmt: skip

    (verdict,) = score_trial(evidence(**hidden), declared).verdicts
    assert False is verdict.passed
    assert verdict.reason.startswith("failed, because what the agent left cannot be checked: ")
    assert "larger than is read back" in verdict.reason
    assert True is score_trial(evidence(**honest), declared).success


def test_what_was_never_run_or_kept_stays_unknown(evidence, suite) -> None:
    for check in (FILES, COMMAND):
        card = score_trial(evidence(), suite([{"checks": [{"name": "k", **check}]}]))
        assert (None, True) == (card.success, card.undecided)


def test_an_answer_that_no_check_can_read_fails_it(evidence, suite) -> None:
    check = {"name": "k", "verifier": "json_schema", "with": {"schema": {"type": "array", "items": {"$ref": "#"}}}}
    declared = suite([{"checks": [check]}])
    (verdict,) = score_trial(evidence(answer="[" * 900 + "]" * 900), declared).verdicts
    assert False is verdict.passed
    assert "nested" in verdict.reason or "RecursionError" in verdict.reason
    assert True is score_trial(evidence(answer="[[]]"), declared).success


def test_tokens_are_those_that_the_gateway_counted_whatever_the_replies_tell(evidence, suite) -> None:
    limited = suite([{"checks": [{"name": "k", "verifier": "max_tokens", "with": {"limit": 100}}]}])
    used = {"replies": 1, "input_tokens": 90, "output_tokens": 11}
    assert False is score_trial(evidence(model_use=used, exit={"code": 0}), limited).success
    assert True is score_trial(evidence(model_use=used | {"output_tokens": 10}), limited).success
    assert True is score_trial(evidence(exit={"code": 0}), limited).success  # it asked no model
    assert None is score_trial(evidence(), limited).success  # imported: nobody counted


def test_more_calls_without_a_recording_than_the_case_allows_fail_it(evidence, suite) -> None:
    misses = [{"tool": "find", "arguments": {"query": str(n)}} for n in range(3)]
    passing = {"name": "k", "verifier": "final_answer", "with": {"contains": "done"}}
    for allowed, success in ((2, False), (3, True), (None, True)):
        limits = {} if allowed is None else {"limits": {"misses": allowed}}
        case = {"checks": [passing], **limits}
        card = score_trial(evidence(case=case, outcome="limit_reached", misses=misses), suite([case]))
        assert success is card.success
    assert None is score_trial(evidence(case=case, outcome="inconclusive", misses=misses), suite([case])).success
