"""The projection of a trial takes time that grows with what an agent sends, and not with its square."""

import json
import time
from collections.abc import Callable, Iterable

import pytest

from harness.traces import names
from harness.traces.projection import trajectory_from
from harness.traces.recorder import TraceRecorder, TraceSubject
from harness.traces.spans import Span
from harness.traces.trajectory import Trajectory

MOST = 6_000
"""A third of what the gateway takes of one trial; half of it took a minute."""
SUBJECT = TraceSubject(trial_id="r.c.1", case_id="c", attempt=1, agent="taker", version="v1")


def projected(spans: Iterable[Span]) -> Trajectory:
    recorder = TraceRecorder(SUBJECT)
    recorder.link(spans)
    return trajectory_from(recorder.finish())


def span(number: int, parent: int | None, start: int = 0, end: int = 10, **facts: str) -> Span:
    return Span(
        trace_id="a" * 32,
        span_id=f"{number:016x}",
        parent_id=None if parent is None else f"{parent:016x}",
        name=f"execute_tool t{number}",
        start_ns=start,
        end_ns=end,
        attributes={"gen_ai.operation.name": "execute_tool", **facts},
    )


def chain(count: int) -> list[Span]:
    return [span(number, number - 1 if number else None) for number in range(count)]


def chain_backwards(count: int) -> list[Span]:
    return [span(number, number + 1) for number in range(count)]


def ring(count: int) -> list[Span]:
    return [span(number, (number + 1) % count) for number in range(count)]


def same_name(count: int) -> list[Span]:
    return [one.model_copy(update={"name": "execute_tool x"}) for one in chain(count)]


def nested_agents(count: int) -> list[Span]:
    """Each within all that began before it, in time alone."""
    return [
        span(number, None, number, 2 * count - number, **({"gen_ai.agent.name": f"n{number}"} if number % 2 else {}))
        for number in range(count)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("shape", [chain, chain_backwards, ring, same_name, nested_agents])
def test_long_chains_are_read_in_seconds(shape: Callable[[int], list[Span]]) -> None:
    spans = shape(MOST)
    began = time.process_time()
    projected(spans)
    assert time.process_time() - began < 10


def test_the_nearest_agent_above_and_the_innermost_around_are_named() -> None:
    by_parent = [
        span(1, None, **{"gen_ai.agent.name": "outer"}),
        span(2, 1, **{"gen_ai.agent.name": "inner"}),
        span(3, 2),
        span(4, 1),
        span(5, 3),
    ]
    by_time = [
        span(11, None, 100, 200, **{"gen_ai.agent.name": "wide"}),
        span(12, None, 120, 180, **{"gen_ai.agent.name": "narrow"}),
        span(13, None, 190, 195),
        span(14, None, 130, 140),
        span(15, None, 110, 115),
        span(16, None, 500, 600),
    ]
    told = {step.calls[0].name: step.agent for step in projected([*by_parent, *by_time]).steps}
    assert {
        "t1": "outer",
        "t2": "inner",
        "t3": "inner",
        "t4": "outer",
        "t5": "inner",
        "t11": "wide",
        "t12": "narrow",
        "t13": "wide",
        "t14": "narrow",
        "t15": "wide",
        "t16": "taker",
    } == told


def test_of_spans_within_each_other_under_one_name_the_outermost_is_the_call() -> None:
    inner = [span(1, None), span(2, 1), span(3, 2), span(4, None)]
    named = [one.model_copy(update={"name": f"execute_tool {name}"}) for one, name in zip(inner, "xyxx", strict=True)]
    assert ["x", "x", "y"] == sorted(call.name for call in projected(named).calls)


@pytest.mark.slow
def test_a_request_that_repeats_one_message_often_is_read_in_seconds() -> None:
    recorder = TraceRecorder(SUBJECT)
    messages = [{"role": "user", "parts": [{"type": "text", "content": f"m{n % 7}"}]} for n in range(20_000)]
    facts = {
        names.STEP_KIND: names.MODEL,
        names.INPUT_MESSAGES: json.dumps(messages),
        names.OUTPUT_MESSAGES: '[{"role":"assistant","parts":[{"type":"text","content":"yes"}]}]',
    }
    recorder.record("chat", facts, time.monotonic_ns())
    began = time.process_time()
    steps = trajectory_from(recorder.finish()).steps
    assert time.process_time() - began < 10
    assert 20_001 == len(steps)
