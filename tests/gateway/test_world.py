"""The harness's own reads of databases and APIs: made, recorded, replayed after the same writes, and kept apart."""

from collections.abc import Sequence
from typing import Any

import pytest
from pydantic import JsonValue

from harness.cassettes.cassette import load_cassette
from harness.cassettes.check import check_cassette
from harness.errors import ServiceError
from harness.sandbox.tables import QueryFailed, Table
from harness.suite.cases import ApiProbe, SqlProbe, StateProbe
from harness.suite.interventions import FedCall, TrialVariant
from harness.suite.suites import Suite, ToolServer
from harness.traces import names
from harness.traces.projection import trajectory_from
from harness.values import JsonObject

PROBES = (
    StateProbe(name="lines", sql=SqlProbe(service="shop", query="select * from line")),
    StateProbe(name="tables", sql=SqlProbe(service="shop", tables=("*",))),
    StateProbe(name="order", api=ApiProbe(server="shop", path="/order?full=1")),
    StateProbe(name="gone", api=ApiProbe(server="shop", path="/nothing")),
)


class Watched(dict[str, str]):
    """The shop as a service of our own: its database is its orders."""

    def __init__(self, shop: Any) -> None:
        super().__init__(shop=shop.url)
        self.shop = shop
        self.dead: str | None = None

    def check(self) -> None:
        if self.dead is not None:
            raise ServiceError(f"service 'shop' {self.dead}", logs=self.tails())

    def tails(self) -> dict[str, str]:
        return {"shop": "the last words"}

    def rows(self, name: str, query: str, timeout_s: float) -> list[JsonValue]:
        assert ("shop", 30.0) == (name, timeout_s)
        if "line" not in query:
            raise QueryFailed("no such table")
        return [line for order in self.shop.orders.values() for line in order]

    def tables(self, name: str, wanted: Sequence[str], timeout_s: float) -> dict[str, Table]:
        lines = [line for order in self.shop.orders.values() for line in order]
        return {"line": Table(key=(), rows=tuple(lines))}


@pytest.fixture
def watched(shop) -> Watched:
    shop.services = Watched(shop)
    return shop.services


@pytest.fixture
def asked(suite: Suite) -> Suite:
    return suite.model_copy(update={"probes": (*suite.probes, *PROBES)})


def add_an_egg(agent) -> None:
    assert (200, {"lines": 1}) == agent.call("add", item="egg")


def test_databases_and_apis_are_read_recorded_and_replayed(run, watched, asked: Suite, tmp_path) -> None:
    recorded = run("record", add_an_egg, suite=asked)
    seen = len(watched.shop.seen)
    replayed = run("replay", add_an_egg, suite=asked)
    cassette = tmp_path / "cassettes/breakfast/c1.yaml"

    assert {"rows": [{"item": "egg"}]} == recorded.states["lines"]
    tables = recorded.states["tables"]["tables"]
    assert (1, [{"item": "egg"}]) == (tables["line"]["rows"], tables["line"]["added"])
    assert {"status": 200, "body": {"lines": [{"item": "egg"}]}} == recorded.states["order"]
    assert {"status": 404, "body": {"detail": "no such item"}} == recorded.states["gone"]
    assert recorded.states == replayed.states
    assert ((), {"exact": 6}) == (replayed.misses, replayed.tiers)
    assert seen == len(watched.shop.seen)
    assert () == check_cassette(cassette, {})
    assert 4 == len(load_cassette(cassette).only("probe"))
    assert trajectory_from(recorded.spans).digest == trajectory_from(replayed.spans).digest


class Numbered(Watched):
    """A shop whose orders have running numbers, in a database of its own."""

    orders: tuple[JsonObject, ...] = ({"id": 7, "customer_id": 9}, {"id": 8, "customer_id": 3})

    def _rows(self) -> list[JsonObject]:
        placed = [order for orders in self.shop.orders.values() for order in orders]
        new: list[JsonObject] = [{"id": 9, "customer_id": one["customer_id"], "text": "order 9"} for one in placed]
        return [*self.orders, *new]

    def rows(self, name: str, query: str, timeout_s: float) -> list[JsonValue]:
        return [row for row in self._rows() if row["id"] not in (7, 8)]

    def tables(self, name: str, wanted: Sequence[str], timeout_s: float) -> dict[str, Table]:
        return {"orders": Table(key=("id",), rows=tuple(self._rows()))}


