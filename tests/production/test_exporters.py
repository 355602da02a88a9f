"""Sessions of ADK, Strands, LangGraph and traceloop are read as what they say, with content and without."""

import json
from typing import Any

import pytest

from tests.production.receiving import Served, span
from tests.production.test_dialects import assert_order_told, told

ROOT = f"{1001:016x}"
RESULT = {"state": "sent"}


def adk_spans(*, content: bool = True) -> list[dict[str, Any]]:
    """Two requests to the model with a call between, as ADK 1.x sends them; `content`: its own variable's default."""
    asked: list[dict[str, Any]] = [{"role": "user", "parts": [{"text": "Where is order 7?"}]}]
    call = {"function_call": {"id": "adk-1", "name": "find_order", "args": {"id": 7}}}
    answered = {"function_response": {"id": "adk-1", "name": "find_order", "response": RESULT}}
    config = {
        "system_instruction": "Help people.",
        "tools": [{"function_declarations": [{
            "name": "find_order", "description": "Finds one.",
            "parameters": {"type": "OBJECT", "properties": {"id": {"type": "INTEGER"}}, "required": ["id"]}}]}],
    }  # fmt: skip

    def model(number: int, contents: list[dict[str, Any]], reply: dict[str, Any], **more: Any) -> dict[str, Any]:
        facts = {"gen_ai.system": "gcp.vertex.agent", "gen_ai.request.model": "gemini", "gen_ai.usage.input_tokens": 9,
                 "gcp.vertex.agent.session_id": "adk", "gcp.vertex.agent.invocation_id": "e-1"}  # fmt: skip
        request = {"model": "gemini", "config": config, "contents": contents}
        response = {"content": {"role": "model", "parts": [reply]}, "finish_reason": "STOP"}
        if content:
            facts |= {"gcp.vertex.agent.llm_request": json.dumps(request),
                      "gcp.vertex.agent.llm_response": json.dumps(response)}  # fmt: skip
        return span(1, number, name="call_llm", parentSpanId=ROOT, attributes=facts, **more)

    tool: dict[str, Any] = {
        "gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find_order", "gen_ai.tool.call.id": "adk-1",
        "gen_ai.tool.type": "FunctionTool", "gcp.vertex.agent.llm_request": "{}",
        "gcp.vertex.agent.llm_response": "{}",
    }  # fmt: skip
    if content:
        tool |= {"gcp.vertex.agent.tool_call_args": '{"id": 7}', "gcp.vertex.agent.tool_response": json.dumps(RESULT)}
    merged = {**tool, "gen_ai.tool.name": "(merged tools)", "gen_ai.tool.call.id": "e-9",
              "gcp.vertex.agent.tool_call_args": "N/A"}  # fmt: skip
    agent = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "shop", "gen_ai.conversation.id": "adk"}
    return [
        span(1, 1, name="invoke_agent shop", attributes=agent),
        model(2, asked, call),
        span(1, 3, name="execute_tool find_order", parentSpanId=ROOT, attributes=tool),
        span(1, 4, name="execute_tool (merged)", parentSpanId=ROOT, attributes=merged),
        model(5, [*asked, {"role": "model", "parts": [call]}, {"role": "user", "parts": [answered]}],
              {"text": "It was sent."}),
    ]  # fmt: skip


def test_adk_with_the_requests_and_responses_of_its_models(served: Served) -> None:
    found = told(served, "adk", *adk_spans())
    assert_order_told(found)
    assert ("shop", (), {"gemini"}) == (found.agent, found.uncaptured, {step.model for step in found.steps} - {None})
    assert ["Help people."] == [step.message for step in found.steps if step.source == "system"]
    (tool,) = served.store().session("adk").conversation.tools or ()
    assert ("find_order", "object", "integer") == (
        tool.name,
        (tool.parameters or {})["type"],
        (tool.parameters or {})["properties"]["id"]["type"],
    )


def test_adk_beside_the_spans_of_its_client(served: Served) -> None:
    """The client's span below `call_llm` tells of the same request, and by default without content."""
    spans = adk_spans()
    inner = {"gen_ai.operation.name": "generate_content", "gen_ai.request.model": "gemini"}
    spans += [span(1, 6 + place, parentSpanId=spans[place]["spanId"], attributes=inner) for place in (1, 4)]
    found = told(served, "adk", *spans)
    assert_order_told(found)
    assert 2 == len([step for step in found.steps if step.model])


def test_adk_without_content_names_tools_and_says_what_is_not_known(served: Served) -> None:
    found = told(served, "adk", *adk_spans(content=False))
    assert ["find_order"] == [call.name for call in found.calls]
    assert ("answer", "messages", "arguments", "results") == found.uncaptured


