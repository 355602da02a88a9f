"""Shapes that logs in the wild have: speakers, actions as text, nested spans, permuted ids, one bad file of many."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.errors import InvalidDocument
from harness.runs.foreign_runs import import_file
from harness.scoring.evidence import Evidence
from harness.scoring.findings.reading import read
from harness.traces.trajectory import Step, Trajectory
from tests.traces.importing.conftest import Importing


def _steps(run: object) -> tuple[Step, ...]:
    [(trial, _)] = run.trials
    return trial.trajectory.steps


def _trajectory(run: object) -> Trajectory:
    [(trial, _)] = run.trials
    return trial.trajectory


def test_names_of_several_assistants_are_agents_though_users_and_tools_have_none(importing: Importing) -> None:
    handing = {"id": "a", "function": {"name": "transfer_to_coder", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "Find it"},
        {"role": "assistant", "name": "planner", "tool_calls": [handing]},
        {"role": "tool", "tool_call_id": "a", "content": "ok"},
        {"role": "assistant", "name": "coder", "content": "It is here"},
    ]
    steps = _steps(importing("openai-chat", {"messages": messages}))
    assert [("user", None), ("agent", "planner"), ("agent", "coder")] == [(step.source, step.agent) for step in steps]


def test_one_unreadable_file_of_a_folder_is_listed_and_left_out_whole(tmp_path: Path) -> None:
    good = {"messages": [{"role": "user", "content": "Hello"}]}
    bad = {"messages": [{"role": "user", "content": "Half"}], "reward": 1}
    (tmp_path / "a.json").write_text(json.dumps([bad, {"messages": 5}]))
    (tmp_path / "b.json").write_text(json.dumps(good))
    (tmp_path / "c.jsonl").write_text(json.dumps(good) + "\n")
    run = import_file("openai-chat", tmp_path)
    assert (2, 1, {}) == (len(run.trials), len(run.suite.cases), dict(run.rewards))
    [left_out] = [note for note in run.notes if note.file.name == "a.json"]
    assert left_out.problem.startswith("is left out: ")
    assert 2 == len(list(run.trials))


def test_a_folder_of_unreadable_files_alone_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(InvalidDocument):
        import_file("openai-chat", tmp_path)


def _tau2(checked: list[str] | None) -> dict[str, object]:
    def gold(name: str) -> dict[str, object]:
        return {"name": name, "arguments": {}}

    checks = None if checked is None else [{"action": gold(name), "action_match": True} for name in checked]
    tasks = [{"id": str(n), "evaluation_criteria": {"actions": [gold(f"do_{n}")]}} for n in range(3)]
    told = {"task_id": "0", "messages": [{"role": "user", "content": "Hi"}]}
    return {
        "tasks": tasks,
        "simulations": [
            {**told, "reward_info": {"reward": 1.0, "action_checks": checks}},
            {**told, "trial": 1, "reward_info": {"reward": 1.0, "action_checks": None}},
        ],
    }


@pytest.mark.parametrize(
    ("checked", "expected"),
    [
        (["do_0"], (["do_0"], ["do_0"])),
        (["do_2"], (["do_2"], None)),  # a permuted id: the task with these actions was played
        (["do_7"], (["do_7"], None)),  # no task has these actions: the checks' own are the reference
        (None, (["do_0"], ["do_0"])),
    ],
)
def test_gold_that_contradicts_the_runs_own_checks_is_named_and_not_used(
    importing: Importing, checked: list[str] | None, expected: tuple[list[str], list[str] | None]
) -> None:
    run = importing("tau2", _tau2(checked))
    cases = {case.id: case for case in run.suite.cases}
    used = []
    for trial, _ in run.trials:
        reference = cases[trial.case_id].reference
        used.append(None if reference is None else [call.tool for call in reference])
    assert expected == tuple(used)
    contradicted = [note for note in run.notes if "gold" in note.problem]
    assert (checked not in (["do_0"], None)) == bool(contradicted)


def test_an_error_told_by_its_text_alone_is_one(importing: Importing) -> None:
    document = _tau2(None)
    simulation = document["simulations"][0]
    simulation["messages"] = [
        {"role": "assistant", "tool_calls": [{"id": "a", "name": "do_0", "arguments": {}}]},
        {"role": "tool", "id": "a", "content": "Error: Order not found"},
    ]
    document["simulations"] = [simulation]
    [seen] = _trajectory(importing("tau2", document)).observations.values()
    assert "tool_error" == (seen.error.type if seen.error else None)


@pytest.mark.parametrize(("flag", "failed"), [({}, False), ({"is_error": True}, True), ({"is_error": False}, False)])
def test_only_a_flag_of_anthropics_makes_a_result_an_error(
    importing: Importing, flag: dict[str, bool], failed: bool
) -> None:
    messages = [
        {"role": "assistant", "content": [{"type": "tool_use", "id": "a", "name": "find", "input": {}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "a", "content": "Error: none", **flag}]},
    ]
    [seen] = _trajectory(importing("anthropic", {"messages": messages})).observations.values()
    assert failed == (seen.error is not None)


def test_a_file_that_is_left_out_widens_no_tool(tmp_path: Path) -> None:
    def record(*names: str) -> dict[str, object]:
        schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}}
        tool = {"type": "function", "function": {"name": "find", "parameters": schema}}
        return {"messages": [{"role": "user", "content": "Hello"}], "tools": [tool]}

    (tmp_path / "a.json").write_text(json.dumps(record("id")))
    (tmp_path / "b.json").write_text(json.dumps([record("other"), {"messages": 5}]))
    [tool] = import_file("openai-chat", tmp_path).suite.tools
    assert {"id": {"type": "string"}} == tool.parameters["properties"]


def test_a_tool_that_two_records_declare_differently_takes_what_either_takes(importing: Importing) -> None:
    def record(id: str, *names: str) -> dict[str, object]:
        schema = {"type": "object", "properties": {name: {"type": "string"} for name in names}, "required": list(names)}
        tool = {"type": "function", "function": {"name": "find", "parameters": schema}}
        return {"id": id, "messages": [{"role": "user", "content": id}], "tools": [tool]}

    run = importing("openai-chat", [record("one", "a", "b"), record("two", "b", "c")])
    [tool] = run.suite.tools
    assert ({"a", "b", "c"}, ["b"]) == (set(tool.parameters["properties"]), tool.parameters["required"])


@pytest.mark.parametrize(
    ("value", "remedy"),
    [
        ([{"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}], "--tools"),
        ([{"annotator": 0, "actions": []}], "choose the format"),
        ({"a": 1}, "choose the format"),
    ],
)
def test_what_holds_no_runs_is_refused_with_what_to_do(importing: Importing, value: Any, remedy: str) -> None:
    with pytest.raises(InvalidDocument) as caught:
        importing("tau2", value)
    assert remedy in (caught.value.remedy or "")


@pytest.mark.parametrize(
    ("name", "effect"), [("can_send_mms", "read"), ("run_speed_test", "read"), ("toggle_data", "write")]
)
def test_a_tool_that_nobody_declares_reads_where_its_name_asks(importing: Importing, name: str, effect: str) -> None:
    call = {"id": "1", "function": {"name": name, "arguments": "{}"}}
    messages = [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "1", "content": "yes"}]
    assert [(name, effect)] == [(one.name, one.effect) for one in importing("openai-chat", messages).suite.tools]


def test_a_users_hidden_scenario_is_the_task_and_not_given_to_the_agent(importing: Importing) -> None:
    def is_given(told: str) -> bool:
        messages = [{"role": "user", "content": told}, {"role": "assistant", "content": "Thank you."}]
        scenario = {"instructions": {"known_info": "You are mia_li_3668.", "reason_for_call": "Cancel your order."}}
        tasks = [{"id": "0", "user_scenario": scenario}]
        run = importing("tau2", {"tasks": tasks, "simulations": [{"task_id": "0", "trial": 0, "messages": messages}]})
        [(trial, _)] = run.trials
        [case] = run.suite.cases
        assert "mia_li_3668" in case.task
        reading = read(Evidence(case=case, trial=trial, tools=run.suite.tools))
        return reading.given.since("mia_li_3668") < 2

    assert not is_given("Hello, please cancel my order.")
    assert is_given("Hello, I am mia_li_3668, please cancel my order.")
