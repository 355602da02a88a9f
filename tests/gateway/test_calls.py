"""Every call is known, allowed, within the limits and valid before it is answered; and every one is traced."""

import json
from pathlib import Path

import pytest

from harness.errors import ServiceError
from harness.suite.cases import Case, Limits
from harness.suite.suites import Suite, ToolServer
from harness.suite.tools import HttpRoute, ToolSpec
from harness.traces import names
from harness.traces.projection import trajectory_from
from harness.traces.trajectory import Trajectory


def error_of(answer: tuple[int, dict]) -> tuple[int, str]:
    return answer[0], answer[1]["error"]["type"]


def traced(run, play, **more) -> Trajectory:
    return trajectory_from(run("live", play, **more).spans)


def elsewhere(suite: Suite, shop, **server) -> dict[str, Suite]:
    """The shop as somebody else's server: what it answers is the tool's own."""
    away = ToolServer(base_url=shop.url, session_header="X-Order-Session", disposable=True, **server)
    return {"suite": suite.model_copy(update={"servers": {"shop": away}})}


def test_the_user_speaks_once_and_the_last_reply_is_the_final_answer(run) -> None:
    def play(agent) -> None:
        assert agent.ask("GET", "/turn") == (
            200,
            {"message": "One egg, please.", "system": "Be quick.", "profile": {"name": "Ann"}},
        )
        assert agent.ask("GET", "/turn") == (204, None)
        assert agent.ask("POST", "/reply", {"message": "One moment."}) == (204, None)
        assert agent.ask("POST", "/reply", {"message": "Done. \U0001f373"}) == (204, None)

    record = run("live", play)
    assert record.final_reply == "Done. \U0001f373"
    steps = trajectory_from(record.spans).steps
    assert [(step.source, step.message) for step in steps] == [
        ("user", "One egg, please."),
        ("agent", "One moment."),
        ("agent", "Done. \U0001f373"),
    ]


def test_the_agent_sees_the_allowed_tools_and_the_forbidden_ones(run, case: Case) -> None:
    narrow = case.model_copy(update={"tools": ("look",), "forbidden_tools": ("add",)})
    seen = []

    def play(agent) -> None:
        seen.append(agent.ask("GET", "/tools")[1]["tools"])
        assert agent.call("add", item="egg")[0] == 200
        assert error_of(agent.call("order")) == (403, "not_allowed")

    trajectory = traced(run, play, case=narrow)
    assert [tool["name"] for tool in seen[0]] == ["look", "add"]
    assert seen[0][0]["description"] == "Finds items."
    assert seen[0][0]["parameters"]["required"] == ["q"]
    assert [call.name for call in trajectory.calls] == ["add", "order"]


@pytest.mark.parametrize("name", ["nope", "LOOK", "Look", "look%2F..%2Fadd", "../turn", "look/", "", "%00", "a" * 5000])
def test_a_tool_that_is_not_there_is_answered_and_traced_as_it_was_called(run, name: str) -> None:
    trajectory = traced(run, lambda agent: error_of_unknown(agent, name))

    assert [observation.error.type for observation in trajectory.observations.values()] == ["unknown_tool"]


def error_of_unknown(agent, name: str) -> None:
    status, answer = agent.ask("POST", f"/tools/{name}", {})
    assert (status, answer["error"]["type"]) == (404, "unknown_tool")
    assert "look, add" in answer["error"]["message"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b'"q"',
        b"null",
        b'{"q": NaN}',
        b'{"q": 1e999}',
        b'{"q": "\xff"}',
        b'{"q": "\\ud800"}',
        b"[" * 100_000,
        b'{"q":' * 200 + b"1" + b"}" * 200,
        b'{"q": ' + b"9" * 10_000 + b"}",
        b"q=egg",
    ],
)
def test_arguments_that_are_no_json_object_are_told_and_kept_as_they_came(run, body: bytes) -> None:
    answers = []
    trajectory = traced(run, lambda agent: answers.append(agent.ask("POST", "/tools/look", body)))

    assert error_of(answers[0]) == (400, "unparsable_arguments")
    (call,) = trajectory.calls
    assert (call.arguments, call.unparsed) == (None, body.decode("utf-8", "replace"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({}, "$: 'q' is a required property"),
        ({"q": 1}, "$.q: 1 is not of type 'string'"),
        ({"q": "egg", "limit": True}, "$.limit: True is not of type 'integer'"),
        ({"q": "egg", "limit": 1.5}, "$.limit: 1.5 is not of type 'integer'"),
        ({"q": "egg", "more": 1}, "$: Additional properties are not allowed ('more' was unexpected)"),
    ],
)
def test_arguments_that_the_schema_does_not_allow_are_named_by_path(run, shop, arguments: dict, said: str) -> None:
    answers = []
    trajectory = traced(run, lambda agent: answers.append(agent.call("look", **arguments)))

    assert error_of(answers[0]) == (422, "invalid_arguments")
    assert answers[0][1]["error"]["message"].endswith(said)
    assert trajectory.calls[0].arguments == arguments
    assert [path for _, path, _, _ in shop.seen] == ["/order"]


