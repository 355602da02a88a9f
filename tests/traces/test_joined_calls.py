"""Which of a model's calls a span of the gateway belongs to: as the rule tells, and in time for any number."""

import json
import time
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.traces import names
from harness.traces.projection import trajectory_from
from harness.traces.replies import JoinedCalls, same_name
from harness.traces.spans import Span
from harness.values import canonical_json


@dataclass(eq=False)
class Call:
    name: str
    arguments: dict[str, Any] | None


def told(spans: list[Any], replies: list[Any]) -> list[Call | None]:
    """The rule, as it reads: each with each."""
    found: list[Call | None] = [None] * len(spans)
    taken: list[Call] = []

    def completed(asked: dict[str, Any], made: dict[str, Any]) -> bool:
        wanted = {name: value for name, value in asked.items() if value is not None}
        return all(name in made and canonical_json(made[name]) == canonical_json(wanted[name]) for name in wanted)

    for alike in (lambda a, b: canonical_json(a) == canonical_json(b), completed, lambda a, b: True):
        for place, (start, name, made) in enumerate(spans):
            for began, calls in reversed(replies):
                for call in calls if found[place] is None and began <= start else ():
                    fits = same_name(call.name, name) and alike(call.arguments or {}, made)
                    if found[place] is None and fits and not any(call is one for one in taken):
                        found[place] = call
                        taken.append(call)
    return found


ARGUMENTS = st.dictionaries(st.sampled_from("ab"), st.sampled_from([1, 1.0, None, "x"]), max_size=2)
NAMES = st.sampled_from(["look", "mcp__look", "x_look", "order"])


@pytest.mark.slow
@settings(deadline=None, max_examples=400)
@given(
    st.lists(st.tuples(st.integers(0, 9), NAMES, ARGUMENTS), max_size=6),
    st.lists(st.lists(st.tuples(NAMES, st.none() | ARGUMENTS), max_size=4), max_size=5),
)
def test_each_span_has_the_call_that_the_rule_tells(spans: list[Any], asked: list[Any]) -> None:
    replies = [(2 * at, [Call(*one) for one in calls]) for at, calls in enumerate(asked)]
    joined = JoinedCalls(replies).join(spans)
    assert told(spans, replies) == [joined.get(place) for place in range(len(spans))]


def _span(number: int, at: int, **attributes: Any) -> Span:
    timed = {names.STARTED_MONOTONIC: at, names.ENDED_MONOTONIC: at + 1}
    named = {getattr(names, name): value for name, value in attributes.items()}
    return Span(
        trace_id="a" * 32,
        span_id=f"{number:016x}",
        parent_id=None if number == 1 else "0" * 15 + "1",
        name="s",
        start_ns=at,
        end_ns=10**9 if number == 1 else at + 1,
        attributes={**timed, **named},
        status="unset",
    )


def _reply(number: int, at: int, calls: list[tuple[str, dict[str, Any]]]) -> Span:
    parts = [
        {"type": "tool_call", "id": f"c{number}_{place}", "name": name, "arguments": arguments}
        for place, (name, arguments) in enumerate(calls)
    ]
    said = json.dumps([{"role": "assistant", "parts": parts}])
    return _span(number, at, STEP_KIND=names.MODEL, OUTPUT_MESSAGES=said, INPUT_MESSAGES="[]")


def _seconds(spans: list[Span]) -> float:
    began = time.process_time()
    trajectory_from([_span(1, 0, OPERATION=names.INVOKE_AGENT), *spans])
    return time.process_time() - began


@pytest.mark.slow
def test_many_calls_and_many_replies_take_little_time() -> None:
    """400 of them had taken 40 s."""
    replies = [_reply(10 + at, 100 * at, [("look", {"n": 20 * at + n}) for n in range(20)]) for at in range(400)]
    calls = [
        _span(
            10_000 + at,
            100 * at + 50,
            STEP_KIND=names.TOOL,
            TOOL_NAME="look",
            TOOL_CALL_ID=f"call_{at}",
            TOOL_ARGUMENTS=json.dumps({"n": -at}),
            TOOL_RESULT="{}",
        )
        for at in range(400)
    ]
    assert _seconds(replies + calls) < 8


@pytest.mark.slow
def test_many_names_of_own_spans_and_of_calls_take_little_time() -> None:
    """They had taken 73 s."""
    replies = [_reply(10 + at, 100 * at, [(f"asked{at}_{n}", {}) for n in range(10)]) for at in range(500)]
    facts = {"ORIGIN": "agent", "OPERATION": "execute_tool"}
    own = [_span(10_000 + at, 5, TOOL_NAME=f"own{at}", **facts) for at in range(20_000)]
    assert _seconds(replies + own) < 20
