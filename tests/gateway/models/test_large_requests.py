"""A request of one trial's agent that takes long to read does not keep the agents of other trials waiting."""

import contextlib
import gc
import http.client
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from harness.gateway.bodies import values_in
from harness.gateway.contract import SessionRequest
from harness.gateway.gateway import Gateway
from harness.gateway.session import TrialSession
from harness.suite.cases import Case
from harness.suite.suites import Suite
from harness.traces import names
from tests.gateway.conftest import Agent
from tests.gateway.models.conftest import KEY
from tests.gateway.models.model_server import ModelServer, Thought

_MB = 1024 * 1024
_AT_MOST_S = 3.0
"""Of the other trial's waiting, on a busy machine; without a bound it was 10 to 150 s."""
_SEARCHED_AT_MOST = 0.35
"""Of the same while a text is searched for secrets, as a share of the time that the request takes: a busy machine slows
both. On the thread that serves all trials it was half of it or all; in a thread of its own it is at most 0.15.
"""
_NO_WAIT_S = 0.5


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
    "values of a span": (
        "/v1/traces",
        "application/x-protobuf",
        in_protobuf(message(2, message(9, message(2, message(5, b"\x0a\x00" * (4 * _MB)))))),
    ),
    "lists in JSON": ("/v1/traces", "application/json", in_json(b"[]," * (4 * _MB))),
    "texts of a model's request": (
        "/v1/chat/completions",
        "application/json",
        b'{"model": "small-1", "messages": [' + b'"",' * (10 * _MB) + b'""]}',
    ),
}


_CHAT = "/v1/chat/completions"
_REPEATED = KEY[:4] * (250 * 1024)
"""1 MB in which a key may begin at every fourth character."""


def asked(content: str) -> bytes:
    return json.dumps({"model": "small-1", "messages": [{"role": "user", "content": content}]}).encode()


_SEARCHED = {
    "objects of a model's request": (
        _CHAT,
        b'{"model": "small-1", "messages": [' + b'{"role": "sk-v"}, ' * 245_000 + b'{"role": "user", "content": ""}]}',
    ),
    "a plan": ("/thought", json.dumps({"text": "", "plan": [_REPEATED[:1000]] * 1000}).encode()),
    "a tool's argument": ("/tools/look", json.dumps({"q": _REPEATED}).encode()),
}


@pytest.mark.slow
@pytest.mark.parametrize("hostile", _HOSTILE)
def test_a_request_of_many_values_keeps_no_other_trial_waiting(
    sessions: list[TrialSession], agent: Callable[[Path], Agent], hostile: str
) -> None:
    path, kind, body = _HOSTILE[hostile]

    longest, _, status = longest_wait(sessions, agent, path, kind, body)

    assert longest < _AT_MOST_S
    assert status in {200, 400}
    sessions[0].end()


@pytest.mark.slow
@pytest.mark.parametrize("hostile", _SEARCHED)
def test_the_search_of_a_large_request_for_secrets_keeps_no_other_trial_waiting(
    sessions: list[TrialSession], agent: Callable[[Path], Agent], hostile: str
) -> None:
    path, body = _SEARCHED[hostile]

    longest, took, status = longest_wait(sessions, agent, path, "application/json", body)

    assert longest < max(_NO_WAIT_S, _SEARCHED_AT_MOST * took)
    assert status in {200, 204, 414}
    sessions[0].end()


@pytest.mark.slow
def test_a_large_request_that_the_end_of_the_trial_cuts_short_is_in_the_trace(
    sessions: list[TrialSession], agent: Callable[[Path], Agent]
) -> None:
    greedy, _ = sessions

    def send() -> None:
        with contextlib.suppress(http.client.HTTPException, ConnectionError):
            agent(greedy.socket).ask("POST", _CHAT, b'{"tools": [{"type": "web_search"}], ' + asked(_REPEATED * 8)[1:])

    sender = threading.Thread(target=send)
    sender.start()
    time.sleep(
        1.0
    )  # it is refused for its tool, and what it said is searched for longer than the end waits for answers

    record = greedy.end()
    sender.join()

    (span,) = [one for one in record.spans if one.attributes.get(names.STEP_KIND) == names.MODEL]
    assert KEY[:4] in str(span.attributes[names.INPUT_MESSAGES])


