"""Sessions of other instrumentations are read as what they say: Vercel's AI SDK, Langfuse, Claude Code, older GenAI."""

import json
from typing import Any

from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest

from harness.trace import Trajectory
from tests.online.receiving import Served, request, span

PROMPT = [{"role": "user", "content": [{"type": "text", "text": "Where is order 7?"}]}]
CALL = {"toolCallId": "t1", "toolName": "find_order", "args": {"id": 7}}


def told(served: Served, session: str, *spans: dict[str, Any]) -> Trajectory:
    assert {} == served.post("/v1/traces", request(*spans)).json
    found = served.store().trajectory(session)
    assert found is not None
    return found


def assert_order_told(found: Trajectory) -> None:
    assert ["Where is order 7?"] == [step.message for step in found.steps if step.source == "user"]
    assert [("find_order", {"id": 7})] == [(call.name, call.arguments) for call in found.calls]
    (seen,) = found.observations.values()
    assert ({"state": "sent"}, None) == (seen.content, seen.error)
    assert "It was sent." == found.final_output


def test_the_ai_sdk_of_vercel(served: Served) -> None:
    answered = [
        *PROMPT,
        {"role": "assistant", "content": [{"type": "tool-call", **CALL}]},
        {"role": "tool", "content": [{"type": "tool-result", "toolCallId": "t1", "toolName": "find_order",
                                      "result": {"state": "sent"}}]},
    ]  # fmt: skip
    root = {"ai.operationId": "ai.generateText", "ai.telemetry.metadata.sessionId": "v1"}
    found = told(
        served,
        "v1",
        span(1, 1, attributes=root),
        span(1, 2, parentSpanId=f"{1001:016x}", attributes={
            "ai.operationId": "ai.generateText.doGenerate", "ai.model.id": "m",
            "ai.prompt.messages": json.dumps(PROMPT),
            "ai.response.toolCalls": json.dumps([CALL]), "ai.usage.promptTokens": 12}),
        span(1, 3, parentSpanId=f"{1001:016x}", attributes={
            "ai.operationId": "ai.toolCall", "ai.toolCall.name": "find_order", "ai.toolCall.id": "t1",
            "ai.toolCall.args": '{"id": 7}', "ai.toolCall.result": '{"state": "sent"}'}),
        span(1, 4, parentSpanId=f"{1001:016x}", attributes={
            "ai.operationId": "ai.generateText.doGenerate", "ai.model.id": "m",
            "ai.prompt.messages": json.dumps(answered), "ai.response.text": "It was sent."}),
    )  # fmt: skip
    assert_order_told(found)
    assert "m" in {step.model for step in found.steps}


def test_langfuse(served: Served) -> None:
    call = {"id": "t1", "type": "function", "function": {"name": "find_order", "arguments": '{"id": 7}'}}
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
            kind: "generation", given: json.dumps(asked),
            gave: json.dumps({"role": "assistant", "content": None, "tool_calls": [call]})}),
        span(2, 3, parentSpanId=f"{2001:016x}", name="find_order", attributes={
            kind: "tool", given: '{"id": 7}', gave: '{"state": "sent"}'}),
        span(2, 4, parentSpanId=f"{2001:016x}", attributes={
            kind: "generation", given: json.dumps(answered), gave: "It was sent."}),
    )  # fmt: skip
    assert_order_told(found)
    assert "shop" == found.agent


def test_events_of_claude_code(served: Served) -> None:
    logs = ExportLogsServiceRequest()
    records = logs.resource_logs.add().scope_logs.add().log_records
    for number, (name, facts) in enumerate(
        (
            ("user_prompt", {"prompt": "Mend the test"}),
            ("api_request", {"model": "claude", "input_tokens": "120", "output_tokens": "9"}),
            ("tool_result", {"tool_name": "Bash", "success": "true", "tool_parameters": '{"command": "pytest"}'}),
            ("tool_result", {"tool_name": "Edit", "success": "false", "error": "no such file"}),
        )
    ):
        one = records.add(time_unix_nano=1000 + number)
        one.body.string_value = f"claude_code.{name}"
        for key, value in {"event.name": name, "session.id": "cc", **facts}.items():
            one.attributes.add(key=key).value.string_value = value
    assert 200 == served.post("/v1/logs", logs.SerializeToString()).status

    found = served.store().trajectory("cc")
    assert found is not None
    assert ["Mend the test"] == [step.message for step in found.steps if step.source == "user"]
    assert ["Bash", "Edit"] == [call.name for call in found.calls]
    assert [None, "no such file"] == [seen.error and seen.error.message for seen in found.observations.values()]


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
