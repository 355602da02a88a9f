"""Where no request gets through: other hosts, other ports, the case's limits, what must not be written to."""

import contextlib
import json
import socket
import ssl
from pathlib import Path

import pytest

from harness.gateway.contract import SessionRequest
from harness.gateway.gateway import Gateway
from harness.suite.hosts import HostSpec
from harness.traces import names
from harness.traces.projection import trajectory_from
from tests.gateway.web.conftest import Browser
from tests.gateway.web.hostile import HOST


def test_a_host_that_is_not_disposable_is_read_and_never_written_to(browse, host, shop) -> None:
    kept = host.model_copy(update={"disposable": False})
    answers = []

    def play(browser: Browser) -> None:
        answers.append(browser.ask("GET", "/order")[0])
        answers.append(browser.ask("DELETE", "/order"))

    record = browse("live", play, host=kept)
    assert 200 == answers[0]
    assert (403, "not_allowed") == (answers[1][0], answers[1][1]["error"]["type"])
    assert ["GET"] == [method for method, *_ in shop.seen]
    assert ["http:api.example.com"] * 2 == [call.name for call in trajectory_from(record.spans).calls]


@pytest.mark.parametrize(
    ("target", "headers"),
    [
        ("/order", {"X_HTTP_Method_Override": "DELETE"}),
        ("/order", {"x_http_method": " delete"}),
        ("/order", {"X_Method_Override": "POST"}),
        ("/order?_method=DELETE", {}),
        ("/order?%5fmethod=DELETE", {}),
        ("/purge", {}),
        ("/%70urge", {}),
        ("/%2570urge", {}),
        ("//purge", {}),
        ("/x/..;/purge", {}),
    ],
)
def test_a_write_in_the_clothes_of_a_read_is_not_sent(browse, host, shop, target: str, headers) -> None:
    kept = HostSpec.model_validate(host.model_dump() | {"disposable": False, "writes": ("GET /purge*",)})
    answers = []

    def play(browser: Browser) -> None:
        answers.append(browser.ask("GET", target, **headers)[0])
        answers.append(browser.ask("GET", "/order")[0])

    browse("live", play, host=kept)
    assert answers[0] in {400, 403}
    assert (200, ["/order"]) == (answers[1], [path for _, path, *_ in shop.seen])


def test_requests_count_as_steps_and_are_refused_past_the_limit(browse, case) -> None:
    narrow = case.model_copy(update={"limits": case.limits.model_copy(update={"steps": 2})})
    statuses = []
    record = browse("live", lambda b: statuses.extend(b.ask("GET", "/order")[0] for _ in range(3)), case=narrow)

    assert [200, 200, 403] == statuses
    assert "2 tool calls" == record.limit_reached


def test_a_case_that_lists_its_tools_names_its_hosts_too(browse, case) -> None:
    answers = []
    only_tools = case.model_copy(update={"tools": ("look",)})
    browse("live", lambda b: answers.append(b.ask("GET", "/order")), case=only_tools)
    named = case.model_copy(update={"tools": ("look", f"http:{HOST}")})
    browse("live", lambda b: answers.append(b.ask("GET", "/order")), case=named)

    assert (403, "not_allowed") == (answers[0][0], answers[0][1]["error"]["type"])
    assert (200, {"lines": []}) == answers[1]


@pytest.mark.parametrize(
    "target",
    [
        "evil.example.com:443",
        "127.0.0.1:8700",
        "localhost:22",
        "169.254.169.254:80",
        "[::1]:443",
        f"{HOST}:22",
        f"{HOST}:99999",
        f"{HOST}.evil.com:443",
        f"evil@{HOST}:443",
        "..:443",
    ],
)
def test_no_tunnel_leads_anywhere_else(browse, target: str) -> None:
    told = []

    def play(browser: Browser) -> None:
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(10)
            link.connect(browser._connection.sock.getpeername())
            link.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
            answer = b""
            while piece := link.recv(4096):
                answer += piece
            told.append(answer)

    record = browse("live", play, "transparent")
    head, _, body = told[0].partition(b"\r\n\r\n")
    assert b"HTTP/1.1 403 Forbidden" == head.splitlines()[0]
    assert "unknown_host" == json.loads(body)["error"]["type"]
    assert HOST in json.loads(body)["error"]["message"]
    assert [] == list(trajectory_from(record.spans).calls)
    assert [names.REFUSED] == [
        span.attributes[names.STEP_KIND] for span in record.spans if names.STEP_KIND in span.attributes
    ]


