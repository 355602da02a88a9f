"""Who may enter the app, and what every answer carries."""

import re
import socket
from pathlib import Path

import httpx
import pytest

from harness.reports.pages.server import ViewServer
from tests.reports.app.client import unknown


def test_without_a_session_nothing_is_shown(server: ViewServer) -> None:
    with unknown() as client:
        for path in ("/", "/runs/after", "/assets/keys.js", "/live/after", "/no/such/page"):
            answer = client.get(server.address + path)
            assert (403, True) == (answer.status_code, "no session" in answer.text), path


def test_the_link_opens_one_browser_once(server: ViewServer) -> None:
    link = server.another_link()
    with unknown() as first, unknown() as second:
        assert 200 == first.get(link).status_code
        assert 403 == second.get(link).status_code
        assert 200 == first.get(link).status_code, "the browser that has a session may follow the link again"


def test_the_session_is_no_part_of_an_address_and_no_program_can_read_it(server: ViewServer) -> None:
    with unknown() as own:
        cookie = own.get(server.another_link(), follow_redirects=False).headers["set-cookie"]
    assert "domain" not in cookie.lower(), "a browser sends it to the app's own name alone"
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "localhost:{port}",
        "127.0.0.1:{port}",
        "x.localhost:{port}",
        "127.0.0.1",
        "127.0.0.1:1",
        "localhost.evil.example:80",
        "",
    ],
)
def test_another_name_for_this_machine_is_refused(client: httpx.Client, host: str) -> None:
    assert 403 == client.get("/", headers={"Host": host.format(port=client.base_url.port)}).status_code


def test_the_session_of_the_app_reaches_no_other_port_of_this_machine(
    server: ViewServer, client: httpx.Client, tmp_path: Path
) -> None:
    names = {httpx.URL(one).host for one in (server.address, server.another_link())}
    (name,) = names
    assert re.fullmatch(r"[a-z0-9-]{16,63}\.localhost", name)
    for here in ("127.0.0.1", "localhost", "harness.localhost"):
        url = f"http://{here}:{server.port}/"
        assert 403 == client.get(url).status_code, "the name of the machine opens nothing"
        assert "cookie" not in client.build_request("GET", url).headers
    with ViewServer(tmp_path, ()) as other:
        assert httpx.URL(other.address).host != name
        assert "cookie" not in client.build_request("GET", other.address).headers


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "https://127.0.0.1", ""])
def test_another_page_changes_nothing(client: httpx.Client, origin: str) -> None:
    answer = client.post("/runs/other/stop", headers={"Origin": origin})
    assert 403 == answer.status_code


def test_every_answer_forbids_what_the_app_does_not_need(client: httpx.Client) -> None:
    for path in ("/", "/runs/none", "/assets/style.css", "/no/such/page", "/runs/after/trials/case-0000/1"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'"), path
        assert "unsafe" not in policy
        assert ("nosniff", "no-store", "DENY") == (
            headers["x-content-type-options"],
            headers["cache-control"],
            headers["x-frame-options"],
        )


@pytest.mark.parametrize(
    "path",
    [
        "/assets/../server.py",
        "/assets/%2e%2e%2fserver.py",
        "/runs/..%2f..%2fetc",
        "/runs/%2e%2e",
        "/runs/.variants",
        "/runs/after/trials/..%2f..%2fmanifest.json/1",
        "/runs/after/trials/case-0000/1/pictures/..%2Ftrial.json",
        "/runs/after/trials/case-0000/1/pictures/trial.json",
        "/runs/after/trials/case-0000/9999999999999999999999",
        "/runs/after%0a",
    ],
)
def test_no_address_leads_out_of_the_project(client: httpx.Client, path: str) -> None:
    answer = client.get(path)
    assert answer.status_code in (400, 404), answer.text
    assert "Traceback" not in answer.text


def test_only_the_loopback_interface_is_listened_on(server: ViewServer) -> None:
    own = socket.gethostbyname(socket.gethostname())
    if own.startswith("127."):
        own = "127.0.0.2"  # the machine has no other address; this one belongs to no server of ours either
    with socket.socket() as probe:
        assert 0 != probe.connect_ex((own, server.port))


def test_other_methods_are_not_answered(client: httpx.Client) -> None:
    for method in ("PUT", "DELETE", "OPTIONS", "TRACE"):
        assert 405 == client.request(method, "/").status_code


def test_a_body_that_is_too_large_is_refused(client: httpx.Client) -> None:
    answer = client.post("/runs/other/stop", data={"x": "x" * 1_000_000})
    assert 413 == answer.status_code
