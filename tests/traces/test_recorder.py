"""Recording a trial and reading it back as a trajectory."""

import json
import random
import time

import pytest

from harness.errors import ResultsError
from harness.traces import names
from harness.traces.projection import trajectory_from
from harness.traces.recorder import TraceRecorder, TraceSubject
from harness.traces.spans import Span
from harness.traces.trajectory import Observation, ToolCall, ToolFailure

SUBJECT = TraceSubject(trial_id="t1", case_id="c1", attempt=2, agent="taker", version="v1")


def tool_call(recorder: TraceRecorder, started_ns: int, call_id: str = "call_1", **more: str | None) -> None:
    recorder.record(
        "execute_tool look",
        {
            names.STEP_KIND: names.TOOL,
            names.TOOL_NAME: "look",
            names.TOOL_CALL_ID: call_id,
            names.TOOL_ARGUMENTS: '{"q":"egg"}',
            names.TOOL_RESULT: '{"found":1}',
            **more,
        },
        started_ns,
    )


def test_the_root_span_says_whose_trial_it_is_and_every_crossing_lies_under_it() -> None:
    recorder = TraceRecorder(SUBJECT)
    tool_call(recorder, time.monotonic_ns())
    root, turn, call = recorder.finish()

    assert ("taker", "v1", "t1", "c1", 2) == tuple(
        root.attributes[name]
        for name in (names.AGENT_NAME, names.AGENT_VERSION, names.CONVERSATION_ID, names.CASE_ID, names.ATTEMPT)
    )
    assert root.parent_id is None
    assert turn.parent_id == root.span_id
    assert call.parent_id == turn.span_id
    assert {root.trace_id} == {turn.trace_id, call.trace_id}
    assert root.start_ns == turn.start_ns <= call.start_ns <= call.end_ns <= turn.end_ns == root.end_ns


def test_each_message_of_the_user_begins_a_turn_and_what_happens_belongs_to_the_turn_that_it_began_in() -> None:
    recorder = TraceRecorder(SUBJECT)
    tool_call(recorder, time.monotonic_ns(), "before the message was asked for")
    recorder.turn("an egg")
    tool_call(recorder, time.monotonic_ns(), "first")
    late = time.monotonic_ns()
    recorder.turn("and ham")
    tool_call(recorder, late, "late")
    tool_call(recorder, time.monotonic_ns(), "second")
    recorder.end_turns()
    recorder.record("probe", {names.STEP_KIND: names.PROBE, names.TOOL_NAME: "look"}, time.monotonic_ns())
    spans = recorder.finish()

    root, (egg, ham) = spans[0], [span for span in spans if span.name == "turn"]
    called = {span.attributes.get(names.TOOL_CALL_ID): span.parent_id for span in spans if "look" in span.name}
    assert {"before the message was asked for", "first", "late"} == {k for k, v in called.items() if v == egg.span_id}
    assert {"second"} == {call for call, parent in called.items() if parent == ham.span_id}
    assert [root.span_id] == [span.parent_id for span in spans if span.name == "probe"]
    assert {root.span_id} == {egg.parent_id, ham.parent_id}
    assert root.start_ns == egg.start_ns < egg.end_ns == ham.start_ns < ham.end_ns < root.end_ns
    users = [step.message for step in trajectory_from(spans).steps if step.source == "user"]
    assert ["an egg", "and ham"] == users


def test_a_turn_whose_message_the_agent_never_asked_for_is_no_step() -> None:
    recorder = TraceRecorder(SUBJECT)
    tool_call(recorder, time.monotonic_ns())

    assert ["agent"] == [step.source for step in trajectory_from(recorder.finish()).steps]


def test_ids_differ_though_somebody_seeds_pythons_random_numbers() -> None:
    random.seed(1)
    first = TraceRecorder(SUBJECT).finish()[0]
    random.seed(1)

    assert first.trace_id != TraceRecorder(SUBJECT).finish()[0].trace_id


