"""Shapes that logs in the wild have: speakers, actions as text, nested spans, permuted ids, one bad file of many."""

import json
from pathlib import Path
from typing import Any

import pytest

from harness.errors import InvalidDocument
from harness.ingest import import_file
from harness.score import Evidence
from harness.score.failures.signals.reading import read
from harness.trace import Step, Trajectory
from tests.ingest.conftest import Importing


def _steps(run: object) -> tuple[Step, ...]:
    [(trial, _)] = run.trials
    return trial.trajectory.steps


def _trajectory(run: object) -> Trajectory:
    [(trial, _)] = run.trials
    return trial.trajectory


def test_speaker_names_are_agents_and_a_worker_is_below_the_step_that_sent_it(importing: Importing) -> None:
    history = [
        {"role": "human", "content": "Where is the nearest dojo?"},
        {"role": "Orchestrator (thought)", "content": "Updated ledger"},
        {"role": "Orchestrator (-> WebSurfer)", "content": "Please search"},
        {"role": "WebSurfer", "content": "I typed 'dojo'"},
        {"role": "ComputerTerminal", "content": "exitcode: 0"},
    ]
    steps = _steps(importing("openai-chat", {"question": "Where is the nearest dojo?", "history": history}))
    assert [("user", None), ("agent", "Orchestrator"), ("agent", "Orchestrator"), ("agent", "WebSurfer")] == [
        (step.source, step.agent) for step in steps[:4]
    ]
    assert ("Updated ledger", None, 2, "system") == (
        steps[1].thought,
        steps[1].message,
        steps[3].parent,
        steps[4].source,
    )


