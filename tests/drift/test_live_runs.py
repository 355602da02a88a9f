"""`harness drift SUITE` and `harness drift compare RUN`: live answers beside their recordings."""

import json
import re

from tests.drift.conftest import ITEM, Project, told

NEW_ORDER = {"order": "17", "state": "open"}


def test_a_live_run_of_an_unchanged_service_is_clean(project_of_shop: Project) -> None:
    said = project_of_shop.type("drift", "s", "--sandbox", "local", "--run-name", "night", "--trials", "1")
    assert "drift of s: none" in said
    report = project_of_shop.report("night")
    assert "order order" in report["exercised"]["order"]
    assert [] == report["divergences"]


def test_writes_are_confirmed_by_other_trials_and_never_sent_again(project_of_shop: Project) -> None:
    shop = project_of_shop.shop
    shop.answers["POST /orders"] = NEW_ORDER
    shop.answers["GET /items/1"] = {**ITEM, "name": None}
    project_of_shop.live("night", "--case", "one")
    report = _compared(project_of_shop, "night", status=0)
    assert [] == told(report)
    assert 2 == len(report["unconfirmed"])
    assert "seen once" in report["unconfirmed"][0]["doubt"]
    shop.asked.clear()
    report = _compared(project_of_shop, "night", "--confirm", status=1)
    assert [("get_item", "schema.became_nullable", "name", "string -> null")] == told(report)
    assert ["GET /items/1"] * 2 == shop.asked
    project_of_shop.live("two", "--case", "one", "--trials", "2")
    report = _compared(project_of_shop, "two", status=1)
    assert ("order", "schema.type_changed", "order", "number -> string") in told(report)


def test_an_agent_that_asks_something_else_is_listed_and_no_drift(project_of_shop: Project) -> None:
    calls = [["get_item", {"id": 2}], ["order", {"id": 2}], ["get_item", {"id": 1}]]
    project_of_shop.shop.answers["GET /items/1"] = {"id": "1"}
    project_of_shop.write({"one": calls})
    project_of_shop.live("night")
    report = _compared(project_of_shop, "night", status=3)
    assert [] == told(report)
    assert 3 == len(report["divergences"])
    assert "the agent asked" in report["divergences"][0]


def test_verdicts_that_change_are_found_by_replaying_with_the_live_answers(project_of_shop: Project) -> None:
    final = {"name": "said", "verifier": "final_answer", "with": {"contains": '"state": "open"'}}
    project_of_shop.write(
        {"one": [["get_item", {"id": 1}], ["search", {"q": "b"}], ["order", {"id": 1}]]}, checks=[final]
    )
    project_of_shop.shop.answers["POST /orders"] = {"order": 17}
    project_of_shop.shop.answers["GET /search?q=b"] = {"found": [], "sum": 0}
    said = project_of_shop.type("drift", "s", "--sandbox", "local", "--run-name", "night", status=1)
    flips = {(one["tool"], one["path"]): one["flips"] for one in project_of_shop.report("night")["findings"]}
    assert ["one"] == flips["order", "state"]
    assert [] == flips["search", "total"]
    assert re.search(r"verdict of +one\b", said)


def test_a_run_that_kept_nothing_says_how_to_make_one(project_of_shop: Project) -> None:
    project_of_shop.type("run", "s", "--sandbox", "local", "--run-name", "mocked")
    assert "harness drift" in project_of_shop.type("drift", "compare", "mocked", status=2)


def test_what_was_found_is_shown_again_without_a_request(project_of_shop: Project) -> None:
    report = json.loads(project_of_shop.type("drift", "probe", "s", "--run-name", "p", "--no-flips", "--json"))
    asked = len(project_of_shop.shop.asked)
    assert report == json.loads(project_of_shop.type("drift", "compare", "p", "--stored", "--json"))
    assert asked == len(project_of_shop.shop.asked)


def _compared(project: Project, run: str, *more: str, status: int) -> dict[str, object]:
    project.type("drift", "compare", run, "--no-flips", *more, status=status)
    report: dict[str, object] = json.loads((project.folder / "runs" / run / "drift.json").read_text())
    return report
