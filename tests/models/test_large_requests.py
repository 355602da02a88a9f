"""A request of one trial's agent that takes long to read does not keep the agents of other trials waiting."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from harness.case import Case, Suite
from harness.gateway import SessionRequest
from harness.gateway.gateway import Gateway
from harness.gateway.session import TrialSession
from tests.gateway.conftest import Agent
from tests.models.conftest import KEY

_MB = 1024 * 1024
_AT_MOST_S = 3.0
"""Of the other trial's waiting, on a busy machine; without a bound it was 10 to 150 s."""


@pytest.fixture
def sessions(suite: Suite, case: Case, shop, tmp_path: Path) -> Iterator[list[TrialSession]]:
    """Two trials of one gateway."""
    more = {"model_mode": "live", "secrets": {"MODEL_KEY": KEY}}
    with Gateway(suite, "live", cassettes=tmp_path, services=shop, **more) as gateway, ExitStack() as stack:
        yield [
            stack.enter_context(gateway.open(SessionRequest(trial_id=name, case=case, attempt=1, agent="a")))
            for name in ("greedy", "modest")
        ]


def message(number: int, content: bytes) -> bytes:
    """A field of protobuf that holds a message."""
    size, length = len(content), b""
    while size > 127:
        length, size = length + bytes([size & 127 | 128]), size >> 7
    return bytes([number << 3 | 2]) + length + bytes([size]) + content


def in_protobuf(spans: bytes) -> bytes:
    return message(1, message(2, spans))


def in_json(spans: bytes) -> bytes:
    return b'{"resourceSpans": [{"scopeSpans": [{"spans": [' + spans + b"{}]}]}]}"


_HOSTILE = {
    "spans without content": ("/v1/traces", "application/x-protobuf", in_protobuf(b"\x12\x00" * (2 * _MB))),
    "fields of a span": ("/v1/traces", "application/x-protobuf", in_protobuf(message(2, b"\x08\x00" * (4 * _MB)))),
    "values of a span": (
        "/v1/traces",
        "application/x-protobuf",
        in_protobuf(message(2, message(9, message(2, message(5, b"\x0a\x00" * (4 * _MB)))))),
    ),
    "spans in JSON": ("/v1/traces", "application/json", in_json(b"{}," * (2 * _MB))),
    "lists in JSON": ("/v1/traces", "application/json", in_json(b"[]," * (4 * _MB))),
    "lists of a model's request": (
        "/v1/chat/completions",
        "application/json",
        b'{"model": "small-1", "messages": [' + b"[]," * (10 * _MB) + b"[]]}",
    ),
    "texts of a model's request": (
        "/v1/chat/completions",
        "application/json",
        b'{"model": "small-1", "messages": [' + b'"",' * (10 * _MB) + b'""]}',
    ),
}


@pytest.mark.parametrize("hostile", _HOSTILE)
def test_a_request_of_many_values_keeps_no_other_trial_waiting(
    sessions: list[TrialSession], agent: Callable[[Path], Agent], hostile: str
) -> None:
    greedy, modest = sessions
    path, kind, body = _HOSTILE[hostile]
    other = agent(modest.socket)
    assert 200 == other.ask("GET", "/tools")[0]
    taken: list[int] = []
    sender = threading.Thread(
        target=lambda: taken.append(agent(greedy.socket).ask("POST", path, body, {"Content-Type": kind})[0])
    )
    sender.start()
    longest = 0.0
    while sender.is_alive():
        began = time.monotonic()
        assert 200 == other.ask("GET", "/tools")[0]
        longest = max(longest, time.monotonic() - began)
    sender.join()

    assert longest < _AT_MOST_S
    assert taken[0] in {200, 400}
    greedy.end()