def test_traceloop(served: Served) -> None:
    history = {
        "gen_ai.prompt.0.role": "user", "gen_ai.prompt.0.content": "Where is order 7?",
        "gen_ai.prompt.1.role": "assistant", "gen_ai.prompt.1.tool_calls.0.id": "t1",
        "gen_ai.prompt.1.tool_calls.0.name": "find_order", "gen_ai.prompt.1.tool_calls.0.arguments": '{"id": 7}',
        "gen_ai.prompt.2.role": "tool", "gen_ai.prompt.2.tool_call_id": "t1",
        "gen_ai.prompt.2.content": '{"state": "sent"}',
    }  # fmt: skip
    first = {name: value for name, value in history.items() if name.startswith("gen_ai.prompt.0")}
    named = {
        "traceloop.association.properties.session_id": "tl",
        "llm.request.type": "chat",
        "gen_ai.request.model": "m",
    }
    found = told(
        served,
        "tl",
        span(1, 1, name="shop.workflow", attributes={"traceloop.span.kind": "workflow"}),
        span(1, 2, name="openai.chat", parentSpanId=ROOT, attributes={
            **named, **first, "gen_ai.completion.0.role": "assistant", "gen_ai.completion.0.tool_calls.0.id": "t1",
            "gen_ai.completion.0.tool_calls.0.name": "find_order",
            "gen_ai.completion.0.tool_calls.0.arguments": '{"id": 7}'}),
        span(1, 3, name="find_order.tool", parentSpanId=ROOT, attributes={
            "traceloop.span.kind": "tool", "traceloop.entity.name": "find_order",
            "traceloop.entity.input": '{"args": [], "kwargs": {"id": 7}}',
            "traceloop.entity.output": '{"state": "sent"}'}),
        span(1, 4, name="openai.chat", parentSpanId=ROOT, attributes={
            **named, **history, "gen_ai.completion.0.role": "assistant",
            "gen_ai.completion.0.content": "It was sent."}),
    )  # fmt: skip
    assert_order_told(found)


def test_traceloop_without_the_models_spans(served: Served) -> None:
    tool = {"traceloop.span.kind": "tool", "traceloop.entity.name": "find_order", "session.id": "tl",
            "traceloop.entity.input": '{"input_str": "7", "inputs": {"id": 7}}',
            "traceloop.entity.output": '{"state": "sent"}'}  # fmt: skip
    found = told(served, "tl", span(1, 1, attributes=tool))
    assert [("find_order", {"id": 7})] == [(call.name, call.arguments) for call in found.calls]
    assert "answer" in found.uncaptured


def said(role: str, **part: Any) -> dict[str, Any]:
    kind = "text" if "content" in part else "tool_call" if "arguments" in part else "tool_call_response"
    return {"role": role, "parts": [{"type": kind, **part}]}


ASKED = said("user", content="Where is order 7?")
CALLED = said("assistant", id="t1", name="find_order", arguments={"id": 7})
ANSWERED = said("tool", id="t1", response=RESULT)
TOOL = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": "find_order"}
ARGUMENTS = {"gen_ai.tool.call.arguments": '{"id": 7}', "gen_ai.tool.call.result": json.dumps(RESULT)}
SECOND = 10**9


def genai_spans(*tools: dict[str, Any]) -> list[dict[str, Any]]:
    """Two requests to the model, five seconds apart, and between them what `tools` say of a call."""

    def chat(number: int, after_s: float, given: list[Any], gave: Any) -> dict[str, Any]:
        facts = {"gen_ai.operation.name": "chat", "gen_ai.conversation.id": "g", "gen_ai.agent.name": "shop",
                 "gen_ai.input.messages": json.dumps(given), "gen_ai.output.messages": json.dumps([gave])}  # fmt: skip
        return timed(number, after_s, attributes=facts)

    return [
        chat(1, 0, [ASKED], CALLED),
        *tools,
        chat(9, 5, [ASKED, CALLED, ANSWERED], said("assistant", content="It was sent.")),
    ]