@pytest.mark.parametrize(
    ("target", "status"),
    [
        ("http://evil.example.com/", 403),
        ("http://api.example.com:22/", 403),
        ("http://169.254.169.254/latest/meta-data", 403),
        ("http://api.example.com/../admin", 400),
        ("http://api.example.com/a/%2e%2e/admin", 400),
        ("http://api.example.com/a/%252e%252e/admin", 400),
        ("http://api.example.com/a/..%5cadmin", 400),
        ("http://127.0.0.1:8700/turn", 200),
    ],
)
def test_whole_urls_lead_to_declared_hosts_or_nowhere(browse, shop, target: str, status: int) -> None:
    told = []

    def play(browser: Browser) -> None:
        browser._connection.request("GET", target)
        response = browser._connection.getresponse()
        response.read()
        told.append(response.status)

    browse("live", play, "transparent")
    assert ([status], []) == (told, shop.seen)


def test_a_connection_that_was_made_to_one_host_asks_no_other(browse) -> None:
    told = []
    browse("live", lambda browser: told.append(browser.ask("GET", "/order", Host="other.example.com")), "tunnel")

    assert (421, "bad_request") == (told[0][0], told[0][1]["error"]["type"])


def test_a_name_that_is_not_declared_gets_no_certificate(browse) -> None:
    def play(browser: Browser) -> None:
        path = Path(browser._connection.sock.getpeername())
        for name in ("evil.example.com", None):
            context = ssl.create_default_context(cafile=str(path.parent / "ca.pem"))
            context.check_hostname = name is not None
            with socket.socket(socket.AF_UNIX) as link:
                link.settimeout(10)
                link.connect(str(path))
                with pytest.raises(ssl.SSLError):
                    context.wrap_socket(link, server_hostname=name)

    record = browse("live", play, "transparent")
    refused = [span.attributes[names.TOOL_NAME] for span in record.spans if names.TOOL_NAME in span.attributes]
    assert ["http:evil.example.com", "http:a host that was not named"] == refused


def test_a_client_that_does_not_trust_the_run_is_told_of_in_the_trace(browse) -> None:
    def play(browser: Browser) -> None:
        with socket.socket(socket.AF_UNIX) as link:
            link.settimeout(10)
            link.connect(browser._connection.sock.getpeername())
            with pytest.raises(ssl.SSLCertVerificationError):
                ssl.create_default_context().wrap_socket(link, server_hostname=HOST)
        browser.ask("GET", "/order")  # by now the gateway has seen the other connection fail

    record = browse("live", play, "transparent")
    told = [span.attributes.get(names.TOOL_ERROR_MESSAGE) for span in record.spans]
    assert any("secure connection" in str(message) for message in told)


def test_another_runs_certificate_is_not_trusted(suite, host, case, tmp_path: Path) -> None:
    chosen = suite.model_copy(update={"hosts": (host,), "probes": ()})
    request = SessionRequest(trial_id="t", case=case, attempt=1, agent="a")
    with contextlib.ExitStack() as stack:
        first, second = (
            stack.enter_context(
                stack.enter_context(Gateway(chosen, "replay", cassettes=tmp_path, services=None)).open(request)
            )
            for _ in range(2)
        )
        context = ssl.create_default_context(cafile=str(first.socket.parent / "ca.pem"))
        link = stack.enter_context(socket.socket(socket.AF_UNIX))
        link.connect(str(second.socket))
        with pytest.raises(ssl.SSLCertVerificationError):
            context.wrap_socket(link, server_hostname=HOST)


def test_websockets_and_traces_do_not_pass(browse) -> None:
    told = []

    def play(browser: Browser) -> None:
        told.append(browser.ask("GET", "/order", Connection="Upgrade", Upgrade="websocket")[0])

    browse("live", play)
    browse("live", lambda browser: told.append(browser.ask("TRACE", "/order")[0]))
    assert [501, 405] == told