def test_an_integral_float_is_an_integer(run) -> None:
    answers = []
    traced(run, lambda agent: answers.append(agent.ask("POST", "/tools/look", b'{"q": "egg", "limit": 2.0}')))

    assert answers == [(200, {"found": ["egg"]})]


@pytest.mark.parametrize("content_type", [None, "text/plain", "application/x-www-form-urlencoded", "image/png; x"])
def test_json_is_read_whatever_the_client_calls_it(run, content_type: str | None) -> None:
    headers = {} if content_type is None else {"Content-Type": content_type}
    answers = []
    traced(run, lambda agent: answers.append(agent.ask("POST", "/tools/look", {"q": "egg"}, headers)))

    assert answers == [(200, {"found": ["egg"]})]


@pytest.mark.parametrize(
    ("answer", "expected"),
    [
        ((200, {}, b'{"a": 1.0,  "b":"\\u00e9"}'), (200, None)),
        ((200, {}, b"null"), (200, None)),
        ((201, {}, b"[]"), (200, None)),
        ((204, {}, b""), (200, None)),
        ((200, {}, b""), (502, "malformed_result")),
        ((200, {}, b"<html>"), (502, "malformed_result")),
        ((200, {}, b'{"a": NaN}'), (502, "malformed_result")),
        ((200, {}, b"\xff"), (502, "malformed_result")),
        ((302, {"Location": "/order"}, b""), (502, "malformed_result")),
        ((400, {}, b'{"detail": "no"}'), (400, "tool_error")),
        ((424, {}, b"plain text"), (424, "tool_error")),
        ((429, {"Retry-After": "7"}, b""), (429, "tool_error")),
        ((500, {}, b"{}"), (502, "tool_unavailable")),
        ((503, {}, b"{}"), (502, "tool_unavailable")),
    ],
)
def test_every_answer_of_a_tool_has_one_meaning(run, shop, suite, answer, expected: tuple[int, str | None]) -> None:
    shop.answer = answer
    got = []
    traced(run, lambda agent: got.append(agent.ask_raw("POST", "/tools/answer", {})), **elsewhere(suite, shop))
    ((status, headers, body),) = got

    assert status == expected[0]
    if expected[1] is None:
        assert body == (answer[2] or b"null")
    else:
        assert json.loads(body)["error"]["type"] == expected[1]
    assert headers.get("retry-after") == answer[1].get("Retry-After")


def test_what_the_tool_said_is_passed_on(run, shop) -> None:
    shop.answer = (409, {}, b'{"detail": "the kitchen is closed"}')
    got = []
    trajectory = traced(run, lambda agent: got.append(agent.call("answer")))

    assert got[0][1]["error"] == {
        "type": "tool_error",
        "message": "answer refused the call: 409 Conflict",
        "body": {"detail": "the kitchen is closed"},
    }
    assert trajectory.steps[0].observations[0].content == got[0][1]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("slow", (504, "timeout")),
        ("garbled", (502, "malformed_result")),
        ("big", (502, "malformed_result")),
    ],
)
def test_a_tool_that_misbehaves_is_told_in_the_closed_vocabulary(run, shop, suite, name: str, expected) -> None:
    got = []
    traced(run, lambda agent: got.append(agent.call(name)), **elsewhere(suite, shop))

    assert error_of(got[0]) == expected


@pytest.mark.parametrize(
    ("name", "answer", "said"),
    [
        ("garbled", None, "service 'shop' answered garbled with something that is not HTTP"),
        ("answer", (200, {}, b"<html>"), "service 'shop' answered answer with something that is not JSON"),
    ],
)
def test_a_service_of_the_trial_that_answers_garbage_is_the_harness_failure(run, shop, name, answer, said) -> None:
    shop.answer = answer or shop.answer
    with pytest.raises(ServiceError, match=said):
        run("sealed", lambda agent: agent.call(name))


def test_a_live_read_whose_connection_was_lost_is_sent_again_and_the_trace_tells(run, shop, suite) -> None:
    got = []
    shop.resets = 2
    record = run("live", lambda agent: got.append(agent.call("order")), **elsewhere(suite, shop))
    (span,) = [one for one in record.spans if one.attributes.get(names.STEP_KIND) == names.TOOL]

    assert got[0] == (200, {"lines": []})
    lost = json.loads(str(span.attributes[names.TOOL_RETRIED]))
    assert [one.partition(":")[0] for one in lost] == ["ServerDisconnectedError"] * 2
    assert 4 == len(shop.seen)  # with the probe's read


