"""Whatever is sent to the forward proxy: an answer or a closed connection, never a hang or another trial's data."""

import contextlib
import json
import socket
import time

import pytest

from tests.gateway.web.hostile import HOST, ask, connected

_URL = b"http://api.example.com"

SENT = {
    "no HTTP": b"hello\r\n\r\n",
    "a byte": b"C",
    "half a CONNECT": b"CONNECT api.exam",
    "a CONNECT of another version": b"CONNECT api.example.com:443 HTTP/3\r\n\r\n",
    "a CONNECT with a body": b"CONNECT api.example.com:443 HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n",
    "a CONNECT without an end": b"CONNECT api.example.com:443 HTTP/1.1\r\nX: " + b"a" * 20_000,
    "a CONNECT to nothing": b"CONNECT  HTTP/1.1\r\n\r\n",
    "half a handshake": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
    "a broken handshake": b"\x16\x03\x01\x00\x05hello" + b"\0" * 600,
    "a huge header": b"GET " + _URL + b"/fine HTTP/1.1\r\nHost: api.example.com\r\nX: " + b"a" * 20_000 + b"\r\n\r\n",
    "two lengths": b"POST " + _URL + b"/fine HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n{}",
    "a host with a path": b"GET http://api.example.com:x/../ HTTP/1.1\r\nHost: a\r\n\r\n",
    "an address in brackets": b"GET http://[::1/ HTTP/1.1\r\nHost: a\r\n\r\n",
    "a null in a path": b"GET " + _URL + b"/%00/x HTTP/1.1\r\nHost: a\r\n\r\n",
    "a cut chunk": b"POST " + _URL + b"/fine HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nabc",
}


@pytest.mark.parametrize("sent", SENT.values(), ids=SENT)
def test_whatever_is_sent_the_connection_ends_and_the_gateway_serves_on(started, outside, sent: bytes) -> None:
    with started() as session:
        with connected(session) as client:
            client.sendall(sent)
            client.shutdown(socket.SHUT_WR)
            with contextlib.suppress(ConnectionError):
                while client.recv(65536):
                    pass
        assert (200, b'{"ok":true}') == ask(session, "/fine")
        session.end()
    assert 1 == len(outside[0].requests)


def test_slow_clients_hold_up_neither_others_nor_the_end(started) -> None:
    with contextlib.ExitStack() as open_ends, started() as session:
        for begun in (b"", b"C", b"CONN", b"CONNECT api.example.com:443 HTTP/1.1\r\n", b"\x16\x03", b"GET http://api"):
            for _ in range(20):
                client = open_ends.enter_context(connected(session))
                client.sendall(begun)
        assert 200 == ask(session, "/fine")[0]
        began = time.monotonic()
        session.end()
        session.close()
        assert time.monotonic() - began < 9  # the head of a request may take 10 s


def test_a_tunnel_that_is_not_used_ends_with_the_session(started) -> None:
    with contextlib.ExitStack() as open_ends, started() as session:
        for _ in range(20):
            client = open_ends.enter_context(connected(session))
            client.sendall(f"CONNECT {HOST}:443 HTTP/1.1\r\n\r\n".encode())
            assert client.recv(100).startswith(b"HTTP/1.1 200")
        session.end()
        session.close()
        assert b"" == client.recv(100)


def test_a_body_that_is_too_large_is_refused(started) -> None:
    with started() as session:
        status, answer = ask(session, "/fine", "POST", b"x" * (16 * 1024 * 1024 + 1))
        assert (413, "too_large") == (status, json.loads(answer)["error"]["type"])
        assert 200 == ask(session, "/fine")[0]
