"""A plan that the fixtures of its case contradict is refused before the run, with file and line of both."""

from pathlib import Path

import pytest

import harness
from harness.api import RunOptions
from harness.errors import InvalidDocument
from harness.suite.cases import Case
from harness.suite.fixtures import Fixture, FixturePack
from harness.users.plan_check import contradictions

HISTORY = FixturePack(
    name="history",
    fixtures=(
        Fixture(
            tool="orders",
            answer={"orders": [{"order_id": "o-200", "items": [{"name": "Oat Milk", "quantity": 2, "price": 3.5}]}]},
        ),
    ),
)


def found(plan: str, **own: object) -> list[tuple[str, str]]:
    case = Case.model_validate(
        {"id": "c", "fixtures": ["history"], "task": "Hello.", "conversation": {"plan": plan}, **own}
    )
    return [(one.value, one.fact) for one in contradictions(case, {"history": HISTORY})]


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        ("You ask about order o-999.", [("o-999", "o-200")]),
        ("Your last order had 3 oat milk.", [("3", "quantity: 2")]),
        ("You ask about order o-200.", []),
        ("Your last order had 2 oat milk.", []),
        ("You want 3 oat milk this time.", []),
        ("Your budget is $60, and you live in W1-7.", []),
    ],
)
def test_another_identifier_or_figure_of_the_same_thing_contradicts(plan: str, expected: list[tuple[str, str]]) -> None:
    assert expected == found(plan)


BOUGHT = FixturePack(
    name="history",
    fixtures=(
        Fixture(
            tool="orders",
            answer={
                "orders": [
                    {
                        "order_id": "o-200",
                        "placed_on": "2026-01-14",
                        "items": [
                            {"name": "Bananas", "store_id": "greenway", "quantity": 4, "price": 0.3},
                            {"name": "Malbec", "store_id": "cellar", "quantity": 1, "price": 12.5},
                        ],
                    }
                ]
            },
        ),
    ),
)


@pytest.mark.parametrize(
    ("plan", "expected"),
    [
        ("You bought it on 2026-02-01.", [("2-1", "2026-01-14")]),
        ("You ordered them on February 1, 2026.", [("2-1", "2026-01-14")]),
        ("Your order was placed on 2026-01-14.", []),
        ("You ordered them on January 14.", []),
        ("If the order was placed on 2026-02-01, complain.", []),
        ("Your birthday is on 2026-02-01.", []),
        ("You want the order delivered on 2026-02-01.", []),
        ("Your last order had 2 plums.", [("2 plum", "Bananas, Malbec")]),
        ("Your last order had 4 bananas.", []),
        ("Your last order had 2 items.", []),
        ("Your last order was 3 days ago.", []),
        ("You would like 2 plums in this order.", []),
        ("The bananas you bought were from the cellar.", [("cellar", "greenway")]),
        ("The bananas you bought were from Hillside.", [("Hillside", "greenway")]),
        ("The bananas you bought were from Greenway.", []),
        ("The bananas were from your last order.", []),
        ("The malbec costs $14.", [("14", "price: 12.5")]),
        ("The malbec costs $12.50.", []),
    ],
)
def test_a_day_an_item_a_store_or_a_price_of_what_was_bought_contradicts(
    plan: str, expected: list[tuple[str, str]]
) -> None:
    case = Case.model_validate({"id": "c", "fixtures": ["history"], "task": "Hello.", "conversation": {"plan": plan}})
    assert expected == [(one.value, one.fact) for one in contradictions(case, {"history": BOUGHT})]


def test_what_the_profile_holds_is_no_contradiction() -> None:
    assert [] == found("You ask about order o-999.", user_profile={"other_order": "o-999"})


CASES = """\
- id: again
  fixtures: [history]
  task: My order, please.
  conversation:
    plan: |
      Ask for the state of order o-999.
    max_turns: 3
USER"""
SUITE = """\
agents:
  v1: {command: ["true"]}
tools: tools.yaml
servers: {shop: {base_url: "http://127.0.0.1:9"}}
checks:
  - {name: answered, verifier: final_answer, with: {regex: "."}}
user: {kind: model, model: m, base_url: "http://127.0.0.1:9/v1", mode: replay}
"""


def suite_of(root: Path, user: str = "") -> None:
    folder = root / "suites" / "shop"
    (folder / "fixtures").mkdir(parents=True)
    (folder / "suite.yaml").write_text(SUITE)
    (folder / "cases.yaml").write_text(CASES.replace("USER", user))
    (folder / "tools.yaml").write_text(
        "- {name: orders, server: shop, description: Orders., effect: read, parameters: {type: object}, "
        "http: {method: GET, path: /orders}}\n"
    )
    (folder / "about.yaml").write_text("criteria: [{name: kept, cases: [again]}]\n")  # names the case, holds no plan
    (folder / "fixtures" / "history.yaml").write_text("orders:\n  answer:\n    orders:\n      - {order_id: o-200}\n")


def test_the_run_is_refused_and_a_user_who_is_meant_to_be_wrong_is_not(tmp_path: Path) -> None:
    suite_of(tmp_path)

    with pytest.raises(InvalidDocument) as refused:
        harness.run(RunOptions(suite="shop", sandbox="local"), project=tmp_path)
    said = str(refused.value)
    assert "cases.yaml:6" in said  # not the first file that names the case
    assert "history.yaml, line 4" in said
    assert "mistaken: true" in said
    assert not list(tmp_path.glob("runs/*"))

    mistaken = tmp_path / "other"
    suite_of(mistaken, "  user: {mistaken: true}\n")
    summary = harness.run(RunOptions(suite="shop", sandbox="local"), project=mistaken)
    assert 1 == summary.counts.planned
