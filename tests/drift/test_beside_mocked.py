"""A live run beside a mocked one, after a tool changed: what a case that differs is put down to."""

import json

from tests.drift.conftest import Project


def test_a_case_that_a_changed_tool_fails_is_put_down_to_the_tool(project_of_shop: Project) -> None:
    said = {"name": "said", "verifier": "final_answer", "with": {"contains": '"name": "Biscuit"'}}
    project_of_shop.write({"one": [["get_item", {"id": 1}]]}, checks=[said])
    project_of_shop.type("run", "s", "--sandbox", "local", "--run-name", "mock")
    project_of_shop.shop.answers["GET /items/1"] = {"id": 1, "title": "Biscuit"}
    project_of_shop.live("night")

    compared = project_of_shop.type("compare", "mock", "night", "--json")
    assert ["cannot_tell"] == [one["cause"] for one in json.loads(compared)["divergence"]["cases"]]

    project_of_shop.type("drift", "compare", "night", "--confirm", "--sandbox", "local", status=1)
    flips = {(one["tool"], one["path"]): one["flips"] for one in project_of_shop.report("night")["findings"]}
    assert ["one"] == flips["get_item", "name"]

    (case,) = json.loads(project_of_shop.type("compare", "mock", "night", "--json"))["divergence"]["cases"]
    assert ("one", "tool", ["get_item"]) == (case["case_id"], case["cause"], case["tools"])
    assert ({"successes": 1, "n": 1}, {"successes": 0, "n": 1}) == (case["mocked"], case["live"])
    assert "get_item name: string → absent" in case["because"]