def test_no_environment_variable_cuts_or_drops_what_was_observed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT", "5")
    monkeypatch.setenv("OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT", "5")
    monkeypatch.setenv("OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT", "1")
    monkeypatch.setenv("OTEL_TRACES_SAMPLER", "always_off")
    recorder = TraceRecorder(SUBJECT)
    long = json.dumps("x" * 1_000_000)
    tool_call(recorder, time.monotonic_ns(), **{names.TOOL_RESULT: long})

    assert recorder.finish()[2].attributes[names.TOOL_RESULT] == long


def test_two_recorders_do_not_see_each_other() -> None:
    first, second = TraceRecorder(SUBJECT), TraceRecorder(SUBJECT)
    tool_call(first, 0)

    assert [3, 2] == [len(first.finish()), len(second.finish())]


def test_spans_are_the_same_after_they_were_written_and_read() -> None:
    recorder = TraceRecorder(SUBJECT)
    tool_call(recorder, time.monotonic_ns(), **{names.THOUGHT: "eggs? \u2028 \U0001f373 \r\n"})
    spans = recorder.finish()

    assert tuple(Span.model_validate_json(span.model_dump_json()) for span in spans) == spans


def test_the_projection_gives_turns_calls_and_replies_in_the_order_of_their_beginning() -> None:
    recorder = TraceRecorder(SUBJECT)
    recorder.turn("an egg")
    asked = time.monotonic_ns()
    recorder.record("reply", {names.STEP_KIND: names.REPLY, names.MESSAGE: "here you are"}, asked + 30)
    tool_call(
        recorder,
        asked + 20,
        **{
            names.THOUGHT: "look first",
            names.PLAN: '["look", "add"]',
            names.ERROR_TYPE: "timeout",
            names.TOOL_ERROR_MESSAGE: "too slow",
            names.REPLAY_TIER: "exact",
        },
    )
    recorder.record("probe", {names.STEP_KIND: names.PROBE, names.TOOL_NAME: "look"}, asked + 40)
    trajectory = trajectory_from(recorder.finish())

    assert [step.source for step in trajectory.steps] == ["user", "agent", "agent"]
    assert [step.message for step in trajectory.steps] == ["an egg", None, "here you are"]
    call = trajectory.steps[1]
    assert call.calls == (ToolCall(id="call_1", name="look", arguments={"q": "egg"}, evidence="observed"),)
    assert (call.thought, call.plan) == ("look first", ("look", "add"))
    assert call.observations[0].model_copy(update={"duration_ms": None}) == Observation(
        call_id="call_1",
        content={"found": 1},
        error=ToolFailure(type="timeout", message="too slow"),
        replayed="exact",
        evidence="observed",
    )
    assert (trajectory.agent, trajectory.version, trajectory.final_output) == ("taker", "v1", "here you are")


def test_an_absent_thought_is_none_and_an_unparsed_call_keeps_what_was_sent() -> None:
    recorder = TraceRecorder(SUBJECT)
    tool_call(recorder, time.monotonic_ns(), **{names.TOOL_ARGUMENTS: None, names.TOOL_UNPARSED: "{nope"})
    step = trajectory_from(recorder.finish()).steps[0]

    assert (step.thought, step.plan) == (None, None)
    assert (step.calls[0].arguments, step.calls[0].unparsed) == (None, "{nope")


def test_the_digest_does_not_depend_on_times_or_ids() -> None:
    def digest(shift: int, call_id: str) -> str:
        recorder = TraceRecorder(SUBJECT)
        tool_call(recorder, shift, call_id)
        return trajectory_from(recorder.finish()).digest

    assert digest(5, "call_1") == digest(900, "call_7")


def test_spans_that_are_no_trial_are_refused() -> None:
    strange = Span(trace_id="1", span_id="2", name="GET /", start_ns=0, end_ns=1)
    with pytest.raises(ResultsError, match="invoke_agent"):
        trajectory_from([strange])


def test_a_span_with_a_broken_attribute_is_named() -> None:
    recorder = TraceRecorder(SUBJECT)
    tool_call(recorder, time.monotonic_ns(), **{names.TOOL_ARGUMENTS: "{"})
    with pytest.raises(ResultsError, match=r"gen_ai\.tool\.call\.arguments"):
        trajectory_from(recorder.finish())
