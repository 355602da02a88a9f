"""Servers that share a backend share a chain of writes; of those that may, nothing is guessed."""

from pathlib import Path

import pytest

from harness.cassettes.cassette import load_cassette
from harness.cassettes.check import check_cassette
from harness.suite.suites import Suite, ToolServer
from harness.suite.tools import HttpRoute, ToolSpec

SESSION = {"session_header": "X-Order-Session", "disposable": True}


@pytest.fixture
def two_servers(suite: Suite, shop) -> Suite:
    """Orders are written through one server and read through another; both are the same shop, and nobody says so."""
    return _with_servers(suite, shop, api={}, reports={})


def _with_servers(suite: Suite, shop, **servers: dict[str, str]) -> Suite:
    tools = (
        ToolSpec(
            name="add",
            server="api",
            http=HttpRoute(method="POST", path="/order", body="arguments"),
            parameters={"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]},
        ),
        ToolSpec(name="order", server="reports", effect="read", http=HttpRoute(path="/order")),
    )
    # No session header of the trial's: both servers have the same order, which `shop` empties for each trial.
    reached = {name: ToolServer(base_url=shop.url, disposable=True, **more) for name, more in servers.items()}
    return suite.model_copy(update={"tools": tools, "servers": reached, "probes": ()})


def write_then_read(agent) -> None:
    agent.call("add", item="egg")
    assert (200, {"lines": [{"item": "egg"}]}) == agent.call("order")


def only_read(agent) -> None:
    agent.call("order")


def fresh(run, shop, suite: Suite, play):
    shop.orders.clear()
    return run("record", play, suite=suite)


@pytest.mark.parametrize("declared", [False, True], ids=["not declared", "declared"])
def test_a_read_after_a_write_that_was_not_made_is_a_miss(run, shop, suite: Suite, declared: bool) -> None:
    state = {"state": "shop"} if declared else {}
    both = _with_servers(suite, shop, api=state, reports=state)
    fresh(run, shop, both, write_then_read)

    lazy = run("replay", only_read, suite=both)
    assert {"miss": 1} == lazy.tiers

    diligent = run("replay", write_then_read, suite=both)
    assert {"exact": 2} == diligent.tiers


def test_a_read_before_the_write_is_not_given_after_it(run, shop, two_servers: Suite) -> None:
    fresh(run, shop, two_servers, only_read)
    fresh(run, shop, two_servers, lambda agent: agent.call("add", item="egg"))

    record = run("replay", lambda agent: (agent.call("add", item="egg"), agent.call("order")), suite=two_servers)

    assert {"exact": 1, "miss": 1} == record.tiers


def test_servers_that_are_declared_apart_do_not_matter_to_each_other(run, shop, suite: Suite) -> None:
    both = _with_servers(suite, shop, api={}, reports={"state": "reports"})
    fresh(run, shop, both, write_then_read)

    assert {"exact": 1} == run("replay", only_read, suite=both).tiers


def test_servers_of_one_service_share_its_state_without_a_word(run, shop, suite: Suite, tmp_path: Path) -> None:
    served = {name: ToolServer(service="shop", **SESSION) for name in ("api", "reports")}
    both = _with_servers(suite, shop, api={}, reports={}).model_copy(update={"servers": served})
    fresh(run, shop, both, write_then_read)

    assert {"miss": 1} == run("replay", only_read, suite=both).tiers
    assert {"exact": 2} == run("replay", write_then_read, suite=both).tiers
    cassette = tmp_path / "cassettes/breakfast/c1.yaml"
    assert {"api"} == {one.mark.state_name for one in load_cassette(cassette).recordings}
    assert () == check_cassette(cassette, {})


def test_a_cassette_that_does_not_tell_what_was_written_elsewhere_is_read_and_not_guessed_from(
    run, shop, two_servers: Suite, suite: Suite, tmp_path: Path
) -> None:
    # Recorded while each server was declared to have a state of its own.
    apart = _with_servers(suite, shop, api={"state": "api"}, reports={"state": "reports"})
    fresh(run, shop, apart, write_then_read)
    said: list[str] = []

    def ask(agent) -> None:
        said.append(agent.call("order")[1]["error"]["message"])

    assert {"miss": 1} == run("replay", ask, suite=two_servers).tiers
    assert "`state: reports` on it" in said[0]
    assert {"exact": 1} == run("replay", only_read, suite=apart).tiers
