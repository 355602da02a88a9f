"""`harness case check` of a case whose reference and answer hold an id that the tool makes anew in every run."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.starting import LIVE
from tests.drift.conftest import Project
from tests.drift.shop import Shop, open_shop
from tests.drift.test_after_writes import AGENT_OF_IDS, TOOLS, Orders

CALLS: list[list[Any]] = [["order", {"item": 1}], ["pay", {"id": "$id"}]]


@pytest.fixture
def shop() -> Iterator[Shop]:
    with open_shop({}) as opened:
        orders = Orders(opened)
        opened.answers["GET /orders"] = lambda: {"orders": list(orders.orders.values())}
        opened.answers["POST /orders"] = lambda: order(orders, opened)
        yield opened


def order(orders: Orders, shop: Shop) -> dict[str, Any]:
    """As a real service does, this one takes payments for the orders that there are, and for no others."""
    told = orders.order()
    shop.answers[f"POST /payments/{told['id']}"] = orders.pay
    return told


@pytest.fixture
def project(tmp_path: Path, shop: Shop) -> Project:
    made = Project(tmp_path, shop)
    changed = {"order": {"generated_ids": ["/id"]}, "pay": {"http": {"method": "POST", "path": "/payments/{id}"}}}
    tools = [{**one, **changed.get(one["name"], {})} for one in TOOLS]
    made.write(
        {"bought": CALLS},
        tools,
        servers={"shop": {"base_url": shop.url, "disposable": True, "reset": {"path": "/reset"}}},
        probes=[{"name": "orders", "tool": "count_orders"}],
    )
    (made.suite / "agent" / "agent.py").write_text(AGENT_OF_IDS)
    made.type("run", "s", "--live", "tools,record", "--sandbox", "local", "--run-name", "recorded")
    return made


def trial(project: Project, run: str) -> dict[str, Any]:
    path = project.folder / "runs" / run / "trials" / "bought" / "1" / "trial.json"
    found: dict[str, Any] = json.loads(path.read_text())
    return found


def write_case(project: Project, name: str) -> None:
    """The case with the id that the recording has."""
    reference = [
        {"id": "order", "tool": "order", "arguments": {"item": 1}},
        {"id": "pay", "tool": "pay", "arguments": {"id": name}},
    ]
    checks = [
        {"name": "answer", "verifier": "final_answer"},
        {"name": "paid", "verifier": "state", "with": {"probe": "orders", "path": "/orders/0/paid", "equals": True}},
        {"name": "same", "verifier": "state", "with": {"probe": "orders", "path": "/orders/0/id", "equals": name}},
    ]
    case = {"id": "bought", "task": json.dumps(CALLS), "reference": reference, "expected_output": {"id": name}}
    (project.suite / "cases.json").write_text(json.dumps([{**case, "checks": checks}]))


@pytest.mark.parametrize("tools", ["live", "replay"])
def test_a_reference_with_a_generated_id_passes_wherever_answers_come_from(project: Project, tools: str) -> None:
    answer = trial(project, "recorded")["trajectory"]["final_output"]
    told = json.loads(answer) if isinstance(answer, str) else answer
    assert "order-000001" != told["id"], "what is stored is a stand-in"
    write_case(project, told["id"])
    said = project.type("case", "check", "s", "--live", LIVE[tools], "--sandbox", "local")
    assert "1 cases checked, 0 wrong" in said


def test_a_reference_with_an_id_that_no_tool_made_fails(project: Project) -> None:
    """The positive control: only the stand-in of an id that this run has made is taken for it."""
    write_case(project, "order-123456789abc")
    said = project.type("case", "check", "s", "--live", "tools", "--sandbox", "local", status=1)
    assert "paid" in said
