"""Trajectories as one text, as turns of thought, action and observation, and as messages with speakers for roles."""

from typing import Any

import pytest

from harness.trace import Trajectory
from tests.ingest.conftest import Importing

TEXT = """Question: Where was the author of Solaris born?
Thought 1: I look up the author.
Action 1: Search[Solaris (novel)]
Observation 1: Solaris is a novel by Stanislaw Lem.
Thought 2: Now the author.
Action 2: Search[Stanislaw Lem]
Observation 2: Error: could not connect
Thought 3: I answer.
Action 3: Finish[Lwow]
Observation 3: done
"""


def _trajectory(run: Any) -> Trajectory:
    [(trial, _)] = run.trials
    trajectory = trial.trajectory
    assert isinstance(trajectory, Trajectory)
    return trajectory


def _calls(run: Any) -> list[tuple[str, object]]:
    return [(call.name, call.arguments) for call in _trajectory(run).calls]


def test_a_trajectory_that_is_one_text_is_its_calls_with_their_results(importing: Importing) -> None:
    run = importing("openai-chat", {"question": "Where was he born?", "trajectory": TEXT, "correct": False})
    assert [
        ("Search", {"input": "Solaris (novel)"}),
        ("Search", {"input": "Stanislaw Lem"}),
        ("Finish", {"input": "Lwow"}),
    ] == _calls(run)
    trajectory = _trajectory(run)
    assert ["I look up the author.", "Now the author.", "I answer."] == [
        step.thought for step in trajectory.steps if step.calls
    ]
    assert [False, True, False] == [seen.error is not None for seen in trajectory.observations.values()]
    assert ("Lwow", 0.0) == (trajectory.final_output, next(iter(run.rewards.values())))


def test_a_text_that_only_speaks_of_actions_is_no_trajectory(importing: Importing) -> None:
    from harness.errors import InvalidDocument

    with pytest.raises(InvalidDocument):
        importing("openai-chat", {"trajectory": "Action is needed. Observation: none."})


@pytest.mark.parametrize(
    ("turn", "call"),
    [
        ({"action": "search[Rome]"}, ("search", {"input": "Rome"})),
        ({"action": "search", "action_input": '{"query": "Rome"}'}, ("search", {"query": "Rome"})),
        ({"action": "search", "action_input": {"query": "Rome"}}, ("search", {"query": "Rome"})),
        ({"action": "search", "tool_input": "Rome"}, ("search", {"input": "Rome"})),
        ({"action": {"name": "search", "arguments": {"query": "Rome"}}}, ("search", {"query": "Rome"})),
        ({"action": {"tool": "search", "args": {"query": "Rome"}}}, ("search", {"query": "Rome"})),
        ({"action": {"type": "buy", "symbol": "X", "count": 3}}, ("buy", {"symbol": "X", "count": 3})),
        ({"action": 'search("Rome")'}, ("search", {"input": "Rome"})),
        ({"action": "grep -n x a.py"}, ("bash", {"command": "grep -n x a.py"})),
    ],
)
def test_an_action_of_a_turn_is_a_call_however_it_is_written(
    importing: Importing, turn: dict[str, Any], call: tuple[str, object]
) -> None:
    run = importing("openai-chat", {"task": "Rome?", "steps": [{"thought": "so", **turn, "observation": "a city"}]})
    assert [call] == _calls(run)
    assert ["a city"] == [seen.content for seen in _trajectory(run).observations.values()]


def test_parentheses_in_a_shell_are_no_call_of_another_tool(importing: Importing) -> None:
    turns = [{"action": "ls -l", "observation": ""}, {"action": "f(x)", "observation": ""}]
    assert ["bash", "bash"] == [name for name, _ in _calls(importing("openai-chat", {"trajectory": turns}))]


def test_an_action_without_a_name_is_refused_by_its_place(importing: Importing) -> None:
    from harness.errors import InvalidDocument

    with pytest.raises(InvalidDocument) as refused:
        importing("openai-chat", {"steps": [{"action": {"arguments": {}}}]})
    assert "messages.0.action.name" in str(refused.value)


@pytest.mark.parametrize("reply", ["Thought: so\nAction: Search[Rome]", "Thought 1: so\nAction 1: Search[Rome]"])
def test_bracketed_actions_of_replies_are_calls(importing: Importing, reply: str) -> None:
    messages = [
        {"role": "user", "content": "Answer with Thought: and Action: Search[entity] or Finish[answer]."},
        {"role": "assistant", "content": reply},
        {"role": "user", "content": "Observation: a city"},
        {"role": "assistant", "content": "Thought 2: so\nAction 2: Finish[Rome]"},
    ]
    run = importing("openai-chat", {"messages": messages})
    assert [("Search", {"input": "Rome"}), ("Finish", {"input": "Rome"})] == _calls(run)
    assert "Rome" == _trajectory(run).final_output


@pytest.mark.parametrize(("who", "said"), [("speaker", "text"), ("sender", "content"), ("agent", "message")])
def test_messages_with_speakers_in_place_of_roles_are_read(importing: Importing, who: str, said: str) -> None:
    log = [{who: "user", said: "Count."}, {who: "Planner", said: "You count."}, {who: "Counter", said: "3"}]
    run = importing("openai-chat", {"log": log})
    assert [("user", None), ("agent", "Planner"), ("agent", "Counter")] == [
        (step.source, step.agent) for step in _trajectory(run).steps
    ]
    assert [("user", None), ("agent", "Planner"), ("agent", "Counter")] == [
        (step.source, step.agent) for step in _trajectory(importing("openai-chat", log)).steps
    ]


def test_lines_that_are_messages_are_one_conversation(importing: Importing) -> None:
    lines = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]
    [(trial, _)] = importing("openai-chat", lines, name="chat.jsonl").trials
    assert ["Hello", "Hi"] == [step.message for step in trial.trajectory.steps]


def test_a_declared_form_is_read_though_the_agent_mostly_speaks(importing: Importing) -> None:
    says = [{"role": "user", "content": "And?"}, {"role": "assistant", "content": "Which order is it?"}]
    acts = (
        "<think>I need it.</think>\nThought:\nI find the user.\nAction:\n" + '{"name": "find", "arguments": {"id": 5}}'
    )
    messages = [
        {"role": "system", "content": "Respond like this:\nThought:\n...\nAction:\n{...}"},
        *says,
        {"role": "user", "content": "Mine, user 5."},
        {"role": "assistant", "content": acts},
        {"role": "user", "content": "API output: mia"},
        {"role": "assistant", "content": "You are mia."},
        *says,
    ]
    assert [("find", {"id": 5})] == _calls(importing("openai-chat", {"messages": messages}))
