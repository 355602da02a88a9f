"""The browser's way out, asked by hand: pages of the declared hosts and nothing else of the gateway."""

import contextlib
import http.client
import json
import socket

import pytest

from harness.traces.projection import trajectory_from
from tests.sandbox.browser.conftest import HOST, opened_session


def answer(session, method: str, target: str, host: str, body: bytes = b"") -> tuple[http.client.HTTPResponse, bytes]:
    connection = http.client.HTTPConnection(host)
    connection.sock = socket.socket(socket.AF_UNIX)
    with contextlib.closing(connection):
        connection.sock.settimeout(60)
        connection.sock.connect(str(session.pages_socket))
        connection.request(method, target, body or None)
        response = connection.getresponse()
        return response, response.read()


def ask(session, method: str, target: str, host: str, body: bytes = b"") -> tuple[int, str, bytes]:
    response, content = answer(session, method, target, host, body)
    return response.status, response.headers.get("x-harness-refused", ""), content


def test_a_declared_host_answers_and_its_requests_are_no_steps(session) -> None:
    status, refused, body = ask(session, "GET", f"http://{HOST}/", HOST)

    assert (200, "") == (status, refused)
    assert b"<h1>Start</h1>" in body
    record = session.end()
    (page,) = [span for span in record.spans if span.attributes.get("harness.step") == "page"]
    assert f"page http:{HOST}" == page.name
    assert () == trajectory_from(record.spans).steps
    assert record.limit_reached is None


def test_every_cookie_that_a_page_sets_arrives(session) -> None:
    response, _ = answer(session, "GET", f"http://{HOST}/cookies", HOST)

    assert ["one=1", "two=2"] == response.headers.get_all("set-cookie")


@pytest.mark.parametrize("target", ["/turn", "/tools", "http://127.0.0.1:8700/turn", "http://localhost/tools"])
def test_the_agents_own_routes_are_not_served_there(session, target: str) -> None:
    status, refused, _ = ask(session, "GET", target, "127.0.0.1:8700")

    assert (403, True) == (status, "there is no host" in refused)


def test_nobody_speaks_in_the_agents_name_from_a_page(session) -> None:
    said = json.dumps({"message": "forged"}).encode()

    assert 403 == ask(session, "POST", "/reply", "127.0.0.1:8700", said)[0]
    assert session.end().final_reply is None


def test_another_host_is_refused_and_the_trace_says_so(session) -> None:
    status, refused, _ = ask(session, "GET", "http://other.example/", "other.example")

    assert (403, f"there is no host 'other.example:80' here; the hosts are: {HOST}") == (status, refused)
    (tried,) = [span for span in session.end().spans if span.attributes.get("error.type") == "not_allowed"]
    assert ("page http:other.example:80", "page") == (tried.name, tried.attributes["harness.step"])


def test_pages_have_a_socket_of_their_own(session) -> None:
    assert session.pages_socket.parent != session.socket.parent


def test_a_page_is_recorded_and_replayed_and_one_that_was_not_is_a_miss(site, tmp_path) -> None:
    with opened_session(site[0], tmp_path, "record") as session:
        recorded = ask(session, "GET", f"http://{HOST}/form", HOST)
        session.end()
    with opened_session("http://127.0.0.1:1", tmp_path, "replay") as session:
        replayed = ask(session, "GET", f"http://{HOST}/form", HOST)
        missed = ask(session, "GET", f"http://{HOST}/twins", HOST)
        record = session.end()

    assert (200, recorded) == (recorded[0], replayed)
    assert (424, True) == (missed[0], "no recording" in missed[1])
    assert [f"http:{HOST}"] == [miss["tool"] for miss in record.misses]
