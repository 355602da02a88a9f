"""Small logs imported as their users would, then diagnosed: what is in them, and what they do not accuse anybody of."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from harness.ingest import ImportedRun
from harness.score import Evidence
from harness.score.failures import diagnose
from tests.ingest.conftest import Importing

Kinds = Callable[..., list[str]]


def _function(name: str, description: str = "", **annotations: bool) -> dict[str, Any]:
    parameters = {"type": "object", "properties": {"id": {"type": "string"}, "order_id": {"type": "string"}}}
    hints = {"annotations": annotations} if annotations else {}
    return {
        "type": "function",
        "function": {"name": name, "description": description, "parameters": parameters, **hints},
    }


def _call(name: str, arguments: str, answer: str) -> list[dict[str, Any]]:
    id = f"{name}{arguments}"[:60]
    asked = {"role": "assistant", "tool_calls": [{"id": id, "function": {"name": name, "arguments": arguments}}]}
    return [asked, {"role": "tool", "tool_call_id": id, "content": answer}]


def _evidence(run: ImportedRun) -> list[Evidence]:
    cases = {case.id: case for case in run.suite.cases}
    return [Evidence(case=cases[trial.case_id], trial=trial, tools=run.suite.tools) for trial, _ in run.trials]


@pytest.fixture
def kinds(importing: Importing) -> Kinds:
    """Kinds of the findings in a chat: messages, and the tools that it declares."""

    def run(*messages: dict[str, Any], tools: Sequence[dict[str, Any]] = ()) -> list[str]:
        value = {"messages": list(messages), **({"tools": list(tools)} if tools else {})}
        [evidence] = _evidence(importing("openai-chat", value))
        return [one.kind for one in diagnose(evidence)]

    return run


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def _agent(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


GET = _function("get_order", readOnlyHint=True)
CANCEL = _function("cancel_order", readOnlyHint=False)
UPDATE = _function("update_order", readOnlyHint=False)


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
    assert "offer different tools" in note.problem


def test_a_tool_that_answered_and_is_not_declared_is_no_invention_and_a_refused_one_is(kinds: Kinds) -> None:
    answered = [*_call("look_up", '{"id": "W2378156"}', "open"), *_call("other", "{}", "fine")]
    assert [] == kinds(_user("W2378156"), *answered, tools=[GET])
    refused = _call("teleport", "{}", "Error: unknown tool 'teleport'")
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
    then = _call("get_order", json.dumps({"id": used}), "Error: not found")
    assert [] == kinds(_user("Please look."), *first, *then, tools=[GET])
    assert ["guessed_argument"] == kinds(_user("Please look."), *then, tools=[GET])


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
    ],
)
def test_amounts_and_their_like_are_no_guessed_identifiers(kinds: Kinds, value: str | int) -> None:
    assert [] == kinds(
        _user("Please look."), *_call("get_order", json.dumps({"id": value}), "Error: none"), tools=[GET]
    )


def test_a_guess_is_one_through_the_importer_too(kinds: Kinds) -> None:
    guess = _call("get_order", '{"id": "W2378156"}', "Error: no such order")
    assert ["guessed_argument"] == kinds(_user("Please look."), *guess, tools=[GET])


def test_what_stands_in_the_agents_own_arguments_is_its_own(kinds: Kinds) -> None:
    note = _call("get_order", '{"id": {"ref": ["batch KX99812"]}}', "found")
    assert [] == kinds(_user("Please look."), *note, _agent("I filed it as KX99812."), tools=[GET])
    assert ["fabricated_result"] == kinds(
        _user("Please look."), *note, _agent("I filed it as KX99813 and ZZ4411."), tools=[GET]
    )


def test_a_workers_page_dump_is_an_observation_and_no_claim(importing: Importing) -> None:
    history = [
        {"role": "human", "content": "Which order is meant?"},
        {"role": "Orchestrator (thought)", "content": "ledger"},
        {"role": "Orchestrator (-> WebSurfer)", "content": "Please search"},
        {"role": "WebSurfer", "content": "I have cancelled your order. The page says: order KX99812, ticket ZZ4411."},
        {"role": "Orchestrator (thought)", "content": "found"},
        {"role": "Orchestrator (final answer)", "content": "It is KX99812."},
    ]
    [evidence] = _evidence(importing("openai-chat", {"question": "Which order is meant?", "history": history}))
    assert () == diagnose(evidence)


@pytest.mark.parametrize(
    "words",
    [
        "No changes have been made to your order.",
        "Once I have verified your order, it will be cancelled.",
        "I made an error about your order.",
        "> I have cancelled your order.",
        "The script prints:\n```\nI have cancelled your order.\n```",
        "The mail says `Your order has been cancelled`.",
    ],
)
def test_denials_conditions_slips_quotations_and_code_claim_nothing(kinds: Kinds, words: str) -> None:
    look = _call("get_order", '{"id": "W2378156"}', '{"id": "W2378156"}')
    assert [] == kinds(_user("Cancel W2378156"), *look, _agent(words), tools=[GET, CANCEL])


@pytest.mark.parametrize("name", ["subscription_cancel", "cancelSubscription", "mcp__shop__cancel_subscription"])
def test_a_truthful_agent_is_not_accused_and_an_untruthful_one_is(kinds: Kinds, name: str) -> None:
    look = _call("get_order", '{"id": "W2378156"}', '{"id": "W2378156"}')
    done = _call(name, '{"id": "W2378156"}', "done")
    said, tools = _agent("I have cancelled your subscription."), [GET, _function(name, readOnlyHint=False)]
    assert [] == kinds(_user("Cancel W2378156"), *look, *done, said, tools=tools)
    assert ["claimed_call"] == kinds(_user("Cancel W2378156"), *look, said, tools=tools)


def test_what_a_tool_does_stands_in_its_description_where_its_name_says_nothing(kinds: Kinds) -> None:
    look = _call("get_order", '{"id": "W2378156"}', '{"id": "W2378156"}')
    done = _call("op_17", '{"id": "W2378156"}', "done")
    tools = [GET, _function("op_17", "Cancel a pending order.", readOnlyHint=False)]
    said = _agent("I have cancelled your order.")
    assert [] == kinds(_user("Cancel W2378156"), *look, *done, said, tools=tools)
    assert ["claimed_call"] == kinds(_user("Cancel W2378156"), *look, said, tools=tools)


def test_a_claim_is_held_against_the_call_that_would_have_done_it(kinds: Kinds) -> None:
    look = _call("get_order", '{"id": "W2378156"}', '{"id": "W2378156"}')
    other = _call("update_order", '{"id": "W2378156"}', "updated")
    said = _agent("I have cancelled your order.")
    assert ["claimed_call"] == kinds(_user("Cancel W2378156"), *look, *other, said, tools=[GET, CANCEL, UPDATE])


def test_nothing_is_claimed_where_the_log_has_no_calls_at_all(kinds: Kinds) -> None:
    assert [] == kinds(_user("Cancel it"), _agent("I have cancelled your order. My research shows it was open."))


def test_a_failure_is_counted_only_where_it_is_known(importing: Importing) -> None:
    messages = [_user("Look at W2378156"), *_call("get_order", '{"id": "W2378156"}', "open")]
    [evidence] = _evidence(importing("openai-chat", {"messages": messages, "tools": [GET]}))
    assert (None, ()) == (evidence.success, diagnose(evidence))
