"""One conversation, told in every way that traces tell it, is one and the same trajectory."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.runs.foreign_runs import import_file
from harness.traces.formats.found import ImportOptions
from harness.traces.trajectory import Trajectory

TELLINGS = (
    "otel_structured.json",
    "otel_text.json",
    "otel_events.json",
    "otel_logs.jsonl",
    "openinference.json",
)


def _only(path: Path, **options: object) -> Trajectory:
    trials = [trial for trial, _ in import_file("otel", path, ImportOptions.model_validate(options)).trials]
    assert 1 == len(trials)
    return trials[0].trajectory


@pytest.mark.parametrize("telling", TELLINGS)
def test_history_that_every_chat_span_repeats_is_counted_once(fixtures: Path, telling: str) -> None:
    trajectory = _only(fixtures / telling)

    assert [
        ("system", "You keep a shop.", []),
        ("user", "Is the lamp there, and the chair?", []),
        ("agent", None, [{"sku": "lamp"}, {"sku": "chair"}]),
        ("agent", "The lamp is.", []),
        ("user", "Thanks!", []),
        ("agent", "Welcome.", []),
    ] == [(step.source, step.message, [call.arguments for call in step.calls]) for step in trajectory.steps]
    assert "Welcome." == trajectory.final_output
    assert "shop" == trajectory.agent


@pytest.mark.parametrize("telling", TELLINGS)
def test_results_and_errors_of_tool_spans_stand_with_their_calls(fixtures: Path, telling: str) -> None:
    trajectory = _only(fixtures / telling)

    seen = trajectory.observations
    assert {"g1", "g2"} == set(seen)
    assert ({"left": 9}, None, 2.0) == (seen["g1"].content, seen["g1"].error, seen["g1"].duration_ms)
    assert ("tool_error", "no such thing") == (seen["g2"].error.type, seen["g2"].error.message)
    assert "Error: no such thing" == seen["g2"].content


@pytest.mark.parametrize("telling", ["otel_structured.json", "otel_events.json", "openinference.json"])
def test_model_and_usage_are_read_in_every_spelling(fixtures: Path, telling: str) -> None:
    replies = [step for step in _only(fixtures / telling).steps if step.source == "agent"]

    assert [(11, 4)] * 3 == [(step.usage.input_tokens, step.usage.output_tokens) for step in replies]
    assert all(step.model.startswith("m-6") for step in replies)


@pytest.mark.parametrize("telling", ["otel_structured.json", "openinference.json"])
def test_tools_that_a_model_was_offered_are_the_suites(fixtures: Path, telling: str) -> None:
    suite = import_file("otel", fixtures / telling).suite

    assert [("get_stock", "read")] == [(tool.name, tool.effect) for tool in suite.tools]


def _span(name: str, number: int, parent: int, start: int, facts: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {
        "trace_id": more.get("trace", "a" * 32),
        "span_id": f"{number:016x}",
        "parent_id": f"{parent:016x}" if parent else None,
        "name": name,
        "start_ns": start,
        "end_ns": start + 1,
        "attributes": facts,
        "status": more.get("status", "unset"),
    }


def _agent(number: int, parent: int, start: int, name: str, **more: Any) -> dict[str, Any]:
    facts = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name, **more.pop("facts", {})}
    return _span(f"invoke_agent {name}", number, parent, start, facts, **more)


def _chat(number: int, parent: int, start: int, given: list[Any], answer: Any, **more: Any) -> dict[str, Any]:
    facts: dict[str, Any] = {"gen_ai.operation.name": "chat", "gen_ai.request.model": "m"}
    if given:
        facts["gen_ai.input.messages"] = given
    if answer is not None:
        facts["gen_ai.output.messages"] = [answer]
    return _span("chat m", number, parent, start, facts, **more)


def _tool(number: int, parent: int, start: int, name: str, call: str | None = None, **facts: Any) -> dict[str, Any]:
    told = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": name, **facts}
    return _span(
        f"execute_tool {name}", number, parent, start, {**told, **({"gen_ai.tool.call.id": call} if call else {})}
    )


def _said(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "content": text}


def _calls(*names: str, ids: bool = True) -> dict[str, Any]:
    calls = [
        {"type": "tool_call", **({"id": f"id-{name}"} if ids else {}), "name": name, "arguments": "{}"}
        for name in names
    ]
    return {"role": "assistant", "parts": calls}


def _gave(name: str | None, content: str) -> dict[str, Any]:
    return {"role": "tool", **({"tool_call_id": f"id-{name}"} if name else {}), "content": content}


def _shape(trajectory: Trajectory) -> list[tuple[str, str | None, list[str]]]:
    return [(step.source, step.message, [call.name for call in step.calls]) for step in trajectory.steps]


def test_a_sub_agent_has_a_history_of_its_own_and_the_step_that_started_it(importing: Any) -> None:
    asked, wanted = _said("user", "plan a trip"), _said("user", "find a town")
    lines = [
        _agent(1, 0, 0, "main"),
        _chat(2, 1, 1, [asked], _calls("delegate")),
        _tool(3, 1, 2, "delegate", "id-delegate", **{"gen_ai.tool.call.result": "Rome"}),
        _agent(4, 3, 3, "helper"),
        _chat(5, 4, 4, [wanted], _calls("search")),
        _tool(6, 4, 5, "search", "id-search", **{"gen_ai.tool.call.result": "Rome"}),
        _chat(7, 4, 6, [wanted, _calls("search"), _gave("search", "Rome")], _said("assistant", "Rome it is")),
        _chat(8, 1, 9, [asked, _calls("delegate"), _gave("delegate", "Rome")], _said("assistant", "Go to Rome.")),
    ]

    [(trial, _)] = importing("otel", lines, name="spans.jsonl").trials

    steps = trial.trajectory.steps
    assert [
        ("user", "plan a trip", []),
        ("agent", None, ["delegate"]),
        ("user", "find a town", []),
        ("agent", None, ["search"]),
        ("agent", "Rome it is", []),
        ("agent", "Go to Rome.", []),
    ] == _shape(trial.trajectory)
    assert [None, "main", "helper", "helper", "helper", "main"] == [step.agent for step in steps]
    assert [None, None, 1, 1, 1, None] == [step.parent for step in steps]
    assert "Go to Rome." == trial.trajectory.final_output


def test_turns_traced_apart_are_one_trial_by_their_conversation(importing: Any) -> None:
    named = {"gen_ai.conversation.id": "c1"}
    first, second = _said("user", "one"), _said("user", "two")
    lines = [
        _agent(1, 0, 0, "main", facts=named, trace="a" * 32),
        _chat(2, 1, 1, [first], _said("assistant", "1"), trace="a" * 32),
        _agent(3, 0, 10, "main", facts=named, trace="b" * 32),
        _chat(4, 3, 11, [first, _said("assistant", "1"), second], _said("assistant", "2"), trace="b" * 32),
    ]

    joined = [trial for trial, _ in importing("otel", lines, name="spans.jsonl").trials]
    apart = [trial for trial, _ in importing("otel", lines, name="spans.jsonl", conversations=False).trials]

    assert [[("user", "one", []), ("agent", "1", []), ("user", "two", []), ("agent", "2", [])]] == [
        _shape(trial.trajectory) for trial in joined
    ]
    assert 2 == len(apart)


def test_a_wrapped_model_call_is_counted_once(importing: Any) -> None:
    asked, answer = [_said("user", "hi")], _said("assistant", "hello")
    lines = [_chat(1, 0, 0, asked, answer), _chat(2, 1, 1, asked, answer)]

    [(trial, _)] = importing("otel", lines, name="spans.jsonl").trials

    assert [("user", "hi", []), ("agent", "hello", [])] == _shape(trial.trajectory)


def test_a_reply_that_comes_back_in_other_words_is_counted_once_and_noted(importing: Any) -> None:
    asked = _said("user", "hi")
    lines = [
        _chat(1, 0, 0, [asked], _said("assistant", "hello  world")),
        _chat(2, 0, 5, [asked, _said("assistant", "hello world!"), _said("user", "again")], _said("assistant", "x")),
    ]

    run = importing("otel", lines, name="spans.jsonl")
    [(trial, _)] = run.trials

    assert [("user", "hi", []), ("agent", "hello  world", []), ("user", "again", []), ("agent", "x", [])] == _shape(
        trial.trajectory
    )
    assert ["a reply stands in the history otherwise than it was given; it is counted once"] == [
        note.problem for note in run.notes
    ]


def test_a_history_in_roles_of_its_own_is_continued_by_the_next_run(importing: Any) -> None:
    """As smolagents has it: neither a call nor its result comes back as it was given."""
    asked, more = _said("user", "hi"), _said("user", "more")
    told = [_said("tool-call", "Calling a"), _said("tool-response", "Observation: A")]
    lines = [
        _span("run", 1, 0, 0, {"openinference.span.kind": "AGENT"}),
        _chat(2, 1, 1, [asked], _calls("a")),
        _chat(3, 1, 5, [asked, *told], _said("assistant", "x")),
        _span("run", 4, 0, 10, {"openinference.span.kind": "AGENT"}),
        _chat(5, 4, 11, [asked, *told, more], _said("assistant", "y")),
    ]

    [(trial, _)] = importing("otel", lines, name="spans.jsonl").trials

    assert ["hi", "more"] == [step.message for step in trial.trajectory.steps if step.source == "user"]


def test_the_same_answer_given_twice_is_two_steps(importing: Any) -> None:
    asked, more, ok = _said("user", "hi"), _said("user", "more"), _said("assistant", "ok")
    lines = [
        _chat(1, 0, 0, [asked], ok),
        _chat(2, 0, 5, [asked, ok, more], ok),
        _chat(3, 0, 9, [asked, ok, more, ok, more], ok),
    ]

    [(trial, _)] = importing("otel", lines, name="spans.jsonl").trials

    assert ["user", "agent", "user", "agent", "user", "agent"] == [step.source for step in trial.trajectory.steps]


def test_calls_without_ids_meet_their_results_by_order(importing: Any) -> None:
    asked, called = _said("user", "hi"), _calls("a", "b", ids=False)
    lines = [
        _chat(1, 0, 0, [asked], called),
        _chat(2, 0, 5, [asked, called, _gave(None, "A"), _gave(None, "B")], _said("assistant", "x")),
    ]

    [(trial, _)] = importing("otel", lines, name="spans.jsonl").trials

    step = trial.trajectory.steps[1]
    seen = trial.trajectory.observations
    assert [("a", "A"), ("b", "B")] == [(call.name, seen[call.id].content) for call in step.calls]


def test_traces_without_captured_content_still_count_every_call(importing: Any) -> None:
    lines = [
        _agent(1, 0, 0, "main"),
        _chat(2, 1, 1, [], None),
        _tool(3, 1, 2, "a", "id-a"),
        _tool(4, 1, 3, "b", "id-b"),
        _chat(5, 1, 4, [], None),
        _tool(6, 1, 5, "c"),
    ]

    run = importing("otel", lines, name="spans.jsonl")
    [(trial, _)] = run.trials

    assert [("agent", None, ["a", "b"]), ("agent", None, ["c"])] == _shape(trial.trajectory)
    assert {
        "a model call's answer was not captured; its step has only what its tools' spans tell": 2,
        "the arguments of a call were not captured; it stands without any": 3,
    } == {note.problem: note.count for note in run.notes if note.field != "tools"}


def test_an_answer_captured_only_in_the_next_history_is_filled_in(importing: Any) -> None:
    asked = _said("user", "hi")
    lines = [
        _chat(1, 0, 0, [asked], None),
        _chat(2, 0, 5, [asked, _calls("a"), _gave("a", "A")], _said("assistant", "x")),
    ]

    [(trial, _)] = importing("otel", lines, name="spans.jsonl").trials

    assert [("user", "hi", []), ("agent", None, ["a"]), ("agent", "x", [])] == _shape(trial.trajectory)
    assert "A" == trial.trajectory.observations["id-a"].content


def test_results_that_stand_in_the_history_alone_are_captured(importing: Any) -> None:
    """As smolagents traces code: what it printed is in the next request, and the handed-in answer has no result."""
    asked = _said("user", "hi")
    lines = [
        _chat(1, 0, 0, [asked], _calls("a")),
        _chat(2, 0, 5, [asked, _calls("a"), _gave("a", "A")], _said("assistant", "x")),
        _tool(3, 0, 9, "final_answer", **{"gen_ai.tool.call.arguments": '{"answer": "x"}'}),
    ]

    [(trial, _)] = importing("otel", lines, name="spans.jsonl").trials

    assert () == trial.trajectory.uncaptured


def test_a_model_call_that_failed_has_no_reply_to_capture(importing: Any) -> None:
    asked = _said("user", "hi")
    lines = [
        _chat(1, 0, 0, [asked], _calls("a")),
        _chat(2, 0, 5, [asked, _calls("a"), _gave("a", "A")], None, status="error"),
    ]

    run = importing("otel", lines, name="spans.jsonl")
    [(trial, _)] = run.trials

    assert ((), None) == (trial.trajectory.uncaptured, trial.trajectory.final_output)
    assert not [note for note in run.notes if "captured" in note.problem]


def test_spans_of_this_harness_are_projected_as_the_harness_does(importing: Any) -> None:
    root = {
        "gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": "drive_thru", "gen_ai.agent.version": "v2",
        "harness.case.id": "order-1", "harness.attempt": 2,
    }  # fmt: skip
    turn = {"harness.step": "turn", "harness.message": "a coffee", "harness.started_monotonic_ns": 1}
    call = {
        "gen_ai.operation.name": "execute_tool", "harness.step": "tool", "gen_ai.tool.name": "lookup",
        "gen_ai.tool.call.id": "k", "gen_ai.tool.call.arguments": '{"name":"coffee"}',
        "gen_ai.tool.call.result": '{"id":1}', "harness.started_monotonic_ns": 2, "harness.ended_monotonic_ns": 3,
    }  # fmt: skip
    lines = [_span("invoke_agent", 1, 0, 0, root), _span("turn", 2, 1, 1, turn), _span("tool", 3, 1, 2, call)]

    [(trial, spans)] = importing("otel", lines, name="spans.jsonl").trials

    assert ("order-1", 2, "v2") == (trial.case_id, trial.attempt, trial.trajectory.version)
    assert [("user", "a coffee", []), ("agent", None, ["lookup"])] == _shape(trial.trajectory)
    assert {"id": 1} == trial.trajectory.observations["k"].content
    assert 3 == len(spans)


def test_an_evaluation_event_is_the_reward(importing: Any) -> None:
    span = _chat(1, 0, 0, [_said("user", "hi")], _said("assistant", "x"))
    for name, score in (("helpful", 0.25), ("right", 1)):
        facts = {"gen_ai.evaluation.name": name, "gen_ai.evaluation.score.value": score}
        span.setdefault("events", []).append({"name": "gen_ai.evaluation.result", "attributes": facts})

    assert [0.25] == list(importing("otel", [span], name="spans.jsonl").rewards.values())
    assert [1.0] == list(importing("otel", [span], name="spans.jsonl", score="right").rewards.values())


def test_ids_in_base64_are_read_as_the_hexadecimal_ids_they_stand_for(importing: Any, fixtures: Path) -> None:
    document = json.loads((fixtures / "otel_structured.json").read_text())
    for span in document["resourceSpans"][0]["scopeSpans"][0]["spans"]:
        span["traceId"] = "CvdlGRbNQ92ESOshHIAxnA=="

    [(trial, _)] = importing("otel", document).trials

    assert "0af7651916cd43dd8448eb211c80319c" == trial.trajectory.trace_id


_TOLD = {
    "gen_ai.operation.name": "chat",
    "gen_ai.input.messages": json.dumps([{"role": "user", "parts": [{"type": "text", "content": "q"}]}]),
    "gen_ai.output.messages": json.dumps([{"role": "assistant", "parts": [{"type": "text", "content": "a"}]}]),
}
_FLAT = {"gen_ai.usage.cache_read_input_tokens": 1000, "gen_ai.usage.cache_creation_input_tokens": 100}
_OPENINFERENCE = {
    "openinference.span.kind": "LLM",
    "llm.input_messages.0.message.content": "q",
    "llm.output_messages.0.message.content": "a",
}
_VERCEL = {
    "ai.operationId": "ai.streamText.doStream",
    "ai.prompt.messages": json.dumps([{"role": "user", "content": [{"type": "text", "text": "q"}]}]),
    "ai.response.text": "a",
}


def _named(prefix: str, *, of: dict[str, Any] | None = None, **counts: Any) -> dict[str, Any]:
    return (_TOLD if of is None else of) | {f"{prefix}.{name.replace('__', '.')}": n for name, n in counts.items()}


def _langfuse(**counts: int) -> dict[str, Any]:
    return {
        "langfuse.observation.type": "generation",
        "langfuse.observation.input": "q",
        "langfuse.observation.output": "a",
        "langfuse.observation.usage_details": json.dumps(counts),
    }


@pytest.mark.parametrize(
    ("facts", "wanted"),
    [
        (_named("gen_ai.usage", input_tokens=1300, cache_read__input_tokens=1000, output_tokens=50), (1300, 50)),
        (
            _named("gen_ai.usage", prompt_tokens=1300, completion_tokens=50, input_tokens=1300, output_tokens=50),
            (1300, 50),
        ),
        (_named("gen_ai.usage", of=_TOLD | _FLAT, input_tokens=200, output_tokens=50), (1300, 50)),
        (_named("gen_ai.usage", of=_TOLD | _FLAT, input_tokens=1300, output_tokens=50, total_tokens=1350), (1300, 50)),
        (
            _named("gen_ai.usage", of=_TOLD | _FLAT, input_tokens=1300, output_tokens=50),
            (None, 50),
        ),  # in it or beside it
        (_named("gen_ai.usage", details__cache_read_tokens=1000, input_tokens=1300, output_tokens=50), (1300, 50)),
        (
            _named("llm.token_count", of=_OPENINFERENCE, prompt=1300, completion=50, prompt_details__cache_read=1000),
            (1300, 50),
        ),
        (_langfuse(input=200, input_cached_tokens=1000, input_cache_creation=100, output=50, total=1350), (1300, 50)),
        (_langfuse(input=1300, output=20, output_reasoning_tokens=30, total=1350), (1300, 50)),
        (_named("ai.usage", of=_VERCEL, inputTokens=1300, cachedInputTokens=1000, outputTokens=50), (1300, 50)),
        (_named("ai.usage", of=_VERCEL, inputTokens=200, cachedInputTokens=1100, outputTokens=50), (1300, 50)),
    ],
)
def test_one_reply_has_the_same_tokens_in_every_dialect(importing: Any, facts: Any, wanted: Any) -> None:
    held = {True: "intValue", False: "stringValue"}
    attributes = [{"key": k, "value": {held[isinstance(v, int)]: str(v)}} for k, v in facts.items()]
    ids = {"traceId": "a" * 32, "spanId": "b" * 16, "name": "x"}
    times = {"startTimeUnixNano": "1", "endTimeUnixNano": "2"}
    parent = {"key": "gen_ai.operation.name", "value": {"stringValue": "invoke_agent"}}
    outer = ids | times | {"attributes": [*(one for one in attributes if "usage" in one["key"]), parent]}
    inner = ids | times | {"spanId": "c" * 16, "parentSpanId": "b" * 16, "attributes": attributes}
    run = importing("otel", {"resourceSpans": [{"scopeSpans": [{"spans": [outer, inner]}]}]})

    [(trial, _)] = run.trials
    usages = [step.usage for step in trial.trajectory.steps if step.usage]
    assert [wanted] == [(usage.input_tokens, usage.output_tokens) for usage in usages]
