"""Odd, slow, many and hostile clients: always a clear answer, never a hang, never another trial's data."""

import contextlib
import http.client
import json
import socket
import stat
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from harness.errors import GatewayError
from harness.gateway.contract import SessionRequest
from harness.gateway.gateway import Gateway
from harness.gateway.session import TrialSession
from harness.suite.cases import Case
from harness.suite.suites import Suite
from harness.traces.projection import trajectory_from


@pytest.fixture
def gateway(suite: Suite, shop, tmp_path: Path) -> Iterator[Gateway]:
    with Gateway(suite, "live", cassettes=tmp_path, services=shop) as running:
        yield running


@pytest.fixture
def open_session(gateway: Gateway, case: Case) -> Callable[[str], TrialSession]:
    return lambda trial: gateway.open(SessionRequest(trial_id=trial, case=case, attempt=1, agent="a"))


@pytest.fixture
def session(open_session: Callable[[str], TrialSession]) -> TrialSession:
    return open_session("t")


def raw(path: Path, *parts: bytes, half_close: bool = False) -> bytes:
    """Sends the parts, reads to the end."""
    with socket.socket(socket.AF_UNIX) as client:
        client.settimeout(20)
        client.connect(str(path))
        for part in parts:
            client.sendall(part)
        if half_close:
            client.shutdown(socket.SHUT_WR)
        answer = b""
        with contextlib.suppress(ConnectionResetError):
            while chunk := client.recv(65536):
                answer += chunk
        return answer


def answered(answer: bytes) -> tuple[int, str]:
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split()[1]), json.loads(body)["error"]["type"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"),
        ("GET", "/tools/look"),
        ("POST", "/turn"),
        ("POST", "/tools"),
        ("DELETE", "/tools/look"),
        ("OPTIONS", "*"),
        ("GET", "/turn/../tools"),
        ("GET", "//turn"),
        ("GET", "/turn%2f"),
        ("PUT", "/turn"),
        ("GET", "/" + "x" * 3000),
    ],
)
def test_what_is_no_route_is_told_in_json(session: TrialSession, agent, method: str, path: str) -> None:
    status, answer = agent(session.socket).ask(method, path)

    assert (status, answer["error"]["type"]) == (404, "no_such_route")


def test_a_head_request_is_answered_without_a_body(session: TrialSession, agent) -> None:
    assert agent(session.socket).ask("HEAD", "/turn") == (404, None)
    assert agent(session.socket).ask("GET", "/turn")[0] == 200


@pytest.mark.parametrize(
    "sent",
    [
        b"hello\r\n\r\n",
        b"BREW /turn HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03",
        b"GET /turn HTTP/1.1\r\nHost: x\r\nbad header\r\n\r\n",
        b"GET /turn HTTP/1.1\r\nHost: x\r\nX: " + b"a" * 20_000 + b"\r\n\r\n",
        b"POST /reply HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
        b"POST /reply HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST /reply HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    ],
)
def test_what_is_not_http_is_told_in_json_and_is_no_failure_of_the_trial(session: TrialSession, sent: bytes) -> None:
    assert answered(raw(session.socket, sent, half_close=True)) == (400, "bad_request")
    assert session.end().limit_reached is None


def post(path: bytes, body: bytes, *headers: bytes) -> bytes:
    lines = [b"POST " + path + b" HTTP/1.1", b"Host: x", *headers, b"", b""]
    return b"\r\n".join(lines) + body


def test_a_client_that_closes_its_half_still_gets_the_answer(session: TrialSession) -> None:
    body = b'{"q": "egg"}'
    answer = raw(session.socket, post(b"/tools/look", body, b"Content-Length: 12"), half_close=True)

    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert answer.endswith(b'{"found": ["egg"]}')


def test_a_client_that_leaves_before_the_answer_leaves_its_call_in_the_trace(session: TrialSession, agent) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(session.socket))
        client.sendall(post(b"/tools/add", b'{"item": "egg"}', b"Content-Length: 15"))
    wait_until(lambda: agent(session.socket).call("order")[1] == {"lines": [{"item": "egg"}]})

    assert trajectory_from(session.end().spans).calls[0].name == "add"


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not holds():
        assert time.monotonic() < end
        time.sleep(0.02)


