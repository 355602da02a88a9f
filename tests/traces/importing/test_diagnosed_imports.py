"""Small logs imported as their users would, then diagnosed: what is in them, and what they do not accuse anybody of."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from harness.runs.foreign_runs import ImportedRun
from harness.scoring.evidence import Evidence, Verdict
from harness.scoring.findings.facts import diagnose
from tests.traces.importing.conftest import Importing

Kinds = Callable[..., list[str]]


def _function(name: str, description: str = "", **annotations: bool) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {"id": {"type": "string"}, "order_id": {"type": "string"}}}
    hints = {"annotations": annotations} if annotations else {}
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": parameters, **hints},
    }


def _call(name: str, arguments: str, answer: str, *, error: str | None = None) -> list[dict[str, Any]]:
    id = f"{name}{arguments}"[:60]
    asked = {"role": "assistant", "tool_calls": [{"id": id, "function": {"name": name, "arguments": arguments}}]}
    failed = {} if error is None else {"error": {"type": error, "message": answer}}
    return [asked, {"role": "tool", "tool_call_id": id, "content": answer, **failed}]


def _as_atif(messages: Sequence[dict[str, Any]], tools: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The chat in the format that can state that a call failed."""
    steps: list[dict[str, Any]] = []
    for message in messages:
        if message["role"] == "tool":
            result = {"source_call_id": message["tool_call_id"], "content": message["content"]}
            extra = {"extra": {"harness": {"error": message["error"]}}} if "error" in message else {}
            steps[-1]["observation"] = {"results": [{**result, **extra}]}
            continue
        calls = [
            {
                "tool_call_id": one["id"],
                "function_name": one["function"]["name"],
                "arguments": one["function"]["arguments"],
            }
            for one in message.get("tool_calls", ())
        ]
        source = "user" if message["role"] == "user" else "agent"
        steps.append({"step_id": len(steps) + 1, "source": source, "message": message.get("content") or ""})
        steps[-1] |= {"tool_calls": calls} if calls else {}
    agent = {"name": "desk", "version": "1", **({"tool_definitions": list(tools)} if tools else {})}
    return {"schema_version": "ATIF-v1.7", "agent": agent, "steps": steps}


def _evidence(run: ImportedRun) -> list[Evidence]:
    cases = {case.id: case for case in run.suite.cases}
    return [Evidence(case=cases[trial.case_id], trial=trial, tools=run.suite.tools) for trial, _ in run.trials]


@pytest.fixture
def kinds(importing: Importing) -> Kinds:
    """Kinds of the findings in a chat: messages, and the tools that it declares."""

    def run(*messages: dict[str, Any], tools: Sequence[dict[str, Any]] = ()) -> list[str]:
        [evidence] = _evidence(importing("atif", _as_atif(messages, tools)))
        return [one.kind for one in diagnose(evidence)]

    return run


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def _agent(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


GET = _function("get_order", readOnlyHint=True)
CANCEL = _function("cancel_order", readOnlyHint=False)


def test_tools_belong_to_the_record_that_declares_them(importing: Importing) -> None:
    def record(*tools: dict[str, Any]) -> dict[str, Any]:
        asks = [_user("Look at order W2378156"), *_call("look_up", '{"id": "W2378156"}', "open")]
        return {"id": "one", "messages": asks, "tools": list(tools)}

    look = _function("look_up", readOnlyHint=True)
    run = importing("openai-chat", [record(look), record(GET, look), record(look)])
    first, second, third = _evidence(run)
    assert ({"look_up"}, {"look_up", "get_order"}) == (first.allowed, second.allowed)
    assert (first.case.id, 2) == (third.case.id, len(run.suite.cases))
    [note] = [note for note in run.notes if note.field == "tools"]
    assert note.problem


def test_a_record_that_declares_no_tools_is_not_judged_by_those_of_another_world(importing: Importing) -> None:
    shop = {"id": "shop", "messages": [_user("Look at order W2378156"), *_call("get_order", "{}", "open")]}
    ends = [
        *_call("get_order", '{"line": "L2"}', "L2 tablet"),  # a tool of the same name that takes something else
        *_call("subscription_terminate", '{"line": "L2"}', "TERMINATION ACCEPTED line=L2"),
    ]
    telephone = {
        "id": "line",
        "messages": [_user("Cancel my tablet plan, L2."), *ends, _agent("It has been cancelled.")],
    }
    looks = {"id": "looks", "messages": [_user("Look at order W2378156"), *_call("get_order", "{}", "open")]}
    run = importing("openai-chat", [shop | {"tools": [GET, CANCEL]}, telephone, looks])
    declared, apart, silent = _evidence(run)
    assert ({"get_order", "cancel_order"}, {"subscription_terminate", "get_order"}) == (declared.allowed, apart.allowed)
    assert declared.allowed == silent.allowed
    assert [] == list(diagnose(apart))


def test_a_tool_that_answered_and_is_not_declared_is_no_invention_and_a_refused_one_is(kinds: Kinds) -> None:
    answered = [*_call("look_up", '{"id": "W2378156"}', "open"), *_call("other", "{}", "fine")]
    assert [] == kinds(_user("W2378156"), *answered, tools=[GET])
    refused = _call("teleport", "{}", "Error: unknown tool 'teleport'", error="unknown_tool")
    assert ["invented_tool"] == kinds(_user("W2378156"), *answered, *refused, tools=[GET])


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ("There were 1,234,567 visitors", "1234567"),
        ('{"note": "first line\\nKX99812"}', "KX99812"),
        ('{"ref": "\\u004bX99812"}', "KX99812"),
        ('{"inner": "{\\"note\\": \\"line\\\\nKX99812\\"}"}', "KX99812"),
    ],
)
def test_a_value_is_grounded_however_the_text_that_gave_it_is_written(kinds: Kinds, given: str, used: str) -> None:
    first = _call("get_order", "{}", given)
    then = _call("get_order", json.dumps({"id": used}), "Error: not found", error="tool_error")
    assert [] == kinds(_user("Please look."), *first, *then, tools=[GET])
    assert ["unfounded_value"] == kinds(_user("Please look."), *then, tools=[GET])


