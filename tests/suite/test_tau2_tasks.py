"""Tasks of tau2-bench become cases, and what no case can represent is named."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.errors import InvalidDocument
from harness.runs.cases.from_data import cases_of_tasks

SCENARIO: dict[str, Any] = {
    "persona": "Curt.",
    "instructions": {
        "domain": "airline",
        "reason_for_call": "You want a refund.",
        "known_info": "You are Ann.",
        "unknown_info": None,
        "task_instructions": "Insist once.",
    },
}


def task(identity: str, *, criteria: dict[str, Any] | None = None, **fields: Any) -> dict[str, Any]:
    return {"id": identity, "user_scenario": SCENARIO, "evaluation_criteria": criteria or {}, **fields}


def made_of(folder: Path, *tasks: Any) -> tuple[list[dict[str, Any]], dict[str, str]]:
    file = folder / "tasks.json"
    file.write_text(json.dumps(list(tasks)), encoding="utf-8")
    return cases_of_tasks(file)


def test_actions_are_the_reference_in_their_order_and_what_must_be_told_is_checked(tmp_path: Path) -> None:
    actions = [
        {"action_id": "0_0", "name": "get_user", "arguments": {"id": "ann"}, "info": None},
        {"action_id": "0_1", "name": "refund", "arguments": {"order": 7}},
    ]
    (case,), left_out = made_of(tmp_path, task("0", criteria={"actions": actions, "communicate_info": ["12.5"]}))
    assert [
        {"id": "a1", "tool": "get_user", "arguments": {"id": "ann"}},
        {"id": "a2", "tool": "refund", "arguments": {"order": 7}, "after": ["a1"]},
    ] == case["reference"]
    assert [{"regex": r"12\.5", "ignore_case": True}] == [check["with"] for check in case["checks"]]
    assert ({}, "12.5") == (left_out, case["expected_output"])


def test_a_scenario_is_what_a_simulated_user_pursues(tmp_path: Path) -> None:
    (case,), _ = made_of(tmp_path, task("0"))
    plan = case["conversation"]["plan"]
    assert all(said in plan for said in ("You want a refund.", "You are Ann.", "Insist once.", "Curt."))
    assert "None" not in plan


def test_a_ticket_is_the_task_and_needs_no_user(tmp_path: Path) -> None:
    (case,), _ = made_of(tmp_path, task("0", ticket="Refund order 7."))
    assert ("Refund order 7.", False) == (case["task"], "conversation" in case)


def test_a_task_in_which_nothing_is_to_be_done_says_so(tmp_path: Path) -> None:
    looks = {"actions": [{"name": "look", "arguments": {}}]}
    writes = {"actions": [*looks["actions"], {"name": "refund", "arguments": {}}]}
    file = tmp_path / "tasks.json"
    tasks = [task("0"), task("1", criteria={"communicate_info": ["no"]}), task("2", criteria=looks)]
    file.write_text(json.dumps([*tasks, task("3", criteria=writes)]), encoding="utf-8")
    cases, _ = cases_of_tasks(file, ["look"])
    assert [True, False, True, False] == ["nop_passes" in case for case in cases]


def test_tasks_that_no_case_can_represent_are_left_out_with_the_reason(tmp_path: Path) -> None:
    users = {"actions": [{"name": "reboot", "arguments": {}, "requestor": "user"}]}
    cases, left_out = made_of(
        tmp_path,
        task("good"),
        task("changed", initial_state={"initialization_data": {}}),
        task("judged", criteria={"env_assertions": [{"func_name": "is_on"}]}),
        task("users", criteria=users),
        {"id": "empty", "user_scenario": {"instructions": ""}},
    )
    assert ["good"] == [case["id"] for case in cases]
    assert {"changed": "initial_state", "judged": "env_assertions", "users": "requestor", "empty": "instructions"} == {
        name: next(word for word in ("initial_state", "env_assertions", "requestor", "instructions") if word in reason)
        for name, reason in left_out.items()
    }


@pytest.mark.parametrize("content", ["{", "{}", '["a"]', "[]"])
def test_a_file_without_tasks_is_refused(tmp_path: Path, content: str) -> None:
    file = tmp_path / "tasks.json"
    file.write_text(content, encoding="utf-8")
    with pytest.raises(InvalidDocument) as refused:
        cases_of_tasks(file)
    assert "tasks.json" in str(refused.value)


def test_an_id_that_comes_twice_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidDocument, match="task 2"):
        made_of(tmp_path, task("0"), task("0"))
