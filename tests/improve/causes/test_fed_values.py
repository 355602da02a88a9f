"""After fed calls, the agent knows the ids of the parent trial, and the services those that they generated."""

import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.drift.conftest import NUMBER, TEXT, Project, tool
from tests.drift.shop import Shop, open_shop
from tests.drift.test_after_writes import AGENT_OF_IDS

CALLS: list[list[Any]] = [["order", {"item": 1}], ["get_order", {"id": "$id"}], ["pay", {"id": "$id"}]]


class Orders:
    """A service that goes on numbering its orders after a reset, and knows no orders but its own."""

    def __init__(self, shop: Shop, *, texts: bool) -> None:
        self.shop = shop
        self.texts = texts
        self.numbers = itertools.count(501)
        shop.answers["POST /orders"] = self.order

    def order(self) -> dict[str, Any]:
        number = next(self.numbers)
        order: dict[str, Any] = {"id": f"ord-{number:06}" if self.texts else number, "paid": False}
        self.shop.answers[f"GET /orders/{order['id']}"] = lambda: dict(order)
        self.shop.answers[f"POST /orders/{order['id']}/pay"] = lambda: order.update(paid=True) or dict(order)
        return dict(order)


@pytest.fixture
def shop() -> Iterator[Shop]:
    with open_shop({}) as opened:
        yield opened


def project(folder: Path, shop: Shop, kind: dict[str, Any], declared: dict[str, Any]) -> Project:
    made = Project(folder, shop)
    tools = [
        tool("order", "write", {"method": "POST", "path": "/orders", "body": "arguments"}, item=NUMBER) | declared,
        tool("get_order", "read", {"path": "/orders/{id}"}, id=kind),
        tool("pay", "write", {"method": "POST", "path": "/orders/{id}/pay"}, id=kind),
    ]
    made.write({"bought": CALLS}, tools)
    (made.suite / "agent" / "agent.py").write_text(AGENT_OF_IDS)
    return made


def answer(project: Project, run: str) -> Any:
    path = project.folder / "runs" / run / "trials" / "bought" / "1" / "trial.json"
    answer = json.loads(path.read_text())["trajectory"]["final_output"]
    return json.loads(answer) if isinstance(answer, str) else answer


@pytest.mark.slow
@pytest.mark.parametrize(
    ("step", "texts", "declared"),
    [
        (2, False, {}),
        (3, False, {"volatile": ["/id"]}),
        (2, False, {"generated_ids": ["/id"]}),
        (3, True, {"volatile": ["/id"]}),
    ],
    ids=["numbers", "volatile-numbers", "generated-numbers", "volatile-texts"],
)
def test_generated_values_are_translated_after_fed_calls(
    tmp_path: Path, shop: Shop, texts: bool, declared: dict[str, Any], step: int
) -> None:
    Orders(shop, texts=texts)
    made = project(tmp_path, shop, TEXT if texts else NUMBER, declared)
    made.type("run", "s", "--live", "tools,record", "--sandbox", "local", "--run-name", "parent")
    told = answer(made, "parent")
    shop.asked.clear()
    fork = ("fork", "parent", "bought", "--at", str(step), "--live", "tools", "--sandbox", "local", "--json")
    result = json.loads(made.type(*fork))
    assert ["finished"] == [one["outcome"] for one in result["trials"]]
    assert told == answer(made, result["run"]), "the agent keeps the parent's id"
    own = "ord-000502" if texts else "502"
    assert [f"GET /orders/{own}", f"POST /orders/{own}/pay"] == shop.asked[-2:]


def test_a_customer_of_the_same_number_stays_who_they_are(tmp_path: Path, shop: Shop) -> None:
    Orders(shop, texts=False)
    shop.answers["GET /customers/501"] = {"id": 501, "name": "Ann"}
    shop.answers["GET /customers/502"] = {"id": 502, "name": "Bob"}
    made = Project(tmp_path, shop)
    tools = [
        tool("order", "write", {"method": "POST", "path": "/orders", "body": "arguments"}, item=NUMBER),
        tool("get_order", "read", {"path": "/orders/{order_id}"}, order_id=NUMBER),
        tool("get_customer", "read", {"path": "/customers/{customer_id}"}, customer_id=NUMBER),
    ]
    calls = [["order", {"item": 1}], ["get_order", {"order_id": "$id"}], ["get_customer", {"customer_id": 501}]]
    made.write({"bought": calls}, tools)
    (made.suite / "agent" / "agent.py").write_text(AGENT_OF_IDS)
    made.type("run", "s", "--live", "tools,record", "--sandbox", "local", "--run-name", "parent")
    shop.asked.clear()

    fork = ("fork", "parent", "bought", "--at", "2", "--live", "tools", "--sandbox", "local", "--json")
    result = json.loads(made.type(*fork))

    assert ["GET /orders/502", "GET /customers/501"] == shop.asked[-2:]
    assert {"id": 501, "name": "Ann"} == answer(made, result["run"])