def test_probes_of_a_fork_tell_of_what_the_agent_was_fed(run, shop, suite: Suite) -> None:
    """The parent's order 7 is 9 to the services of the fork; customer 9 is another thing, and old rows stay."""
    shop.services = Numbered(shop)
    shop.number = 9
    properties: JsonObject = {"customer_id": {"type": "integer"}}
    add = next(tool for tool in suite.tools if tool.name == "add")
    place = add.model_copy(update={"name": "place", "parameters": {"type": "object", "properties": properties}})
    asked = suite.model_copy(update={"tools": (*suite.tools, place), "probes": PROBES[:2]})
    fed = FedCall(tool="place", arguments={"customer_id": 9}, content={"id": 7}, step=0)

    def play(agent: Any) -> None:
        assert (200, {"id": 7}) == agent.call("place", customer_id=9)

    states = run("sealed", play, suite=asked, variant=TrialVariant(fed=(fed,))).states

    assert [{"id": 7, "customer_id": 9, "text": "order 9"}] == states["lines"]["rows"]
    assert [{"id": 7, "customer_id": 9, "text": "order 9"}] == states["tables"]["tables"]["orders"]["added"]


def test_after_other_writes_no_recording_answers(run, watched, asked: Suite) -> None:
    run("record", add_an_egg, suite=asked)
    for play in (lambda _: None, lambda agent: (add_an_egg(agent), agent.call("add", item="egg"))):
        record = run("replay", play, suite=asked)
        missed = {miss.get("probe") for miss in record.misses}

        assert {"lines", "tables", "order", "gone"} <= missed
        assert record.states.keys() <= {"order"}


def test_a_changed_question_is_another_one_and_a_new_name_is_not(run, watched, asked: Suite) -> None:
    run("record", add_an_egg, suite=asked)
    renamed = asked.model_copy(update={"probes": (PROBES[0].model_copy(update={"name": "other"}),)})
    other = StateProbe(name="lines", sql=SqlProbe(service="shop", query="select item from line"))

    assert {"other": {"rows": [{"item": "egg"}]}} == run("replay", add_an_egg, suite=renamed).states
    assert {} == run("replay", add_an_egg, suite=asked.model_copy(update={"probes": (other,)})).states


def test_a_probe_of_a_case_is_made_for_that_case_alone(run, watched, suite: Suite, case) -> None:
    asking = case.model_copy(update={"probes": (PROBES[0],)})
    both = suite.model_copy(update={"cases": (asking,)})

    assert {"order", "lines"} == run("sealed", add_an_egg, suite=both, case=asking).states.keys()
    assert {"order"} == run("sealed", add_an_egg, suite=both).states.keys()


def test_what_the_database_refuses_is_data(run, watched, suite: Suite) -> None:
    wrong = StateProbe(name="wrong", sql=SqlProbe(service="shop", query="select * from nothing"))

    assert {"wrong": {"error": "no such table"}} == run(
        "sealed", add_an_egg, suite=suite.model_copy(update={"probes": (wrong,)})
    ).states


def test_trials_whose_database_is_asked_do_not_share_their_services(run, watched, asked: Suite) -> None:
    run("live", add_an_egg, suite=asked)

    assert ["trial-1"] == watched.shop.opened


def test_probes_are_no_steps_and_stand_in_the_trace(run, watched, asked: Suite) -> None:
    spans = run("sealed", add_an_egg, suite=asked).spans
    probes = [one.attributes for one in spans if one.attributes.get(names.STEP_KIND) == names.PROBE]

    assert ["order", "lines", "tables", "order", "gone"] == [one[names.PROBE_NAME] for one in probes]
    assert ["order", "sql", "sql", "api", "api"] == [one[names.TOOL_NAME] for one in probes]


@pytest.mark.parametrize("mode", ["sealed", "live"])
def test_a_service_that_died_is_the_harness_failure_with_its_log(run, watched, suite: Suite, mode: str) -> None:
    def die(agent) -> None:
        add_an_egg(agent)
        watched.dead = "ended while it was needed: exit status 1"

    with pytest.raises(ServiceError, match="exit status 1") as told:
        run(mode, die, suite=suite)
    assert {"shop": "the last words"} == told.value.logs


def test_a_service_that_is_not_reached_any_more_is_told_with_its_log(run, watched, suite: Suite) -> None:
    watched["shop"] = "http://127.0.0.1:1"
    away = suite.model_copy(update={"servers": {"shop": ToolServer(service="shop")}})
    with pytest.raises(ServiceError, match="shop") as told:
        run("sealed", lambda agent: agent.call("order"), suite=away)
    assert {"shop": "the last words"} == told.value.logs
