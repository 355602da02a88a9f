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
        ("You ask about order O-999, not o-998.", [("o-999", "o-200"), ("o-998", "o-200")]),
        ("You ask about order o-200.", []),
        ("Your budget is $60, and you live in W1-7.", []),
        ("You want a 2L bottle, of 500ml each.", []),
    ],
)
def test_another_identifier_of_the_same_form_contradicts(plan: str, expected: list[tuple[str, str]]) -> None:
    assert expected == found(plan)


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