def timed(number: int, after_s: float, **more: Any) -> dict[str, Any]:
    start = 1_700_000_000 * SECOND + round(after_s * SECOND)
    times = {"startTimeUnixNano": str(start), "endTimeUnixNano": str(start + SECOND // 2)}
    return span(1, number, **times, **more)


@pytest.mark.parametrize("after_s", [-4, 1, 9])
@pytest.mark.parametrize("facts", [{"gen_ai.tool.call.id": "t1"}, {"gen_ai.tool.call.id": "adk-9"}, {}])
def test_a_call_that_a_reply_and_a_span_tell_is_one_whatever_the_clock_of_the_tool_says(
    served: Served, after_s: float, facts: dict[str, str]
) -> None:
    found = told(served, "g", *genai_spans(timed(2, after_s, attributes={**TOOL, **facts, **ARGUMENTS})))
    assert_order_told(found)
    assert [1] == [len(step.calls) for step in found.steps if step.calls]


@pytest.mark.parametrize("content", [{}, ARGUMENTS])
def test_a_call_that_the_span_of_a_client_tells_within_that_of_a_framework_is_one(
    served: Served, content: dict[str, str]
) -> None:
    outer = timed(2, 1, attributes={**TOOL, "gen_ai.tool.call.id": "run-1"})
    inner = timed(3, 1.1, parentSpanId=outer["spanId"], attributes={**TOOL, "gen_ai.tool.call.id": "mcp-1", **content})
    assert_order_told(told(served, "g", *genai_spans(outer, inner)))


def test_calls_with_other_arguments_and_those_that_are_asked_for_twice_stay_apart(served: Served) -> None:
    other = {**TOOL, "gen_ai.tool.call.id": "own", "gen_ai.tool.call.arguments": '{"id": 8}'}
    again = {**TOOL, "gen_ai.tool.call.id": "t9", **ARGUMENTS}
    asked = said("assistant", id="t2", name="find_order", arguments={"id": 7})
    later = {
        "gen_ai.operation.name": "chat",
        "gen_ai.agent.name": "shop",
        "gen_ai.output.messages": json.dumps([asked]),
    }
    spans = genai_spans(timed(2, 1, attributes={**TOOL, "gen_ai.tool.call.id": "t1", **ARGUMENTS}))
    spans += [timed(3, 2, attributes=other), timed(4, 20, attributes=later), timed(5, 21, attributes=again)]
    found = told(served, "g", *spans)
    assert [7, 8, 7] == [(call.arguments or {})["id"] for call in found.calls]


def test_strands_with_content_in_events(served: Served) -> None:
    def event(name: str, **facts: Any) -> dict[str, Any]:
        told = {key: value if isinstance(value, str) else json.dumps(value) for key, value in facts.items()}
        return {"name": name, "attributes": [{"key": key, "value": {"stringValue": one}} for key, one in told.items()]}

    asked = event("gen_ai.user.message", content=[{"text": "Where is order 7?"}])
    use = [{"toolUse": {"toolUseId": "t1", "name": "find_order", "input": {"id": 7}}}]
    block = {"status": "success", "content": [{"text": json.dumps(RESULT)}], "toolUseId": "t1"}
    schema = {"type": "object", "properties": {"id": {"type": "integer"}}}
    tool = {**TOOL, "gen_ai.tool.call.id": "t1", "gen_ai.tool.json_schema": json.dumps(schema),
            "gen_ai.tool.description": "Finds one."}  # fmt: skip
    chat = {"gen_ai.operation.name": "chat", "session.id": "st"}
    found = told(
        served,
        "st",
        span(1, 1, attributes=chat, events=[asked, event("gen_ai.choice", message=use)]),
        span(1, 2, attributes=tool, events=[
            event("gen_ai.tool.message", role="tool", content={"id": 7}, id="t1"),
            event("gen_ai.choice", id="t1", message=block["content"])]),
        span(1, 3, attributes=chat, events=[
            asked, event("gen_ai.assistant.message", content=use),
            event("gen_ai.tool.message", content=[{"toolResult": block}]),
            event("gen_ai.choice", message=[{"text": "It was sent."}])]),
    )  # fmt: skip
    assert_order_told(found)
    assert () == found.uncaptured
    assert [("find_order", schema)] == [
        (one.name, one.parameters) for one in served.store().session("st").conversation.tools or ()
    ]


def test_langgraph_names_its_agent_and_wraps_a_result_in_a_message(served: Served) -> None:
    message = {"content": json.dumps(RESULT), "type": "tool", "id": None, "tool_call_id": "t1", "status": "success"}
    first, *_, last = genai_spans()
    program = span(1, 7, name="shop", attributes={"openinference.span.kind": "CHAIN"})
    tool = {"openinference.span.kind": "TOOL", "tool.name": "find_order", "input.value": "7",
            "output.value": json.dumps({"type": "tool", "data": message})}  # fmt: skip
    for one in (first, last):
        one["attributes"] = [fact for fact in one["attributes"] if fact["key"] != "gen_ai.agent.name"]
        one["parentSpanId"] = program["spanId"]
    found = told(served, "g", program, first, timed(2, 1, attributes=tool), last)
    assert_order_told(found)
    assert "shop" == found.agent


def test_llama_index_marks_what_prepares_a_request_as_a_models_span_and_wraps_results(served: Served) -> None:
    kind = {"openinference.span.kind": "LLM", "session.id": "g"}
    prepares = timed(
        6, -1, attributes={**kind, "input.value": '{"tools": ["x"]}', "output.value": '{"messages": ["x"]}'}
    )
    wrapped = {"tool_name": "find_order", "raw_input": {"kwargs": {"id": 7}}, "raw_output": RESULT, "is_error": False}
    tool = {"openinference.span.kind": "TOOL", "tool.name": "find_order", "output.value": json.dumps(wrapped)}
    found = told(served, "g", prepares, *genai_spans(timed(2, 1, attributes=tool)))
    assert_order_told(found)
    assert 2 == len([step for step in found.steps if step.source == "agent"])