@pytest.mark.parametrize(
    "value",
    [
        "$1,204.50",
        "2024-06-11",
        "1999",
        2378156,
        "10,140p",
        "0x1F600",
        "\\u00e9",
        "v2.11.0",
        "21st",
        "6.02e23",
        "1990-1995",
        "250kg",
        "sed -n 120,140p",
        "U+1F600",
        "EUR100",
        "FY2023",
        "Q3-2024",
        "2024W23",
    ],
)
def test_amounts_and_their_like_are_no_guessed_identifiers(kinds: Kinds, value: str | int) -> None:
    assert [] == kinds(
        _user("Please look."),
        *_call("get_order", json.dumps({"id": value}), "Error: none", error="tool_error"),
        tools=[GET],
    )


def test_a_query_in_ever_other_words_that_brings_nothing_is_a_loop(kinds: Kinds) -> None:
    queries = ["best pizza in Rome", "Rome pizza best", "in Rome the pizza", "famous Rome pizza", "pizza Rome centre"]
    asked = [one for query in queries for one in _call("search", json.dumps({"q": query}), "No results")]
    assert ["repeated_call"] == kinds(_user("Where is pizza?"), *asked)


@pytest.mark.parametrize(("times", "found"), [(5, ["unchanged_retry"]), (4, [])])
def test_one_error_of_a_tool_on_ever_other_arguments_is_stuck_whatever_is_called_between(
    kinds: Kinds, times: int, found: list[str]
) -> None:
    messages = []
    for word in ["alpha", "beta", "gamma", "delta", "epsilon"][:times]:
        messages += _call("open", json.dumps({"path": f"/{word}"}), "Error: permission denied for this user")
        messages += _call("list", json.dumps({"of": word}), f"{word} has {word}s")
    assert found == kinds(_user("Open them."), *messages)


@pytest.mark.parametrize(
    ("user", "reward", "tools", "found"),
    [
        ("Cancel W2378156", 0, [GET, CANCEL], ["other"]),
        ("Cancel W2378156", 1, [GET, CANCEL], []),
        ("Cancel it", 0, [GET, CANCEL], ["unfounded_value"]),
        ("Cancel it", 1, [GET, CANCEL], []),
    ],
)
def test_a_write_that_succeeded_is_no_slip_in_a_success_nor_one_to_what_the_user_named(
    importing: Importing, user: str, reward: float, tools: list[dict[str, Any]], found: list[str]
) -> None:
    messages = [_user(user), *_call("cancel_order", '{"order_id": "W2378156"}', "done"), _agent("Done.")]
    imported = importing("openai-chat", {"messages": messages, "tools": tools, "reward": reward})
    [evidence] = _evidence(imported)
    verdict = Verdict(check="reward", verifier="reward", version="1", passed=reward == 1, reason="the reward")
    known = evidence.model_copy(update={"verdicts": (verdict,)})
    assert found == [one.failure if one.failure == "other" else one.kind for one in diagnose(known)]


def test_a_failure_is_counted_only_where_it_is_known(importing: Importing) -> None:
    messages = [_user("Look at W2378156"), *_call("get_order", '{"id": "W2378156"}', "open")]
    [evidence] = _evidence(importing("openai-chat", {"messages": messages, "tools": [GET]}))
    assert (None, ()) == (evidence.success, diagnose(evidence))