def test_a_live_read_that_outlasts_its_retries_is_an_outage(run, shop, suite) -> None:
    got = []
    shop.resets = 3
    outage = run("live", lambda agent: got.append(agent.call("order")), **elsewhere(suite, shop)).outage

    assert error_of(got[0]) == (502, "reset")
    assert (outage.server, outage.tool, outage.answered) == ("shop", "order", False)
    assert "ServerDisconnectedError" in outage.reason


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
def test_a_write_is_never_sent_twice(run, shop, suite, method: str) -> None:
    write = ToolSpec(name="write", server="shop", http=HttpRoute(method=method, path="/order"))
    away = elsewhere(suite.model_copy(update={"tools": (*suite.tools, write)}), shop)
    shop.resets = 1
    assert "write" == run("live", lambda agent: agent.call("write"), **away).outage.tool

    assert [method] == [sent for sent, _, _, _ in shop.seen if sent != "GET"]


def test_a_read_of_a_service_of_the_trial_is_not_sent_again(run, shop) -> None:
    got = []
    shop.resets = 1
    run("sealed", lambda agent: got.append(agent.call("order")))

    assert error_of(got[0]) == (502, "reset")


@pytest.mark.parametrize(("tool", "retried"), [("look", True), ("add", False)])
def test_a_live_read_that_finds_no_server_is_tried_again_and_a_write_is_not(
    run, suite, shop, tool: str, retried: bool
) -> None:
    argument = "q" if tool == "look" else "item"
    shop.url = "http://127.0.0.1:1"
    outage = run("live", lambda agent: agent.call(tool, **{argument: "egg"}), **elsewhere(suite, shop)).outage

    assert retried == ("ClientConnectorError" in outage.reason)


def test_a_recording_keeps_nothing_of_a_tool_that_cannot_be_reached(run, suite: Suite, tmp_path: Path) -> None:
    away = suite.model_copy(update={"servers": {"shop": ToolServer(base_url="http://127.0.0.1:1", disposable=True)}})
    assert "shop" == run("record", lambda agent: agent.call("look", q="egg"), suite=away).outage.server

    assert list(tmp_path.glob("cassettes/**/*.yaml")) == []


def test_past_the_limit_every_call_is_refused_and_only_the_first_is_kept(run, case: Case) -> None:
    short = case.model_copy(update={"limits": Limits(steps=2)})
    answers = []

    def play(agent) -> None:
        answers.extend(agent.call("look", q="egg")[0] for _ in range(5))
        answers.append(error_of(agent.call("nope")))
        agent.ask("POST", "/reply", {"message": "I give up."})

    record = run("live", play, case=short)
    assert answers == [200, 200, 403, 403, 403, (403, "limit_reached")]
    assert (record.limit_reached, record.final_reply) == ("2 tool calls", "I give up.")
    assert len(trajectory_from(record.spans).calls) == 3
    assert record.states == {"order": {"lines": []}}


def test_a_plan_of_more_items_than_are_measured_is_refused(run) -> None:
    answers = []
    steps = traced(
        run,
        lambda agent: answers.extend(
            agent.ask("POST", "/thought", {"text": "x", "plan": ["look"] * items})[0] for items in (1000, 1001)
        ),
    ).steps
    assert [204, 422] == answers
    assert [1000] == [len(step.plan) for step in steps if step.plan is not None]


def test_thoughts_and_plans_belong_to_the_next_step(run) -> None:
    def play(agent) -> None:
        agent.ask("GET", "/turn")
        agent.ask("POST", "/thought", {"text": "An egg?", "plan": ["look"]})
        agent.ask("POST", "/thought", {"text": "Look.", "plan": ["look", "add"]})
        agent.call("look", q="egg")
        agent.ask("POST", "/thought", {"text": "Enough."})
        agent.ask("POST", "/reply", {"message": "Here."})
        agent.ask("POST", "/thought", {"text": "Was that right?"})

    steps = traced(run, play).steps
    assert [(step.message, step.thought, step.plan) for step in steps] == [
        ("One egg, please.", None, None),
        (None, "An egg?\nLook.", ("look", "add")),
        ("Here.", "Enough.", None),
        (None, "Was that right?", None),
    ]


@pytest.mark.parametrize(
    ("route", "body", "expected"),
    [
        ("/reply", b"{", 400),
        ("/reply", {"text": "x"}, 422),
        ("/reply", {"message": 1}, 422),
        ("/reply", ["message"], 422),
        ("/thought", {"text": "x", "plan": "y"}, 422),
        ("/thought", b'{"text": "\\ud800"}', 400),
    ],
)
def test_a_saying_of_another_shape_is_refused_with_its_field(run, route: str, body, expected: int) -> None:
    got = []
    record = run("live", lambda agent: got.append(agent.ask("POST", route, body)))

    assert error_of(got[0]) == (expected, "bad_request")
    assert record.final_reply is None
