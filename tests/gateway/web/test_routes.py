"""Agents that call hosts by themselves: through a proxy, or thinking that the sandbox is the host."""

import re
from pathlib import Path

import pytest

from harness.cassettes.check import check_cassette
from harness.errors import UsageError
from harness.suite.hosts import HostSpec
from harness.traces.projection import trajectory_from
from tests.gateway.web.conftest import order_an_egg
from tests.gateway.web.hostile import HOST

ROUTES = ("proxy", "tunnel", "plain tunnel", "transparent TLS", "transparent")


@pytest.mark.parametrize("route", ROUTES)
def test_what_was_recorded_is_replayed_by_every_route(browse, shop, tmp_path: Path, route: str) -> None:
    recorded = browse("record", order_an_egg, route)
    seen = len(shop.seen)
    replayed = browse("replay", order_an_egg, route)

    assert ({"live": 5}, 5) == (recorded.tiers, recorded.recorded)
    assert ({"exact": 5}, ()) == (replayed.tiers, replayed.misses)
    assert seen == len(shop.seen)
    assert trajectory_from(recorded.spans).digest == trajectory_from(replayed.spans).digest
    assert () == check_cassette(tmp_path / "cassettes/breakfast/c1.yaml", {})


def test_a_cassette_does_not_know_by_which_route_of_a_scheme_it_was_made(browse) -> None:
    browse("record", order_an_egg, "tunnel")
    assert {"exact": 5} == browse("replay", order_an_egg, "transparent TLS").tiers
    browse("record", order_an_egg, "proxy")
    assert {"exact": 5} == browse("replay", order_an_egg, "transparent").tiers


def test_requests_are_steps_with_what_was_asked_and_what_came(browse) -> None:
    trajectory = trajectory_from(browse("live", order_an_egg).spans)

    assert ["http:api.example.com"] * 5 == [call.name for call in trajectory.calls]
    assert {
        "method": "POST",
        "url": "https://api.example.com/order",
        "json": {"item": "egg"},
    } == trajectory.calls[2].arguments
    seen = [one for step in trajectory.steps for one in step.observations]
    assert {"status": 200, "body": {"lines": 1}} == seen[2].content
    assert seen[4].error is not None
    assert ("tool_error", "api.example.com refused the request: 404 Not Found") == (
        seen[4].error.type,
        seen[4].error.message,
    )


def test_a_service_of_the_environment_stands_for_a_host_when_sealed(browse, host) -> None:
    served = HostSpec(host=HOST, service="shop")
    assert {"sealed": 5} == browse("sealed", order_an_egg, host=served).tiers
    with pytest.raises(UsageError, match=re.escape(HOST)):
        browse("sealed", order_an_egg, host=host)


def test_headers_pass_and_are_the_same_when_replayed(browse, shop) -> None:
    shop.answer = (
        302,
        {"Location": "/next", "X-Total": "7", "Set-Cookie": "sid=1", "Content-Type": "text/plain", "Alt-Svc": "h3"},
        b"moved",
    )
    given = []
    browse("record", lambda b: given.append(b.ask_raw("GET", "/answer", Cookie="a=b", User_Agent="mine/1")))
    browse("replay", lambda b: given.append(b.ask_raw("GET", "/answer", Cookie="a=b")))

    assert ("mine/1", "a=b") == (shop.seen[0][2]["User-Agent"], shop.seen[0][2]["Cookie"])
    assert [302, 302] == [status for status, _, _ in given]
    for _, headers, body in given:
        assert ("/next", "7", "text/plain", b"moved") == (
            headers["location"],
            headers["x-total"],
            headers["content-type"],
            body,
        )
        assert "alt-svc" not in headers
    real, stored = [headers["set-cookie"] for _, headers, _ in given]
    assert ("sid=1", True) == (real, stored.startswith("sid=id-"))


def test_a_head_request_keeps_the_length_and_has_no_body(browse, shop) -> None:
    shop.answer = (200, {"X-Total": "7"}, b"")
    given = []
    for mode in ("record", "replay"):
        browse(mode, lambda b: given.append(b.ask_raw("HEAD", "/answer")))

    assert [(200, "7", b"")] * 2 == [(status, headers["x-total"], body) for status, headers, body in given]


def test_the_agents_own_protocol_is_still_there(run, suite, host) -> None:
    told = []
    record = run(
        "live",
        lambda agent: told.append(agent.call("look", q="egg")),
        suite=suite.model_copy(update={"hosts": (host,)}),
    )

    assert [(200, {"found": ["egg"]})] == told
    assert {"live": 2} == record.tiers
