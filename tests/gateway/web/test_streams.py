"""Answers that come piece by piece, break off, come too late or not at all."""

import http.client
import json
import time

import pytest

from harness.gateway.session import TrialSession
from tests.gateway.web.hostile import HOST, ask, connected, error_of, secured


@pytest.mark.parametrize("link", [connected, secured])
def test_a_stream_arrives_as_it_comes_and_is_replayed(started, link) -> None:
    def read(session: TrialSession) -> tuple[list[float], bytes]:
        with link(session) as client:
            client.sendall(f"GET /stream HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
            times, got = [], b""
            while not got.endswith(b"0\r\n\r\n"):
                got += client.recv(65536)
                times.append(time.monotonic())
            return times, got

    with started("record") as session:
        times, got = read(session)
        assert {"live": 1} == session.end().tiers
    with started("replay") as session:
        _, again = read(session)
        assert {"exact": 1} == session.end().tiers
    assert times[-1] - times[0] > 0.3
    for answer in (got, again):
        assert [b"data: %d" % n for n in range(5)] == [line for line in answer.splitlines() if b"data" in line]


def test_a_stream_that_is_cut_is_cut_for_the_agent_too_and_not_recorded(started) -> None:
    with started("record") as session:
        with pytest.raises(http.client.IncompleteRead) as cut:
            ask(session, "/cut")
        record = session.end()
    assert b"data: 0\n\ndata: 1\n\n" == cut.value.partial
    assert "reset" == error_of(record)
    assert (1, 0) == (sum(record.recording.failed.values()), record.recorded)

    with started("replay") as session:
        assert 424 == ask(session, "/cut")[0]
        assert 1 == len(session.end().misses)


@pytest.mark.parametrize(
    ("path", "status", "error"),
    [
        ("/huge", 502, "malformed_result"),
        ("/garbled", 502, "malformed_result"),
        ("/headers", 502, "malformed_result"),
        ("/slow", 504, "timeout"),
    ],
)
def test_a_host_that_gives_no_answer_is_told_in_json(started, path: str, status: int, error: str) -> None:
    with started(timeout_s=0.6 if path == "/slow" else 20) as session:
        given, body = ask(session, path)
        record = session.end()

    assert (status, error, error) == (given, json.loads(body)["error"]["type"], error_of(record))


@pytest.mark.parametrize(
    ("path", "error"),
    [("/short", "reset"), ("/stall", "timeout"), ("/endless", "malformed_result"), ("/bomb", "malformed_result")],
)
def test_an_answer_that_breaks_off_is_cut_and_told_in_the_trace(started, path: str, error: str) -> None:
    with started(timeout_s=0.6 if path == "/stall" else 20) as session:
        with pytest.raises(http.client.IncompleteRead):
            ask(session, path)
        record = session.end()

    assert error == error_of(record)


def test_a_header_that_any_line_of_connection_names_is_neither_sent_nor_in_the_key(started, outside) -> None:
    def asked(mode: str, tenant: str) -> bytes:
        with started(mode) as session, connected(session) as client:
            named = "Connection: close\r\nConnection: X-Tenant\r\n"
            head = f"GET http://{HOST}/fine HTTP/1.1\r\nHost: {HOST}\r\n{named}X-Tenant: {tenant}\r\n\r\n"
            client.sendall(head.encode())
            got = client.recv(65536)
            session.end()
            return got.split()[1]

    assert b"200" == asked("record", "a")
    assert b"x-tenant" not in outside[0].requests[-1].lower()
    assert b"200" == asked("replay", "b")


def test_two_hundred_megabytes_are_not_read_to_their_end(started, outside) -> None:
    with started("record") as session:
        ask(session, "/huge")
        assert outside[0].gone.wait(60)
        recording = session.end().recording
    assert ({}, {f"http:{HOST}": 1}) == (recording.failed, recording.unreadable)


def test_a_host_that_loses_every_connection_is_an_outage(started) -> None:
    with started() as session:
        assert 502 == ask(session, "/reset")[0]
        assert f"http:{HOST}" == session.end().outage.server


def test_a_request_under_way_at_the_end_is_traced(started, outside) -> None:
    with started(timeout_s=0.6) as session:
        client = connected(session)
        client.sendall(f"GET http://{HOST}/slow HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode())
        until = time.monotonic() + 60
        while not outside[0].requests:
            assert time.monotonic() < until
            time.sleep(0.02)
        record = session.end()
        client.close()

    assert "timeout" == error_of(record)