def test_names_of_agents_in_the_user_role_are_agents_and_a_lone_users_name_is_none(importing: Importing) -> None:
    group = [
        {"role": "assistant", "name": "Excel_Expert", "content": "4 rows"},
        {"role": "user", "name": "Computer_terminal", "content": "exitcode: 0"},
        {"role": "user", "name": "Checker", "content": "Confirmed"},
    ]
    assert ["agent", "system", "agent"] == [
        step.source for step in _steps(importing("openai-chat", {"history": group}))
    ]
    alone = [{"role": "user", "name": "Ann", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]
    assert ["user", "agent"] == [step.source for step in _steps(importing("openai-chat", {"messages": alone}))]


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


LANGCHAIN = [
    {"type": "human", "content": "Look"},
    {"type": "ai", "content": "", "tool_calls": [{"id": "a", "name": "find", "args": {"q": "it"}}]},
    {"type": "tool", "tool_call_id": "a", "content": "found"},
    {"type": "ai", "content": "Here it is"},
]
RESPONSES = [
    {"role": "user", "content": "Look"},
    {"type": "function_call", "call_id": "a", "name": "find", "arguments": '{"q": "it"}'},
    {"type": "function_call_output", "call_id": "a", "output": "found"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Here it is"}]},
]


@pytest.mark.parametrize("messages", [LANGCHAIN, RESPONSES], ids=["langchain", "responses"])
def test_messages_that_have_types_in_place_of_roles_are_read(importing: Importing, messages: list[object]) -> None:
    run = importing("openai-chat", {"input": messages})
    assert ["user", "agent", "agent"] == [step.source for step in _steps(run)]
    trajectory = _trajectory(run)
    assert [("find", {"q": "it"})] == [(call.name, call.arguments) for call in trajectory.calls]
    assert (["found"], "Here it is") == (
        [one.content for one in trajectory.observations.values()],
        trajectory.final_output,
    )


def test_a_responses_thought_is_a_thought(importing: Importing) -> None:
    reasoning = {"type": "reasoning", "summary": [{"type": "summary_text", "text": "I look."}]}
    steps = _steps(importing("openai-chat", {"input": [RESPONSES[0], reasoning, *RESPONSES[1:]]}))
    assert "I look." == steps[1].thought


ACTIONS = {
    "bash": ("Answer with ONE ```bash block.", "THOUGHT: look\n\n```bash\nls -R\n```", "bash", {"command": "ls -R"}),
    "python": (
        "Write Python code.",
        "I count.\n```python\nlen(items)\n```",
        "python_interpreter",
        {"code": "len(items)"},
    ),
    "tag": ("Act in <execute> tags.", "I look. <execute> ls </execute>", "execute", {"command": "ls"}),
    "function": (
        "Call <function=NAME>.",
        "Look.\n<function=view>\n<parameter=path>/a</parameter>\n</function>",
        "view",
        {"path": "/a"},
    ),
    "tool_call": (
        "Write <tool_call> JSON.",
        'Look. <tool_call>{"name": "view", "arguments": {"path": "/a"}}</tool_call>',
        "view",
        {"path": "/a"},
    ),
    "react": (
        "Write\nAction: JSON",
        'Thought: look\nAction: {"name": "view", "arguments": {"path": "/a"}}',
        "view",
        {"path": "/a"},
    ),
    "web": (
        "Act in <action> tags.",
        "<think>so</think>\n<action>\nclick('12')\n</action>",
        "click",
        {"arguments": "'12'"},
    ),
}


@pytest.mark.parametrize("form", ACTIONS)
def test_an_action_written_as_text_is_a_call_and_what_follows_is_its_result(importing: Importing, form: str) -> None:
    system, reply, tool, arguments = ACTIONS[form]
    messages = [
        {"role": "system", "content": system},
        {"role": "user", "content": "Do it."},
        {"role": "assistant", "content": reply},
        {"role": "user", "content": "Error: no such file"},
        {"role": "assistant", "content": reply},
        {"role": "user", "content": "two files"},
    ]
    steps = _steps(importing("openai-chat", {"messages": messages}))
    calls = [(call.name, call.arguments) for step in steps for call in step.calls]
    assert [(tool, arguments)] * 2 == calls
    seen = [one for step in steps for one in step.observations]
    assert [("Error: no such file", "tool_error"), ("two files", None)] == [
        (one.content, one.error.type if one.error else None) for one in seen
    ]


def test_an_answer_to_two_actions_of_one_reply_moves_no_later_answer(importing: Importing) -> None:
    def reply(*commands: str) -> dict[str, str]:
        return {"role": "assistant", "content": "\n".join(f"```bash\n{one}\n```" for one in commands)}

    messages = [
        {"role": "system", "content": "Answer with ONE ```bash block."},
        {"role": "user", "content": "Do it."},
        reply("ls", "pwd"),
        {"role": "user", "content": "Give exactly one action."},
        reply("ls"),
        {"role": "user", "content": "two files"},
        reply("pwd"),
        {"role": "user", "content": "/home"},
    ]
    steps = _steps(importing("openai-chat", {"messages": messages}))
    told = [[(call.arguments, step.observations[0].content) for call in step.calls[:1]] for step in steps if step.calls]
    assert [
        [({"command": "ls"}, "Give exactly one action.")],
        [({"command": "ls"}, "two files")],
        [({"command": "pwd"}, "/home")],
    ] == told


def test_a_code_block_in_an_answer_is_no_call_where_nothing_says_that_code_is_run(importing: Importing) -> None:
    messages = [
        {"role": "user", "content": "How do I sort a list in Python?"},
        {"role": "assistant", "content": "Like this:\n```python\nsorted(items)\n```"},
    ]
    assert () == _trajectory(importing("openai-chat", {"messages": messages})).calls


def test_a_run_that_ends_by_handing_in_has_an_answer(importing: Importing) -> None:
    call = {"id": "a", "function": {"name": "final_answer", "arguments": '{"answer": "42"}'}}
    other = {"id": "b", "function": {"name": "look", "arguments": '{"answer": "42"}'}}
    ended, went_on = (
        _trajectory(importing("openai-chat", {"messages": [{"role": "assistant", "tool_calls": [one]}]}))
        for one in (call, other)
    )
    assert ("42", None) == (ended.final_output, went_on.final_output)


@pytest.mark.parametrize("key", ["input", "history", "trajectory"])
def test_messages_are_found_under_other_names(importing: Importing, key: str) -> None:
    run = importing("openai-chat", {key: [{"role": "user", "content": "Hello"}]})
    assert ["Hello"] == [step.message for step in _steps(run)]


def test_a_file_without_messages_is_refused_with_the_key_that_seems_to_hold_them(importing: Importing) -> None:
    with pytest.raises(InvalidDocument) as refused:
        importing("openai-chat", {"data": {"log": [{"role": "user", "content": "Hello"}]}})
    assert "`data.log`" in str(refused.value)


def test_turns_of_action_and_observation_are_calls(importing: Importing) -> None:
    turns = [{"action": "ls", "observation": "a.py", "thought": "look"}, {"action": "submit", "observation": "diff"}]
    trajectory = _trajectory(importing("openai-chat", {"trajectory": turns}, name="a.traj"))
    assert ["ls", "submit"] == [call.arguments and call.arguments["command"] for call in trajectory.calls]
    assert "diff" == trajectory.final_output


def test_steps_told_in_a_prompt_are_steps(importing: Importing) -> None:
    blocks = [f"## step {n}\n\n<think>so</think>\n<action>\nclick('{n + 1}')\n</action>\n" for n in range(2)]
    prompt = "\n".join(["# Goal", *blocks, "# Action space"])
    steps = _steps(importing("openai-chat", {"input": [{"role": "user", "content": prompt}]}))
    assert ["'1'", "'2'"] == [(call.arguments or {})["arguments"] for step in steps for call in step.calls]


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


def test_spans_that_hold_their_children_are_read_with_the_calls_that_smolagents_tells_as_text(
    importing: Importing,
) -> None:
    def span(id: str, kind: str, second: int, attributes: dict[str, object], *children: object) -> dict[str, object]:
        return {
            "trace_id": "t1",
            "span_id": id,
            "timestamp": f"2025-03-19T16:40:{second:02}.5Z",
            "duration": "PT1M2.25S",
            "span_name": id,
            "status_code": "Ok",
            "span_attributes": {"openinference.span.kind": kind, **attributes},
            "child_spans": list(children),
        }

    def chat(id: str, second: int, history: list[tuple[str, str]], said: str) -> dict[str, object]:
        told = {"messages": [{"role": role, "content": text} for role, text in history]}
        answer = {"llm.output_messages.0.message.role": "assistant", "llm.output_messages.0.message.content": said}
        return span(id, "LLM", second, {"input.value": json.dumps(told), **answer})

    function = "{'name': 'python_interpreter', 'arguments': 'f()'}"
    calling = f"Calling tools:\n[{{'id': 'c1', 'type': 'function', 'function': {function}}}]"
    begun = [("user", "New task: count")]
    after = [
        *begun,
        ("assistant", "I call f."),
        ("tool-call", calling),
        ("tool-response", "Call id: c1\nObservation:\nlogs"),
    ]
    failed = [*after, ("tool-response", "Call id: c1\nError:\nbroken")]
    root = span(
        "a1",
        "AGENT",
        1,
        {"input.value": '{"task": "count"}'},
        chat("b1", 2, begun, "I call f."),
        chat("b2", 3, failed, "Done."),
    )
    run = importing("otel", {"trace_id": "t1", "spans": [root]})
    trajectory = _trajectory(run)
    assert "count" == run.suite.cases[0].task
    assert [("python_interpreter", {"code": "f()"})] == [(call.name, call.arguments) for call in trajectory.calls]
    [seen] = trajectory.observations.values()
    assert ("logs\nbroken", "broken") == (seen.content, seen.error.message if seen.error else None)
    assert ["New task: count", "I call f.", "Done."] == [step.message for step in trajectory.steps]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ("{1, 2}", None),
        ("b'x'", None),
        ("1j", None),
        ("...", None),
        ("{'a': 1e999}", None),
        ("{'a': {(1, 2): 3}}", None),
        ("{'a': " + "[" * 140 + "]" * 140 + "}", None),
        ("{'a': '\\ud800', 1: (2, 3)}", {"a": "?", "1": [2, 3]}),
    ],
)
def test_calls_that_are_told_as_text_hold_nothing_that_is_no_json(
    importing: Importing, arguments: str, expected: object
) -> None:
    calling = f"Calling tools:\n[{{'id': 'c1', 'function': {{'name': 'find', 'arguments': {arguments}}}}}]"
    told = {"messages": [{"role": "user", "content": "Hi"}, {"role": "tool-call", "content": calling}]}
    span = {
        **{"trace_id": "t1", "span_id": "b1", "span_name": "b1", "status_code": "Ok", "child_spans": []},
        **{"timestamp": "2025-03-19T16:40:02.5Z", "duration": "PT1S"},
        "span_attributes": {
            "openinference.span.kind": "LLM",
            "input.value": json.dumps(told),
            "llm.output_messages.0.message.role": "assistant",
            "llm.output_messages.0.message.content": "Done.",
        },
    }
    run = importing("otel", {"trace_id": "t1", "spans": [span]})
    calls = {call.name: call.arguments for call in _trajectory(run).calls}
    assert ({} if expected is None else {"find": expected}) == calls


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


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("ValueError: bad date", "tool_error"),
        ("requests.exceptions.HTTPError: 500", "tool_error"),
        ("error: no such order", "tool_error"),
        ("TypeError: find() got an unexpected keyword argument 'x'", "invalid_arguments"),
        ("413 Payload rejected: field 'country' is required", "tool_error"),
        ("HTTP/1.1 404 Not Found", "tool_error"),
        ("fatal: not a git repository", "tool_error"),
        ('Error from server (NotFound): secrets "tls" not found', "tool_error"),
        ("Failed to reach the printer", "tool_error"),
        ("404 Main Street", None),
        ("500 Not much", None),
        ("An error: none was found", None),
        ("errors: 0", None),
    ],
)
def test_an_error_is_told_by_the_mark_at_the_beginning_of_its_text(
    importing: Importing, text: str, type: str | None
) -> None:
    asks = {"role": "assistant", "tool_calls": [{"id": "a", "function": {"name": "find", "arguments": "{}"}}]}
    answer = {"role": "tool", "tool_call_id": "a", "content": text}
    [seen] = _trajectory(importing("openai-chat", {"messages": [asks, answer]})).observations.values()
    assert type == (seen.error.type if seen.error else None)


