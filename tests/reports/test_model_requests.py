"""Requests to the agent's model as they passed the gateway: what is shown, and what is not said again."""

import json
from typing import Any

from harness.reports.render.trajectory import model_lines, model_requests
from harness.traces import names
from harness.traces.spans import Span


def span(start: int, **attributes: Any) -> Span:
    passed = {names.STEP_KIND: names.MODEL} | {getattr(names, name): value for name, value in attributes.items()}
    said = {key: json.dumps(one) if isinstance(one, list | dict) else one for key, one in passed.items()}
    return Span(trace_id="t", span_id=str(start), name="chat", start_ns=start, end_ns=start + 1, attributes=said)


USER = {"role": "user", "content": "egg"}
REPLY = {"role": "assistant", "content": "toast?"}


def test_requests_stand_in_the_order_of_their_start_without_the_agents_own_spans() -> None:
    spans = [
        span(2, REQUEST_MODEL="second", INPUT_MESSAGES="[not json"),
        span(1, REQUEST_MODEL="first", INPUT_MESSAGES=[USER], INPUT_TOKENS=3, SYSTEM="short"),
        span(3, REQUEST_MODEL="reported", ORIGIN="agent"),
        span(4, STEP_KIND="tool"),
    ]
    assert [
        {"model": "first", "messages": [USER], "input_tokens": 3, "system": "short"},
        {"model": "second", "messages": "[not json"},
    ] == model_requests(spans)
    assert ["no request to a model passed the gateway"] == list(model_lines(spans[2:]))


def test_what_a_request_repeats_of_the_one_before_is_said_once() -> None:
    first = span(1, REQUEST_MODEL="m", REPLAY_TIER="exact", INPUT_TOKENS=3, OUTPUT_TOKENS=0, SYSTEM="a\nb",
                 INPUT_MESSAGES=[USER], OUTPUT_MESSAGES="toast?")  # fmt: skip
    again = span(2, SYSTEM="a\nb", INPUT_MESSAGES=[USER, REPLY], ERROR_TYPE="timeout", TOOL_ERROR_MESSAGE="late\x1b")
    other = span(3, SYSTEM="c", INPUT_MESSAGES=[REPLY], ERROR_TYPE="refused")
    shown = list(model_lines([first, again, other]))
    starts = [place for place, line in enumerate(shown) if line.startswith("request ")]
    one, two, three = (shown[start:end] for start, end in zip(starts, [*starts[1:], None], strict=True))
    assert ["request 1: m [exact], 3 tokens in, 0 out", "  system: a", "    b"] == one[:3]
    assert "  answer: toast?" == one[-1]
    assert USER == json.loads("\n".join(one[3:-1]).replace("message: ", ""))
    assert "request 2: no model named [-], - tokens in, - out" == two[0]
    assert ["  system: as before", "  the first 1 message(s): as before"] == two[1:3]
    assert REPLY == json.loads("\n".join(two[3:-1]).replace("message: ", ""))
    assert "  error timeout: late\\x1b" == two[-1]
    assert "  system: c" == three[1]
    assert not any("as before" in line for line in three)
    assert "  error refused" == three[-1]


def test_a_request_that_goes_on_with_fewer_messages_repeats_those() -> None:
    shown = list(model_lines([span(1, INPUT_MESSAGES=[USER, REPLY]), span(2, INPUT_MESSAGES=[USER])]))
    assert "  the first 1 message(s): as before" == shown[-1]
