"""One conversation with one call, in each of the forms that the formats know: always the same trajectory."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.errors import InvalidDocument
from harness.runs.foreign_runs import import_file
from tests.traces.importing.conftest import Importing

ASKED, ANSWERED = "weather in Rome?", "20 degrees"
ARGUMENTS: dict[str, Any] = {"city": "Rome"}
TEXT = json.dumps(ARGUMENTS)
CALL = {"id": "c1", "type": "function", "function": {"name": "get_weather", "arguments": TEXT}}
USER = {"role": "user", "content": ASKED}
CALLING: dict[str, Any] = {"role": "assistant", "content": None, "tool_calls": [CALL]}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "20"}
SAID = {"role": "assistant", "content": ANSWERED}
ITEMS: list[dict[str, Any]] = [
    {"type": "function_call", "name": "get_weather", "arguments": TEXT, "call_id": "c1"},
    {"type": "function_call_output", "call_id": "c1", "output": "20"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": ANSWERED}]},
]
ANTHROPIC: list[dict[str, Any]] = [
    USER,
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "get_weather", "input": ARGUMENTS}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "20"}]},
    {"role": "assistant", "content": [{"type": "text", "text": ANSWERED}]},
]
FORMS: dict[str, tuple[str, Any]] = {
    "messages": ("openai-chat", {"messages": [USER, CALLING, RESULT, SAID]}),
    "messages alone": ("openai-chat", [USER, CALLING, RESULT, SAID]),
    "a request and its response": (
        "openai-chat",
        {"request": {"messages": [USER, CALLING, RESULT]}, "response": {"choices": [{"message": SAID}]}},
    ),
    "a request of a batch": (
        "openai-chat",
        {"body": {"messages": [USER, CALLING, RESULT]}, "response": {"body": {"choices": [{"message": SAID}]}}},
    ),
    "a response beside its input": ("openai-chat", {"input": [USER, *ITEMS[:2]], "output": ITEMS[2:]}),
    "a response to a text": ("openai-chat", {"input": ASKED, "output": ITEMS}),
    "items alone": ("openai-chat", [USER, *ITEMS]),
    "Anthropic": ("anthropic", {"messages": ANTHROPIC}),
    "Anthropic, messages alone": ("anthropic", ANTHROPIC),
    "Anthropic, a request and its response": (
        "anthropic",
        {"request": {"messages": ANTHROPIC[:3]}, "response": ANTHROPIC[3]},
    ),
}


def _told(trial: Any) -> tuple[object, ...]:
    steps = trial.trajectory.steps
    calls = [(call.name, call.arguments) for step in steps for call in step.calls]
    answers = [(str(seen.content), seen.error) for step in steps for seen in step.observations]
    return [step.message for step in steps if step.source == "user"], calls, answers, trial.trajectory.final_output


WANTED = ([ASKED], [("get_weather", ARGUMENTS)], [("20", None)], ANSWERED)


@pytest.mark.parametrize("form", FORMS)
def test_a_conversation_is_the_same_in_each_form_of_its_format(importing: Importing, form: str) -> None:
    format, value = FORMS[form]
    run = importing(format, value)
    [(trial, _)] = run.trials
    assert WANTED == _told(trial)
    assert ASKED == run.suite.cases[0].task
    assert [] == [note for note in run.notes if note.field != "tools"]


@pytest.mark.parametrize(
    ("format", "value", "place"),
    [
        ("openai-chat", {"messages": ANTHROPIC}, "messages.1.content.0.type"),
        ("anthropic", {"messages": [USER, CALLING, RESULT]}, "messages.2.role"),
        ("openai-chat", {"messages": [USER, {"role": "ai", "content": "x"}]}, "messages.1.role"),
        ("openai-chat", {"messages": [USER, {"role": "assistant", "tool_calls": [{"name": "f"}]}]}, "tool_calls.0"),
        ("openai-chat", {"history": [USER]}, "messages"),
        ("openai-chat", {"input": "Name a city.", "output_1": "Rome"}, "messages"),
        ("openai-chat", {"results": [{"messages": [USER]}]}, "messages"),
        ("openai-chat", [USER, {"text": "x"}], "1"),
        ("anthropic", {"messages": [{"role": "user", "content": [{"toolUse": {}}]}]}, "messages.0.content.0.type"),
        ("otel", {"spans": [{"context": {"trace_id": "a", "span_id": "b"}, "child_spans": []}]}, "child_spans"),
    ],
)
def test_what_a_format_does_not_know_is_refused_by_its_place(
    importing: Importing, format: str, value: Any, place: str
) -> None:
    with pytest.raises(InvalidDocument) as refused:
        importing(format, value)
    assert place in str(refused.value)


def test_fields_that_are_not_read_are_counted_by_name(importing: Importing) -> None:
    message = {**USER, "mood": "calm"}
    run = importing("openai-chat", [{"messages": [message, message], "colour": "red"}])
    assert {"colour": 1, "messages.mood": 2} == {note.field: note.count for note in run.notes}


@pytest.mark.parametrize(
    "reply",
    [
        'Action: search\nAction Input: {"q": 1}',
        "Action: search[Rome]",
        "```bash\nls\n```",
        '<tool_call>{"name": "f", "arguments": {}}</tool_call>',
        "<function=f><parameter=a>1</parameter></function>",
        "Calling tools:\n[{'id': 'c1', 'function': {'name': 'f', 'arguments': {}}}]",
    ],
)
def test_no_text_is_a_call_and_none_is_an_error(importing: Importing, reply: str) -> None:
    said = [{"role": "system", "content": reply}, USER, {"role": "assistant", "content": reply}]
    failing = {**RESULT, "content": "Error: no such city"}
    [(trial, _)] = importing("openai-chat", [*said, {"role": "user", "content": "Observation: x"}] * 3).trials
    assert () == trial.trajectory.calls
    [(trial, _)] = importing("openai-chat", [USER, CALLING, failing]).trials
    assert [None] == [seen.error for step in trial.trajectory.steps for seen in step.observations]


def test_items_of_one_response_are_one_step(importing: Importing) -> None:
    other = {**ITEMS[0], "call_id": "c2"}
    thought = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "look"}]}
    results = [ITEMS[1], {**ITEMS[1], "call_id": "c2", "output": "21"}]
    [(trial, _)] = importing("openai-chat", {"input": [USER, thought, ITEMS[0], other, *results, ITEMS[2]]}).trials
    step = trial.trajectory.steps[1]
    assert ("look", 2, ["20", "21"]) == (step.thought, len(step.calls), [seen.content for seen in step.observations])


def test_a_call_that_the_provider_ran_is_one_with_its_result(importing: Importing) -> None:
    ran = {"type": "mcp_call", "id": "m1", "name": "get_weather", "arguments": TEXT, "output": None, "error": "down"}
    searched = {"type": "web_search_call", "id": "w1", "action": {"type": "search", "query": "Rome"}}
    [(trial, _)] = importing("openai-chat", {"input": [USER, searched, ran], "output": ITEMS[2:]}).trials
    calls = [(call.name, call.arguments) for call in trial.trajectory.calls]
    assert [("web_search", {"type": "search", "query": "Rome"}), ("get_weather", ARGUMENTS)] == calls
    [seen] = [seen for step in trial.trajectory.steps for seen in step.observations]
    assert "down" == (seen.error and seen.error.message)


def _line(kind: str, message: dict[str, Any], second: int, **more: Any) -> dict[str, Any]:
    at = f"2025-01-01T00:00:0{second}Z"
    return {"type": kind, "sessionId": "s", "uuid": str(second), "timestamp": at, "message": message, **more}


def test_a_transcript_of_claude_code_is_one_conversation_with_its_replies_put_together(importing: Importing) -> None:
    thinking = [{"type": "thinking", "thinking": "look", "signature": "x"}]
    usage = {"input_tokens": 5, "output_tokens": 2}
    reply = {"id": "msg_1", "type": "message", "role": "assistant", "model": "m", "usage": usage}
    caveat = {"role": "user", "content": "<local-command-caveat>"}
    lines = [
        {"type": "file-history-snapshot", "messageId": "a"},
        _line("user", caveat, 0, isMeta=True),
        _line("user", USER, 1),
        _line("assistant", {**reply, "content": thinking}, 2),
        _line("assistant", {**reply, "content": ANTHROPIC[1]["content"]}, 3),
        _line("user", ANTHROPIC[2], 4),
        _line("assistant", {**reply, "id": "msg_2", "content": "Below."}, 5, isSidechain=True),
        _line("assistant", {**reply, "id": "msg_3", "content": ANTHROPIC[3]["content"]}, 6),
    ]
    run = importing("anthropic", lines, name="session.jsonl")
    [(trial, _)] = run.trials
    steps = trial.trajectory.steps
    assert ["system", "user", "agent", "agent", "agent"] == [step.source for step in steps]
    assert ("look", 1, "m", 5) == (steps[2].thought, len(steps[2].calls), steps[2].model, steps[2].usage.input_tokens)
    assert [None, None, None, "sub-agent", None] == [step.agent for step in steps]
    assert 2_000_000_000 == steps[2].started_ns
    assert WANTED == _told(trial)
    [note] = [note for note in run.notes if note.field != "tools"]
    assert "a line of type 'file-history-snapshot' is no message and is left out" == note.problem


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


GENERATION = {"traceId": "t", "type": "GENERATION", "name": "llm", "model": "m"}
EXPORTS: dict[str, Any] = {
    "spans in a list under data": {"data": _printed(FLAT)},
    "traces in a list": {"traces": [{"trace_id": TRACE, "spans": _printed(FLAT)}]},
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
}


@pytest.mark.parametrize("shape", EXPORTS)
def test_a_trace_is_the_same_in_each_form_of_its_file(tmp_path: Path, shape: str) -> None:
    path = tmp_path / "trace.json"
    path.write_text(json.dumps(EXPORTS[shape]))
    run = import_file("otel", path)
    [(trial, _)] = run.trials
    assert WANTED[1:] == _told(trial)[1:]
    assert ASKED == run.suite.cases[0].task


def test_an_error_that_a_block_of_a_message_states_is_one(importing: Importing) -> None:
    block = {"type": "tool_result", "tool_use_id": "c1", "content": "no such city", "is_error": True}
    facts = [{**FLAT[0]}, {**FLAT[1]}, {"gen_ai.operation.name": "chat"}]
    history = [USER, CALLING, {"role": "user", "content": [block]}]
    facts[2] |= {"gen_ai.input.messages": json.dumps(history), "gen_ai.output.messages": json.dumps([SAID])}
    spans = [one for one in _printed([*facts, {}]) if one["attributes"]]
    [(trial, _)] = importing("otel", spans).trials
    [seen] = [one for step in trial.trajectory.steps for one in step.observations]
    assert ("no such city", "no such city") == (seen.content, seen.error and seen.error.message)


def test_where_a_run_ends_with_a_call_the_agents_own_span_has_the_answer(importing: Importing) -> None:
    [(trial, _)] = importing("otel", _printed([*FLAT[:3], {}])[:3]).trials
    assert ANSWERED == trial.trajectory.final_output