@pytest.mark.slow
def test_a_gateway_that_is_closed_while_large_requests_are_unanswered_leaves_no_task(
    suite: Suite, case: Case, shop, tmp_path: Path, agent: Callable[[Path], Agent], caplog: pytest.LogCaptureFixture
) -> None:
    def send(path: Path) -> None:
        with contextlib.suppress(http.client.HTTPException, ConnectionError):
            agent(path).ask("POST", _CHAT, asked(_REPEATED))

    def close_too_early(suite: Suite) -> None:
        more = {"model_mode": "live", "secrets": {"MODEL_KEY": KEY}}
        with Gateway(suite, "live", cassettes=tmp_path, services=shop, **more) as gateway:
            session = gateway.open(SessionRequest(trial_id="t", case=case, attempt=1, agent="a"))
            senders = [threading.Thread(target=send, args=(session.socket,)) for _ in range(3)]
            for sender in senders:
                sender.start()
            time.sleep(1.0)
        for sender in senders:
            sender.join()

    before = set(threading.enumerate())
    with socket.create_server(("127.0.0.1", 0)) as silent:
        assert suite.model is not None
        address = f"http://127.0.0.1:{silent.getsockname()[1]}"
        close_too_early(suite.model_copy(update={"model": suite.model.model_copy(update={"base_url": address})}))
    for thread in set(threading.enumerate()) - before:
        thread.join()
    gc.collect()

    assert [] == caplog.records


@pytest.mark.slow
def test_the_values_of_requests_that_one_trial_sends_at_once_are_bounded(
    sessions: list[TrialSession], models: ModelServer, agent: Callable[[Path], Agent]
) -> None:
    greedy, modest = sessions
    many = asked("")[:-1] + b', "metadata": [' + b"0," * 300_000 + b"0]}"
    answered = threading.Event()
    models.think = lambda _: (answered.wait(60), Thought("Done."))[1]
    told: list[tuple[int, Any]] = []
    senders = [
        threading.Thread(target=lambda: told.append(agent(greedy.socket).ask("POST", _CHAT, many))) for _ in range(4)
    ]

    for sender in senders:
        sender.start()
    while not told:
        time.sleep(0.01)
    early = list(told)
    small = agent(modest.socket).ask("GET", "/tools")[0], agent(greedy.socket).ask("GET", "/tools")[0]
    answered.set()
    for sender in senders:
        sender.join()
    after = agent(greedy.socket).ask("POST", _CHAT, many)[0]

    ((status, answer),) = early
    assert 503 == status
    assert "too_much_at_once" == answer["error"]["type"]
    assert "1000000 objects, lists and commas" in answer["error"]["message"]
    assert (200, 200) == small
    assert [200, 200, 200, 503] == sorted(status for status, _ in told)
    assert 200 == after


def test_what_stands_in_strings_is_no_value() -> None:
    assert 3 == values_in(b'{"a": "' + b"[,{" * 20_000 + b'", "b": []}')
    assert 20_001 == values_in(b"[" + b"0," * 20_000 + b"0]")
    assert 0 == values_in(b"," * 20_000)


def longest_wait(
    sessions: list[TrialSession], agent: Callable[[Path], Agent], path: str, kind: str, body: bytes
) -> tuple[float, float, int]:
    """How long the second trial waited at most for a small answer while the first one sent the body, how long this
    took, both in seconds, and its status.
    """
    greedy, modest = sessions
    other = agent(modest.socket)
    assert 200 == other.ask("GET", "/tools")[0]
    taken: list[int] = []
    sender = threading.Thread(
        target=lambda: taken.append(agent(greedy.socket).ask("POST", path, body, {"Content-Type": kind})[0])
    )
    sent = time.monotonic()
    sender.start()
    longest = 0.0
    while sender.is_alive():
        began = time.monotonic()
        assert 200 == other.ask("GET", "/tools")[0]
        longest = max(longest, time.monotonic() - began)
    sender.join()
    return longest, time.monotonic() - sent, taken[0]
