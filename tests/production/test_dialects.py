"""Sessions of other instrumentations are read as what they say: Langfuse, older GenAI."""

import json
from typing import Any

from harness.traces.trajectory import Trajectory
from tests.production.receiving import Served, request, span


def told(served: Served, session: str, *spans: dict[str, Any]) -> Trajectory:
    assert {} == served.post("/v1/traces", request(*spans)).json
    found = served.store().session(session).trajectory
    assert found is not None
    return found


def assert_order_told(found: Trajectory) -> None:
    assert ["Where is order 7?"] == [step.message for step in found.steps if step.source == "user"]
    assert [("find_order", {"id": 7})] == [(call.name, call.arguments) for call in found.calls]
    (seen,) = found.observations.values()
    assert ({"state": "sent"}, None) == (seen.content, seen.error)
    assert "It was sent." == found.final_output


def test_langfuse(served: Served) -> None:
    call = {"id": "t1", "type": "function", "function": {"name": "find_order", "arguments": '{"id": 7}'}}
    declared = {"type": "function", "function": {"name": "find_order", "parameters": {"type": "object"}}}
    asked = [{"role": "user", "content": "Where is order 7?"}]
    answered = [
        *asked,
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "t1", "content": '{"state": "sent"}'},
    ]
    kind, given, gave = "langfuse.observation.type", "langfuse.observation.input", "langfuse.observation.output"
    found = told(
        served,
        "l1",
        span(2, 1, name="shop", attributes={kind: "agent", "langfuse.session.id": "l1"}),
        span(2, 2, parentSpanId=f"{2001:016x}", attributes={
            kind: "generation", given: json.dumps({"messages": asked, "tools": [declared]}),
            gave: json.dumps({"role": "assistant", "content": None, "tool_calls": [call]})}),
        span(2, 3, parentSpanId=f"{2001:016x}", name="find_order", attributes={
            kind: "tool", given: '{"args": [], "kwargs": {"id": 7}}', gave: '{"state": "sent"}'}),
        span(2, 4, parentSpanId=f"{2001:016x}", attributes={
            kind: "generation", given: json.dumps(answered), gave: "It was sent."}),
    )  # fmt: skip
    assert_order_told(found)
    assert "shop" == found.agent
    assert ["find_order"] == [tool.name for tool in served.store().session("l1").conversation.tools or ()]


def test_older_conventions_with_content_in_events(served: Served) -> None:
    def event(name: str, **facts: str) -> dict[str, Any]:
        return {
            "name": name,
            "attributes": [{"key": key, "value": {"stringValue": told}} for key, told in facts.items()],
        }

    found = told(
        served,
        "o1",
        span(3, 1, attributes={"gen_ai.operation.name": "chat", "session.id": "o1", "gen_ai.system": "openai"},
             events=[event("gen_ai.user.message", content="Where is order 7?"),
                     event("gen_ai.choice", message='{"content": "It was sent."}')]),
    )  # fmt: skip
    assert ["Where is order 7?", "It was sent."] == [step.message for step in found.steps]