@pytest.mark.parametrize(("flag", "failed"), [({}, True), ({"is_error": True}, True), ({"is_error": False}, False)])
def test_a_flag_of_anthropics_decides_and_without_one_the_text_does(
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


def test_json_lines_are_read_whatever_the_file_is_called(importing: Importing) -> None:
    line = '{"messages": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "hello"}]}\n'
    assert 2 == len(importing("openai-chat", 2 * line, name="log.json").trials)
    assert 1 == len(importing("openai-chat", line, name="log.json").trials)


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
        importing("tau-bench", value)
    assert remedy in (caught.value.remedy or "")


@pytest.mark.parametrize(
    ("name", "effect"), [("can_send_mms", "read"), ("run_speed_test", "read"), ("toggle_data", "write")]
)
def test_a_tool_that_nobody_declares_reads_where_its_name_asks(importing: Importing, name: str, effect: str) -> None:
    call = {"id": "1", "function": {"name": name, "arguments": "{}"}}
    messages = [{"role": "assistant", "tool_calls": [call]}, {"role": "tool", "tool_call_id": "1", "content": "yes"}]
    assert [(name, effect)] == [(one.name, one.effect) for one in importing("openai-chat", [messages]).suite.tools]


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
        return reading.sources.grounded("mia_li_3668", 2)

    assert not is_given("Hello, please cancel my order.")
    assert is_given("Hello, I am mia_li_3668, please cancel my order.")
