"""Servers that share a backend share a chain of writes; of those that may, nothing is guessed."""

from pathlib import Path

import pytest

from harness.case import HttpRoute, Suite, ToolServer, ToolSpec
from harness.cassette.cassette import load_cassette
from harness.cassette.upkeep.check import check_cassette

SESSION = {"session_header": "X-Order-Session", "disposable": True}


@pytest.fixture
def two_doors(suite: Suite, shop) -> Suite:
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
    # No session header of the trial's: both doors lead to the same order, which `shop` empties for each trial.
    reached = {name: ToolServer(base_url=shop.url, disposable=True, **more) for name, more in servers.items()}
    return suite.model_copy(update={"tools": tools, "servers": reached, "probes": ()})


def write_then_read(agent) -> None:
    agent.call("add", item="egg")
    assert (200, {"lines": [{"item": "egg"}]}) == agent.call("order")


def only_read(agent) -> None:
    agent.call("order")


def read_write_read(agent) -> None:
    for name, arguments in (("order", {}), ("add", {"item": "egg"}), ("order", {})):
        agent.call(name, **arguments)


def fresh(run, shop, suite: Suite, play):
    shop.orders.clear()
    return run("record", play, suite=suite)


@pytest.mark.parametrize("declared", [False, True], ids=["not declared", "declared"])
def test_a_read_after_a_write_that_was_not_made_is_a_miss(run, shop, suite: Suite, declared: bool) -> None:
    state = {"state": "shop"} if declared else {}
    doors = _with_servers(suite, shop, api=state, reports=state)
    fresh(run, shop, doors, write_then_read)

    lazy = run("replay", only_read, suite=doors)
    assert {"miss": 1} == lazy.tiers

    diligent = run("replay", write_then_read, suite=doors)
    assert {"exact": 2} == diligent.tiers


def test_a_read_before_the_write_is_not_given_after_it(run, shop, two_doors: Suite) -> None:
    fresh(run, shop, two_doors, only_read)
    fresh(run, shop, two_doors, lambda agent: agent.call("add", item="egg"))

    record = run("replay", lambda agent: (agent.call("add", item="egg"), agent.call("order")), suite=two_doors)

    assert {"exact": 1, "miss": 1} == record.tiers


def test_recording_names_servers_that_seem_to_share_a_backend_and_the_line_to_add(run, shop, two_doors: Suite) -> None:
    record = fresh(run, shop, two_doors, read_write_read)

    (advice,) = record.recording.advice
    assert "order of 'reports'" in advice
    assert "servers.reports.state: api" in advice
    assert "servers.reports.state: reports" in advice


def test_a_clock_is_not_taken_for_a_shared_backend(run, shop, suite: Suite) -> None:
    doors = _with_servers(suite, shop, api={}, reports={})
    answer = ToolSpec(name="answer", server="reports", effect="read", http=HttpRoute(path="/answer"))
    doors = doors.model_copy(update={"tools": (*doors.tools, answer)})
    ticks = iter(range(10))

    def ask(agent) -> None:
        for write in (False, False, True, False):
            shop.answer = (200, {}, b'{"now": %d}' % next(ticks))
            agent.call("add", item="egg") if write else agent.call("answer")

    assert () == fresh(run, shop, doors, ask).recording.advice


def test_servers_that_are_declared_apart_do_not_matter_to_each_other(run, shop, suite: Suite) -> None:
    doors = _with_servers(suite, shop, api={}, reports={"state": "reports"})
    fresh(run, shop, doors, write_then_read)

    assert {"exact": 1} == run("replay", only_read, suite=doors).tiers


def test_servers_of_one_service_share_its_state_without_a_word(run, shop, suite: Suite, tmp_path: Path) -> None:
    served = {name: ToolServer(service="shop", **SESSION) for name in ("api", "reports")}
    doors = _with_servers(suite, shop, api={}, reports={}).model_copy(update={"servers": served})
    fresh(run, shop, doors, write_then_read)

    assert {"miss": 1} == run("replay", only_read, suite=doors).tiers
    assert {"exact": 2} == run("replay", write_then_read, suite=doors).tiers
    cassette = tmp_path / "cassettes/breakfast/c1.yaml"
    assert {"api"} == {one.mark.state_name for one in load_cassette(cassette).recordings}
    assert () == check_cassette(cassette, {})


def test_a_cassette_that_does_not_tell_what_was_written_elsewhere_is_read_and_not_guessed_from(
    run, shop, two_doors: Suite, suite: Suite, tmp_path: Path
) -> None:
    # As an older version recorded it: each server a chain of its own.
    apart = _with_servers(suite, shop, api={"state": "api"}, reports={"state": "reports"})
    fresh(run, shop, apart, write_then_read)
    said: list[str] = []

    def ask(agent) -> None:
        said.append(agent.call("order")[1]["error"]["message"])

    assert {"miss": 1} == run("replay", ask, suite=two_doors).tiers
    assert "`state: reports` on it" in said[0]
    assert {"exact": 1} == run("replay", only_read, suite=apart).tiers