def test_a_body_that_is_too_large_is_refused_and_the_gateway_lives_on(session: TrialSession, agent) -> None:
    mebibyte = b" " * 1024 * 1024

    assert agent(session.socket).ask("POST", "/tools/look", mebibyte + b"{}")[0] == 413
    chunked = b"".join([b"100000\r\n", mebibyte, b"\r\n"])
    sent = [post(b"/tools/look", b"", b"Transfer-Encoding: chunked"), chunked, chunked]
    assert answered(raw(session.socket, *sent, half_close=True)) == (413, "too_large")
    assert agent(session.socket).call("look", q="egg")[0] == 200


def test_a_client_that_asks_before_it_sends_is_told_to_go_on(session: TrialSession) -> None:
    head = post(b"/tools/look", b"", b"Content-Length: 12", b"Expect: 100-continue", b"Connection: close")
    answer = raw(session.socket, head, b'{"q": "egg"}')

    assert answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")


def test_a_client_that_never_sends_its_body_does_not_hold_up_the_end(session: TrialSession) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(session.socket))
        client.sendall(post(b"/tools/look", b"{", b"Content-Length: 12"))
        time.sleep(0.05)
        began = time.monotonic()
        record = session.end()

        assert time.monotonic() - began < 4
    assert trajectory_from(record.spans).calls == ()


def test_calls_under_way_are_waited_for_and_later_ones_refused(session: TrialSession, agent, shop) -> None:
    answers = []
    thread = threading.Thread(target=lambda: answers.append(agent(session.socket).call("slow")))
    thread.start()
    idle = agent(session.socket)
    idle.ask("GET", "/turn")
    wait_until(lambda: any(path.startswith("/slow") for _, path, *_ in shop.seen))
    record = session.end()
    thread.join()

    assert [status for status, _ in answers] == [504]
    assert [call.name for call in trajectory_from(record.spans).calls] == ["slow"]
    with pytest.raises((ConnectionError, FileNotFoundError, http.client.HTTPException)):
        idle.ask("GET", "/tools")


def test_a_thousand_calls_at_once_are_all_answered(session: TrialSession) -> None:
    clients = []
    body = b'{"q": "egg"}'
    try:
        for _ in range(1000):
            client = socket.socket(socket.AF_UNIX)
            clients.append(client)
            client.settimeout(30)
            client.connect(str(session.socket))
            client.sendall(post(b"/tools/nope", body, b"Content-Length: 12", b"Connection: close"))
        statuses = {client.recv(65536).split()[1] for client in clients}
    finally:
        for client in clients:
            client.close()

    assert statuses == {b"404", b"403"}  # the case allows fifty
    assert session.end().limit_reached == "50 tool calls"


def test_trials_at_the_same_time_do_not_see_each_other(open_session, agent) -> None:
    def order(trial: str, results: dict[str, object]) -> None:
        with open_session(trial) as session:
            mine = agent(session.socket)
            for number in range(5):
                mine.call("add", item=f"{trial}-{number}")
            mine.ask("POST", "/reply", {"message": trial})
            record = session.end()
            results[trial] = (record.final_reply, record.states["order"])

    results: dict[str, object] = {}
    threads = [threading.Thread(target=order, args=(f"trial-{number}", results)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert results == {
        trial: (trial, {"lines": [{"item": f"{trial}-{number}"} for number in range(5)]}) for trial in results
    }
    assert len(results) == 12


def test_the_socket_can_be_reached_by_the_agents_user_and_by_nobody_past_the_private_folder(
    session: TrialSession,
) -> None:
    def mode(path: Path) -> int:
        return stat.S_IMODE(path.stat().st_mode)

    assert (mode(session.socket), mode(session.socket.parent), mode(session.socket.parent.parent)) == (
        0o666,
        0o755,
        0o700,
    )
    assert list(session.socket.parent.iterdir()) == [session.socket]
    assert len(str(session.socket).encode()) <= 107


def test_nothing_is_left_behind(suite: Suite, case: Case, tmp_path: Path, shop) -> None:
    with Gateway(suite, "record", cassettes=tmp_path, services=shop) as gateway:
        first = gateway.open(SessionRequest(trial_id="1", case=case, attempt=1, agent="a"))
        second = gateway.open(SessionRequest(trial_id="2", case=case, attempt=2, agent="a"))
        first.end()
        first.close()
        first.close()
        assert not first.socket.parent.exists()

    assert not second.socket.parent.parent.exists()
    assert "harness-gateway" not in [thread.name for thread in threading.enumerate()]
    second.close()


def test_ending_twice_gives_the_same_and_ending_after_closing_is_refused(open_session) -> None:
    first, second = open_session("1"), open_session("2")
    assert first.end() is first.end()
    second.close()
    with pytest.raises(GatewayError, match="'2'"):
        second.end()
