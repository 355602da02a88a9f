"""A trial's spans at a collector, while the trial runs: their order, their tree, and nothing that is secret."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from harness.suite.conversations import Conversation, UserTurn
from harness.traces import names
from harness.traces.exporting import LiveExport
from harness.traces.tracer import Tracing
from tests.gateway.models.agents import chat_agent
from tests.gateway.models.conftest import KEY
from tests.traces.receiver import Receiver, receiving


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as started:
        yield started


@contextmanager
def exporting(receiver: Receiver) -> Iterator[Tracing]:
    export = LiveExport(f"{receiver.url}/v1/traces")
    try:
        yield Tracing(processors=[export.processor])
    finally:
        assert export.close().lost == 0


def test_a_call_is_there_before_the_agent_makes_its_next_one(run, receiver: Receiver) -> None:
    def order(agent) -> None:
        agent.call("look", q="egg")
        assert receiver.wait_for(lambda got: any(span.name == "execute_tool look" for span in got.spans))
        assert {"execute_tool look"} == {span.name for span in receiver.spans}  # its trial goes on, and its turn
        agent.call("order")

    with exporting(receiver) as tracing:
        run("live", order, tracing=tracing)
    assert 1 == len(receiver.named("execute_tool order"))


def test_model_calls_and_tool_calls_lie_below_their_turn_and_the_turn_below_the_trial(play, receiver) -> None:
    def order(agent) -> None:
        agent.ask("GET", "/turn")
        chat_agent(agent)

    with exporting(receiver) as tracing:
        record = play("live", order, model="live", tracing=tracing)
    chats, tools = receiver.named("chat small-1"), receiver.named("execute_tool look")
    assert (2, 2) == (len(chats), len(tools))
    assert [["invoke_agent a", "turn"]] * 4 == [receiver.path(span) for span in (*chats, *tools)]
    assert {3} == {span.kind for span in chats}  # SPAN_KIND_CLIENT
    turn, trial = receiver.one("turn"), receiver.one("invoke_agent a")
    assert all(trial.start_ns <= turn.start_ns <= s.start_ns <= s.end_ns <= turn.end_ns <= trial.end_ns for s in chats)
    assert {span.span_id for span in receiver.spans} == {span.span_id for span in record.spans}


def test_each_turn_of_a_conversation_has_its_calls(run, case, suite, receiver: Receiver) -> None:
    turns = (UserTurn(say="And ham."),)
    talk = case.model_copy(update={"task": "An egg.", "conversation": Conversation(turns=turns)})

    def order(agent) -> None:
        for wish in ("egg", "ham"):
            agent.ask("GET", "/turn")
            agent.call("look", q=wish)
            agent.ask("POST", "/reply", {"message": f"Here is {wish}."})
        assert 204 == agent.ask("GET", "/turn")[0]

    with exporting(receiver) as tracing:
        run("live", order, case=talk, suite=suite.model_copy(update={"cases": (talk,)}), tracing=tracing)
    said = {span.span_id: span.attributes[names.MESSAGE] for span in receiver.named("turn")}
    calls = receiver.named("execute_tool look")
    looked = {json.loads(call.attributes[names.TOOL_ARGUMENTS])["q"]: said[call.parent_id] for call in calls}
    assert {"egg": "An egg.", "ham": "And ham."} == looked


def test_the_agents_own_spans_arrive_marked_as_its_own(run, receiver: Receiver) -> None:
    span = {"traceId": "ab" * 16, "spanId": "cd" * 8, "name": "plan", "startTimeUnixNano": "1", "endTimeUnixNano": "2"}
    sent = {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}

    def trace(agent) -> None:
        assert 200 == agent.ask("POST", "/v1/traces", sent, {"Content-Type": "application/json"})[0]

    with exporting(receiver) as tracing:
        run("live", trace, tracing=tracing)
    own = receiver.one("plan")
    assert ("agent", "ab" * 16) == (own.attributes[names.ORIGIN], own.attributes[names.ORIGIN_TRACE])
    assert ["invoke_agent a"] == receiver.path(own)


@pytest.mark.parametrize("declared", [True, False], ids=["declared", "control"])
def test_what_is_a_secret_is_none_of_what_is_sent(
    run: Callable, shop, suite, receiver: Receiver, declared: bool
) -> None:
    secrets = {"SHOP_KEY": "sk-live-0123456789"} if declared else {}
    shop.answer = (200, {}, b'{"echo": "your key is sk-live-0123456789", "access_token": "tok-abcdefgh"}')
    own = {"traceId": "ab" * 16, "spanId": "cd" * 8, "name": "sk-live-0123456789"}

    def order(agent) -> None:
        agent.call("answer")
        agent.call("look", q="tok-abcdefgh")
        agent.call("nope", key="sk-live-0123456789")
        agent.ask("POST", "/tools/look", b"{sk-live-0123456789")
        agent.ask("POST", "/thought", {"text": "I know sk-live-0123456789"})
        agent.ask("POST", "/reply", {"message": "It is sk-live-0123456789."})
        agent.ask("POST", "/v1/traces", {"resourceSpans": [{"scopeSpans": [{"spans": [own]}]}]},
                  {"Content-Type": "application/json"})  # fmt: skip

    with exporting(receiver) as tracing:
        run("live", order, suite=suite.model_copy(update={"secrets": tuple(secrets)}), secrets=secrets, tracing=tracing)
    sent = b"".join(body for _, _, body in receiver.requests)
    assert declared == (b"sk-live-0123456789" not in sent)
    assert declared == (b"<secret:SHOP_KEY>" in sent)
    assert b"tok-abcdefgh" not in sent  # the content of a secret field, which needs no declaration


def test_the_key_of_the_model_is_none_of_what_is_sent(play, models, receiver: Receiver) -> None:
    with exporting(receiver) as tracing:
        play("live", chat_agent, model="live", tracing=tracing)
    assert any(KEY in headers.get("authorization", "") for _, headers, _ in models.seen)  # the control
    assert KEY.encode() not in b"".join(body for _, _, body in receiver.requests)
