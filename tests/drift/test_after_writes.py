"""`harness drift probe`: reads after writes, sent to servers that can be written to and restored."""

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.drift.conftest import NUMBER, TEXT, Project, told, tool
from tests.drift.shop import Shop, open_shop

AGENT_OF_IDS = """
import json, os, urllib.request

URL = os.environ["HARNESS_GATEWAY_URL"]

def ask(path, body=None):
    sent = urllib.request.Request(URL + path, None if body is None else json.dumps(body).encode())
    with urllib.request.urlopen(sent) as answer:
        return json.loads(answer.read() or b"null")

told = {}
for name, arguments in json.loads(ask("/turn")["message"]):
    told = ask("/tools/" + name, {key: told["id"] if value == "$id" else value for key, value in arguments.items()})
ask("/reply", {"message": json.dumps(told)})
"""
"""`$id` stands for the id in the answer before."""

TOOLS = [
    tool("order", "write", {"method": "POST", "path": "/orders", "body": "arguments"}, item=NUMBER),
    tool("pay", "write", {"method": "POST", "path": "/payments", "body": "arguments"}, id=TEXT),
    tool("get_order", "read", {"path": "/orders/{id}"}, id=TEXT),
    tool("count_orders", "read", {"path": "/orders"}),
]

CASES: dict[str, list[list[Any]]] = {
    "bought": [
        ["count_orders", {}],
        ["order", {"item": 1}],
        ["get_order", {"id": "$id"}],
        ["pay", {"id": "$id"}],
        ["get_order", {"id": "$id"}],
        ["count_orders", {}],
    ]
}


class Orders:
    """A service that makes a new id for every order, also after a reset."""

    def __init__(self, shop: Shop) -> None:
        self.shop = shop
        self.numbers = itertools.count(1)
        self.orders: dict[str, dict[str, Any]] = {}
        self.id_field = "id"
        self.paid: Any = True
        """What `paid` is after a payment: another value is what a new release answers."""
        shop.answers.update(
            {
                "POST /reset": self.reset,
                "POST /orders": self.order,
                "POST /payments": self.pay,
                "GET /orders": lambda: {"count": len(self.orders)},
            }
        )

    def reset(self) -> dict[str, Any]:
        for name in self.orders:
            del self.shop.answers[f"GET /orders/{name}"]
        self.orders.clear()
        return {}

    def order(self) -> dict[str, Any]:
        name = f"order-{next(self.numbers):06}"
        self.orders[name] = {"id": name, "item": 1, "paid": False}
        self.shop.answers[f"GET /orders/{name}"] = lambda: self.orders[name]
        return {self.id_field: name}

    def pay(self) -> dict[str, Any]:
        for order in self.orders.values():
            order["paid"] = self.paid
        return {"id": next(iter(self.orders))}


@pytest.fixture
def shop() -> Iterator[Shop]:
    with open_shop({}) as opened:
        yield opened


@pytest.fixture
def orders(shop: Shop) -> Orders:
    return Orders(shop)


@pytest.fixture
def project(tmp_path: Path, shop: Shop, orders: Orders) -> Project:
    made = Project(tmp_path, shop)
    declare(made)
    made.record()
    orders.reset()
    return made


def declare(project: Project, cases: dict[str, list[list[Any]]] | None = None, **server: Any) -> None:
    shop = {"base_url": project.shop.url, "disposable": True, "reset": {"path": "/reset"}, **server}
    kept = {name: value for name, value in shop.items() if value is not None}
    project.write(CASES if cases is None else cases, TOOLS, servers={"shop": kept})
    (project.suite / "agent" / "agent.py").write_text(AGENT_OF_IDS)


def written(shop: Shop) -> list[str]:
    return [asked for asked in shop.asked if asked.startswith("POST")]


def test_an_unchanged_service_is_clean_after_its_writes_though_its_ids_are_new(
    project: Project, orders: Orders
) -> None:
    report = project.probe()
    assert ([], []) == (told(report), told(report, "unconfirmed"))
    assert (4, 3, 1, {}) == (
        report["compared"],
        report["after_writes"],
        report["restores"],
        report["not_asked"],
    )
    assert [
        "POST /reset",
        "GET /orders",
        "POST /reset",
        "POST /orders",
        "GET /orders/order-000002",
        "POST /payments",
        "GET /orders",
        "GET /orders/order-000002",
        "POST /reset",
    ] == project.shop.asked
    assert {} == orders.orders, "the server is left in its known state"


