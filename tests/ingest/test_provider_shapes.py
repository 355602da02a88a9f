"""One conversation with one call, as providers, frameworks and platforms store it: always the same trajectory."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.errors import InvalidDocument
from harness.ingest import import_file
from tests.ingest.conftest import Importing

ASKED, ANSWERED = "weather in Rome?", "20 degrees"
ARGUMENTS: dict[str, Any] = {"city": "Rome"}
TEXT = json.dumps(ARGUMENTS)
CALL = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": TEXT}}


def _lc(name: str, **said: Any) -> dict[str, Any]:
    return {"lc": 1, "type": "constructor", "id": ["langchain", "schema", "messages", name], "kwargs": said}


RESPONSES: list[dict[str, Any]] = [
    {"type": "function_call", "name": "get_weather", "arguments": TEXT, "call_id": "c1"},
    {"type": "function_call_output", "call_id": "c1", "output": "20"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": ANSWERED}]},
]
LANGCHAIN: list[dict[str, Any]] = [
    _lc("HumanMessage", content=ASKED),
    _lc("AIMessage", content="", tool_calls=[{"name": "get_weather", "args": ARGUMENTS, "id": "c1"}]),
    _lc("ToolMessage", content="20", tool_call_id="c1", status="success"),
    _lc("AIMessage", content=ANSWERED),
]
BEDROCK: list[dict[str, Any]] = [
    {"role": "user", "content": [{"text": ASKED}]},
    {"role": "assistant", "content": [{"toolUse": {"toolUseId": "c1", "name": "get_weather", "input": ARGUMENTS}}]},
    {
        "role": "user",
        "content": [{"toolResult": {"toolUseId": "c1", "content": [{"text": "20"}], "status": "success"}}],
    },
    {"role": "assistant", "content": [{"text": ANSWERED}]},
]
ANTHROPIC: list[dict[str, Any]] = [
    {"role": "user", "content": ASKED},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "get_weather", "input": ARGUMENTS}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "20"}]},
    {"role": "assistant", "content": [{"type": "text", "text": ANSWERED}]},
]
EVENTS: list[dict[str, Any]] = [
    {"id": 0, "source": "user", "action": "message", "args": {"content": ASKED}},
    {"id": 1, "source": "environment", "observation": "agent_state_changed", "content": ""},
    {"id": 2, "source": "agent", "action": "get_weather", "args": {**ARGUMENTS, "thought": "look"}},
    {"id": 3, "source": "agent", "cause": 2, "observation": "run", "content": "20", "extras": {"exit_code": 0}},
    {"id": 4, "source": "agent", "action": "finish", "args": {"outputs": {"content": ANSWERED}}},
]
CHAT: dict[str, Any] = {
    "Responses API, output beside its input": {"input": [{"role": "user", "content": ASKED}], "output": RESPONSES},
    "Responses API, a text as its input": {"input": ASKED, "output": RESPONSES},
    "Gemini": {
        "contents": [
            {"role": "user", "parts": [{"text": ASKED}]},
            {"role": "model", "parts": [{"functionCall": {"name": "get_weather", "args": ARGUMENTS}}]},
            {"role": "user", "parts": [{"functionResponse": {"name": "get_weather", "response": {"output": "20"}}}]},
            {"role": "model", "parts": [{"text": ANSWERED}]},
        ]
    },
    "LangChain, serialised": {"messages": LANGCHAIN},
    "LangChain, below data": {
        "messages": [
            {"type": kind, "data": one["kwargs"]}
            for kind, one in zip(("human", "ai", "tool", "ai"), LANGCHAIN, strict=True)
        ]
    },
    "LangGraph's values": {"values": {"messages": LANGCHAIN}, "next": []},
    "AutoGen": {
        "messages": [
            {"source": "user", "type": "TextMessage", "content": ASKED},
            {
                "source": "helper",
                "type": "ToolCallRequestEvent",
                "content": [{"id": "c1", "name": "get_weather", "arguments": TEXT}],
            },
            {
                "source": "helper",
                "type": "ToolCallExecutionEvent",
                "content": [{"call_id": "c1", "content": "20", "name": "get_weather", "is_error": False}],
            },
            {"source": "helper", "type": "TextMessage", "content": ANSWERED},
        ]
    },
    "Bedrock": {"messages": BEDROCK},
    "Anthropic": {"messages": ANTHROPIC},
    "ShareGPT": {
        "conversations": [
            {"from": "human", "value": ASKED},
            {"from": "function_call", "value": json.dumps({"name": "get_weather", "arguments": ARGUMENTS})},
            {"from": "observation", "value": "20"},
            {"from": "gpt", "value": ANSWERED},
        ]
    },
    "Cohere": {
        "chat_history": [
            {"role": "USER", "message": ASKED},
            {"role": "CHATBOT", "message": None, "tool_calls": [{"name": "get_weather", "parameters": ARGUMENTS}]},
            {"role": "TOOL", "tool_results": [{"call": {"name": "get_weather"}, "outputs": "20"}]},
            {"role": "CHATBOT", "message": ANSWERED},
        ]
    },
    "OpenHands": EVENTS,
    "OpenHands, below history": {"instance_id": "x", "history": EVENTS},
    "Vercel AI SDK, user interface of version 4": {
        "messages": [
            {"role": "user", "content": ASKED, "parts": [{"type": "text", "text": ASKED}]},
            {
                "role": "assistant",
                "content": ANSWERED,
                "parts": [
                    {
                        "type": "tool-invocation",
                        "toolInvocation": {
                            "state": "result",
                            "toolCallId": "c1",
                            "toolName": "get_weather",
                            "args": ARGUMENTS,
                            "result": "20",
                        },
                    },
                    {"type": "text", "text": ANSWERED},
                ],
            },
        ]
    },
    "Vercel AI SDK, user interface of version 5": {
        "messages": [
            {"role": "user", "parts": [{"type": "text", "text": ASKED}]},
            {
                "role": "assistant",
                "parts": [
                    {"type": "step-start"},
                    {"type": "tool-get_weather", "toolCallId": "c1", "input": ARGUMENTS, "output": "20"},
                    {"type": "text", "text": ANSWERED},
                ],
            },
        ]
    },
    "Vercel AI SDK, messages of models": {
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": ASKED}]},
            {
                "role": "assistant",
                "content": [{"type": "tool-call", "toolCallId": "c1", "toolName": "get_weather", "input": ARGUMENTS}],
            },
            {
                "role": "tool",
                "content": [{"type": "tool-result", "toolCallId": "c1", "output": {"type": "text", "value": "20"}}],
            },
            {"role": "assistant", "content": [{"type": "text", "text": ANSWERED}]},
        ]
    },
    "Pydantic AI": [
        {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": ASKED}]},
        {
            "kind": "response",
            "parts": [{"part_kind": "tool-call", "tool_name": "get_weather", "args": ARGUMENTS, "tool_call_id": "c1"}],
        },
        {
            "kind": "request",
            "parts": [{"part_kind": "tool-return", "tool_name": "get_weather", "content": "20", "tool_call_id": "c1"}],
        },
        {"kind": "response", "parts": [{"part_kind": "text", "content": ANSWERED}]},
    ],
    "DSPy's ReAct": {
        "question": ASKED,
        "trajectory": {
            "thought_0": "look",
            "tool_name_0": "get_weather",
            "tool_args_0": ARGUMENTS,
            "observation_0": "20",
            "tool_name_1": "finish",
            "tool_args_1": {},
            "observation_1": "Completed.",
        },
        "answer": ANSWERED,
    },
    "intermediate steps of an executor": {
        "input": ASKED,
        "output": ANSWERED,
        "intermediate_steps": [[{"tool": "get_weather", "tool_input": ARGUMENTS, "log": "look"}, "20"]],
    },
    "messages one object deeper": {
        "score": 1.0,
        "result": {
            "messages": [
                {"role": "user", "content": ASKED},
                {"role": "assistant", "tool_calls": [CALL]},
                {"role": "tool", "tool_call_id": "c1", "content": "20"},
                {"role": "assistant", "content": ANSWERED},
            ]
        },
    },
}


def _told(trial: Any) -> tuple[object, ...]:
    steps = trial.trajectory.steps
    calls = [(call.name, call.arguments) for step in steps for call in step.calls]
    answers = [(str(seen.content), seen.error) for step in steps for seen in step.observations]
    return [step.message for step in steps if step.source == "user"], calls, answers, trial.trajectory.final_output


WANTED = ([ASKED], [("get_weather", ARGUMENTS)], [("20", None)], ANSWERED)


@pytest.mark.parametrize("shape", CHAT)
def test_a_conversation_is_the_same_however_a_provider_or_framework_stores_it(importing: Importing, shape: str) -> None:
    run = importing("openai-chat", CHAT[shape])
    [(trial, _)] = run.trials
    assert WANTED == _told(trial)
    assert ASKED == run.suite.cases[0].task


@pytest.mark.parametrize("format", ["anthropic", "openai-chat"])
@pytest.mark.parametrize("messages", [BEDROCK, ANTHROPIC], ids=["bedrock", "anthropic"])
def test_blocks_are_read_by_both_importers_of_messages(importing: Importing, format: str, messages: Any) -> None:
    [(trial, _)] = importing(format, {"messages": messages}).trials
    assert WANTED == _told(trial)


@pytest.mark.parametrize("format", ["anthropic", "openai-chat"])
def test_lines_of_a_coding_agents_transcript_are_one_conversation(importing: Importing, format: str) -> None:
    lines = [{"type": "summary", "sessionId": "s"}]
    lines += [
        {"type": one["role"], "sessionId": "s", "uuid": str(n), "message": one} for n, one in enumerate(ANTHROPIC)
    ]
    [(trial, _)] = importing(format, lines, name="session.jsonl").trials
    assert WANTED == _told(trial)


def test_a_flag_of_an_error_makes_a_result_one_whatever_its_text(importing: Importing) -> None:
    failing = json.loads(json.dumps(BEDROCK))
    failing[2]["content"][0]["toolResult"] |= {"status": "error", "content": [{"text": "no such city"}]}
    [(trial, _)] = importing("openai-chat", {"messages": failing}).trials
    [seen] = [one for step in trial.trajectory.steps for one in step.observations]
    assert "no such city" == (seen.error and seen.error.message)


@pytest.mark.parametrize(
    "wrapped",
    [
        {"model": "m", "results": [{"id": "a", "messages": ANTHROPIC}, {"id": "b", "messages": ANTHROPIC}]},
        {"a": {"messages": ANTHROPIC}, "b": {"messages": ANTHROPIC}},
    ],
    ids=["a list of one field", "a field a run"],
)
def test_the_runs_of_a_results_file_are_trials(importing: Importing, wrapped: Any) -> None:
    run = importing("openai-chat", wrapped)
    assert [WANTED, WANTED] == [_told(trial) for trial, _ in run.trials]
    assert ["a", "b"] == sorted(case.id for case in run.suite.cases)


def test_two_objects_with_messages_are_no_guess(importing: Importing) -> None:
    with pytest.raises(InvalidDocument) as refused:
        importing("openai-chat", {"mine": {"messages": ANTHROPIC}, "yours": {"messages": ANTHROPIC}, "n": 2})
    assert "`mine.messages`" in str(refused.value)


TRACE, SPANS = "a" * 32, ["1" * 16, "2" * 16, "3" * 16, "4" * 16]
TOOL_CALL = "llm.output_messages.0.message.tool_calls.0.tool_call."
FLAT: list[dict[str, Any]] = [
    {"openinference.span.kind": "AGENT", "input.value": ASKED, "output.value": ANSWERED},
    {
        "openinference.span.kind": "LLM",
        "llm.input_messages.0.message.role": "user",
        "llm.input_messages.0.message.content": ASKED,
        "llm.output_messages.0.message.role": "assistant",
        f"{TOOL_CALL}id": "c1",
        f"{TOOL_CALL}function.name": "get_weather",
        f"{TOOL_CALL}function.arguments": TEXT,
    },
    {"openinference.span.kind": "TOOL", "tool.name": "get_weather", "input.value": TEXT, "output.value": "20"},
    {
        "openinference.span.kind": "LLM",
        "llm.output_messages.0.message.role": "assistant",
        "llm.output_messages.0.message.content": ANSWERED,
    },
]
TREE: list[dict[str, Any]] = [
    {"openinference": {"span": {"kind": "AGENT"}}, "input": {"value": ASKED}, "output": {"value": ANSWERED}},
    {
        "openinference": {"span": {"kind": "LLM"}},
        "llm": {
            "input_messages": [{"message": {"role": "user", "content": ASKED}}],
            "output_messages": [
                {
                    "message": {
                        "role": "assistant",
                        "tool_calls": [
                            {"tool_call": {"id": "c1", "function": {"name": "get_weather", "arguments": TEXT}}}
                        ],
                    }
                }
            ],
        },
    },
    {
        "openinference": {"span": {"kind": "TOOL"}},
        "tool": {"name": "get_weather"},
        "input": {"value": TEXT},
        "output": {"value": "20"},
    },
    {
        "openinference": {"span": {"kind": "LLM"}},
        "llm": {"output_messages": [{"message": {"role": "assistant", "content": ANSWERED}}]},
    },
]
NAMES = ["agent", "llm", "get_weather", "llm"]


def _times(place: int) -> dict[str, str]:
    return {"start_time": f"2025-01-01T00:00:0{place}Z", "end_time": f"2025-01-01T00:00:0{place}.5Z"}


def _printed(facts: list[dict[str, Any]], *, ids: bool = True) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "context": {"trace_id": TRACE, "span_id": span} if ids else {"span_id": span, "trace_id": TRACE},
            "parent_id": None if place == 0 else SPANS[0],
            "attributes": some,
            **_times(place),
        }
        for place, (name, span, some) in enumerate(zip(NAMES, SPANS, facts, strict=True))
    ]


def _held(key: str) -> dict[str, Any]:
    root, *below = _printed(FLAT)
    return {**root, key: [{**one, "parent_id": None} for one in below]}


GENERATION = {"traceId": "t", "type": "GENERATION", "name": "llm", "model": "m"}
EXPORTS: dict[str, Any] = {
    "spans in a list under data": {"data": _printed(FLAT)},
    "traces in a list": {"traces": [{"trace_id": TRACE, "spans": _printed(FLAT)}]},
    "children": {"spans": [_held("children")]},
    "child_spans of spans with a context": [_held("child_spans")],
    "attributes as a tree": _printed(TREE),
    "rows of a table of spans": [
        {
            "name": one["name"],
            "parent_id": one["parent_id"],
            "context.span_id": one["context"]["span_id"],
            "context.trace_id": TRACE,
            "start_time": one["start_time"],
            "end_time": one["end_time"],
            **{f"attributes.{name}": value for name, value in one["attributes"].items()},
        }
        for one in _printed(FLAT)
    ],
    "Jaeger": {
        "data": [
            {
                "traceID": TRACE,
                "spans": [
                    {
                        "traceID": TRACE,
                        "spanID": one["context"]["span_id"],
                        "operationName": one["name"],
                        "references": [{"refType": "CHILD_OF", "spanID": SPANS[0]}] if one["parent_id"] else [],
                        "startTime": 1_700_000_000_000_000 + place,
                        "duration": 1,
                        "tags": [{"key": name, "value": value} for name, value in one["attributes"].items()],
                    }
                    for place, one in enumerate(_printed(FLAT))
                ],
            }
        ]
    },
    "Langfuse": {
        "id": "t",
        "name": "agent",
        "input": ASKED,
        "output": ANSWERED,
        "observations": [
            {
                **GENERATION,
                "id": "o1",
                "startTime": "2025-01-01T00:00:01Z",
                "input": [{"role": "user", "content": ASKED}],
                "output": {"role": "assistant", "content": None, "tool_calls": [CALL]},
            },
            {
                "id": "o2",
                "traceId": "t",
                "type": "TOOL",
                "name": "get_weather",
                "startTime": "2025-01-01T00:00:03Z",
                "input": ARGUMENTS,
                "output": "20",
            },
            {
                **GENERATION,
                "id": "o3",
                "startTime": "2025-01-01T00:00:05Z",
                "input": [],
                "output": {"role": "assistant", "content": ANSWERED},
            },
        ],
    },
    "LangSmith": {
        "id": "r1",
        "trace_id": "r1",
        "name": "agent",
        "run_type": "chain",
        **_times(0),
        "inputs": {"messages": [{"role": "user", "content": ASKED}]},
        "outputs": {"messages": [LANGCHAIN[3]]},
        "child_runs": [
            {
                "id": "r2",
                "run_type": "llm",
                "name": "model",
                **_times(1),
                "inputs": {"messages": [[LANGCHAIN[0]]]},
                "outputs": {"generations": [[{"text": "", "message": LANGCHAIN[1]}]]},
            },
            {
                "id": "r3",
                "run_type": "tool",
                "name": "get_weather",
                **_times(3),
                "inputs": {"input": "{'city': 'Rome'}"},
                "outputs": {"output": LANGCHAIN[2]},
            },
            {
                "id": "r4",
                "run_type": "llm",
                "name": "model",
                **_times(5),
                "inputs": {"messages": [LANGCHAIN[:3]]},
                "outputs": {"generations": [[{"text": ANSWERED, "message": LANGCHAIN[3]}]]},
            },
        ],
    },
}


@pytest.mark.parametrize("shape", EXPORTS)
def test_a_trace_is_the_same_however_a_platform_exports_it(tmp_path: Path, shape: str) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(EXPORTS[shape]))
    run = import_file("otel", path)
    [(trial, _)] = run.trials
    assert WANTED[1:] == _told(trial)[1:]
    assert ASKED == run.suite.cases[0].task