def test_rows_of_somebody_else_are_gone_before_the_first_read(project: Project, orders: Orders) -> None:
    # A client that added rows to the live server since the recording, which was made after a reset.
    listing = lambda: [{"id": name} for name in orders.orders] or None  # noqa: E731
    project.shop.answers["GET /orders"] = listing
    declare(project, {"seen": [["count_orders", {}]]})
    project.record()
    orders.order()
    assert ([], 1) == (told(report := project.probe()), report["compared"])
    orders.order()
    project.live("night")
    orders.order()
    project.type("drift", "compare", "night", "--confirm", "--no-flips")
    project.type("drift", "learn", "s")


def test_a_read_that_changed_after_a_write_is_found_and_the_others_are_not(project: Project, orders: Orders) -> None:
    orders.paid = "2026-01-01"
    report = project.probe(status=1)
    assert [("get_order", "schema.type_changed", "paid", "boolean -> string")] == told(report)
    assert [] == told(report, "unconfirmed")
    assert ["bought"] == report["findings"][0]["cases"]
    assert 1 == written(project.shop).count("POST /payments"), "a write is made once, its read is repeated"


@pytest.mark.parametrize(
    ("server", "reason"),
    [
        ({"disposable": False}, "the server 'shop' is not `disposable`"),
        ({"disposable": False, "reset": None}, "the server 'shop' is not `disposable`"),
        ({"reset": None}, "the server 'shop' has no `reset:`"),
    ],
)
def test_a_server_that_may_not_be_written_to_or_not_be_restored_gets_no_write(
    project: Project, orders: Orders, server: dict[str, Any], reason: str
) -> None:
    orders.paid = "2026-01-01"
    declare(project, **server)
    report = project.probe(status=3)
    resets = ["POST /reset"] if server.get("reset", True) else []
    assert ([*resets, "GET /orders"], []) == (project.shop.asked, told(report))
    assert (0, 0) == (report["after_writes"], report["restores"])
    ((why, count),) = report["not_asked"].items()
    assert count == 3
    assert reason in why


def test_a_write_that_is_answered_with_an_error_leaves_its_reads_out(project: Project) -> None:
    project.shop.answers["POST /payments"] = (409, {"error": "closed"})
    report = project.probe(status=3)
    assert [] == told(report)
    assert (1, {2}) == (report["after_writes"], set(report["not_asked"].values()))
    assert [] == [part for part in ("pay", "409", "200") if part not in next(iter(report["not_asked"]))]
    assert "POST /reset" == project.shop.asked[-1]


def test_a_read_of_a_generated_id_that_is_not_told_any_more_is_left_out(project: Project, orders: Orders) -> None:
    orders.id_field = "number"
    report = project.probe(status=3)
    assert ([], 0) == (told(report), report["after_writes"])
    assert not any(asked.startswith("GET /orders/") for asked in project.shop.asked)
    assert any("current value" in why for why in report["not_asked"])


def test_a_reset_that_fails_is_said_and_nothing_is_asked(project: Project, orders: Orders) -> None:
    project.shop.answers["POST /reset"] = (500, {"error": "no"})
    orders.order()
    said = project.type("drift", "probe", "s", "--no-flips", status=3)
    assert "not probed: 4 of 4" in said
    assert "POST /reset answered 500" in said
    assert "none" not in said
    assert {"POST /reset"} == set(project.shop.asked)
    assert "POST /reset answered 500" in project.type("drift", "learn", "s", status=3)


def test_a_reset_that_fails_after_the_writes_is_no_clean_look(project: Project, orders: Orders) -> None:
    answers = iter([{}, {}])
    project.shop.answers["POST /reset"] = lambda: next(answers, (500, {"error": "no"})) or orders.reset()
    report = project.probe(status=3)
    assert ([], 4, 1) == (told(report), report["compared"], len(report["unavailable"]))


def test_a_cassette_without_a_write_of_the_chain_leaves_its_reads_out(project: Project) -> None:
    from harness.cassettes.cassette import Cassette, load_cassette, save_cassette

    path = project.folder / "cassettes" / "s" / "bought.yaml"
    kept = [one for one in load_cassette(path).recordings if one.mark.tool != "pay"]
    save_cassette(path, Cassette(kept), suite="s", case="bought")
    report = project.probe(status=3)
    assert (1, {2}) == (report["after_writes"], set(report["not_asked"].values()))
    assert "does not hold every write" in next(iter(report["not_asked"]))


def test_states_are_restored_a_bounded_number_of_times(project: Project) -> None:
    cases = {f"c{number}": [["order", {"item": number}], ["count_orders", {}]] for number in range(22)}
    declare(project, cases)
    project.type("run", "s", "--live", "tools,record", "--sandbox", "local", "--run-name", "many")
    project.shop.asked.clear()
    report = project.probe(status=3)
    assert (20, 20) == (report["after_writes"], report["restores"])
    assert 40 == written(project.shop).count("POST /reset")
    ((why, count),) = report["not_asked"].items()
    assert (2, True) == (count, " 20 " in why)
