"""What a tool does is read from its words wherever they stand; what no tool does is claimed of none."""

from collections.abc import Callable

import pytest

from harness.case import ToolSpec
from harness.score.failures.grounding import is_identifier
from harness.score.failures.tool_words import action_of

Found = Callable[..., list[tuple[str, int | None]]]


def _tool(name: str, effect: str = "write", server: str = "shop") -> ToolSpec:
    return ToolSpec.model_validate(
        {"name": name, "effect": effect, "server": server, "http": {"path": "/"}, "parameters": {"type": "object"}}
    )


NAMES = ("cancel_order", "cancelOrder", "orders_cancel", "mcp__shop__cancel_order", "shop.cancel-order", "OrderCancel")


@pytest.mark.parametrize("name", NAMES)
def test_a_tool_does_the_same_however_its_name_is_written(found: Found, name: str) -> None:
    assert "cancel" == action_of(name)
    if "." in name:
        return
    told = ("agent", "I have cancelled your order.")
    done = ("call", name, {"order_id": "W1000001"}, {"order": "W1000001"})
    look = ("call", "get_order", {"order_id": "W1000001"}, {"order": "W1000001"})
    tools = [_tool(name), _tool("get_order", "read")]
    assert [("claimed_call", 1)] == found(look, told, tools=tools)
    assert "claimed_call" not in [kind for kind, _ in found(look, done, told, tools=tools)]


@pytest.mark.parametrize(
    "words",
    [
        "No changes have been made to your order.",
        "Once I've cancelled your order, I will write.",
        "I made an error about your order.",
        'The policy says "I have cancelled your order" must be confirmed.',
        '{"message": "No cancellation has been placed for the order."}',
    ],
)
def test_denials_conditions_slips_and_quotations_claim_nothing(found: Found, words: str) -> None:
    look = ("call", "get_order", {"order_id": "W1000001"}, {"order": "W1000001"})
    assert [] == found(look, ("agent", words))


def test_nothing_is_claimed_where_no_call_is_recorded(found: Found) -> None:
    assert [] == found(("agent", "I have cancelled your order."), tools=())
    assert [("claimed_call", 0)] == found(("agent", "I have cancelled your order."))


def test_an_imported_list_that_lacks_a_tool_that_answered_is_incomplete(found: Found) -> None:
    answered, other = ("call", "run", {}, "ok"), ("call", "teleport", {}, "ok")
    assert [] == found(answered, other, tools=[_tool("look", server="imported")])
    assert ["invented_tool"] * 2 == [kind for kind, _ in found(answered, other, tools=[_tool("look")])]


@pytest.mark.parametrize(
    "value",
    [
        "1,234,567",
        "2024-06-11",
        "1999",
        "990-1030",
        "120px",
        "1.14rc1",
        "3rd",
        "1980s",
        "1.8e11",
        "856i",
        "U+00E9",
        "10:30pm",
    ],
)
def test_amounts_dates_ranges_units_versions_and_addresses_of_lines_are_no_identifiers(value: str) -> None:
    assert not is_identifier(value)


@pytest.mark.parametrize("value", ["W2378156", "#W2378156", "mia_li_3668", "ZFA04Y", "9690244451", "gift_card_7773485"])
def test_what_a_system_gave_out_is_an_identifier(value: str) -> None:
    assert is_identifier(value)


RESEARCH = (
    "After a search, the answer is 42.",
    "My research shows that it is 42.",
    "Based on my research, the paper is from 2015.",
)


@pytest.mark.parametrize("words", RESEARCH)
def test_research_without_a_call_is_claimed(found: Found, words: str) -> None:
    look = ("call", "get_order", {"order_id": "W1000001"}, {"order": "W1000001"})
    thought = ("call", "think", {"thought": "hm"}, "")
    tools = [_tool("get_order", "read"), _tool("think", "read")]
    assert [("claimed_call", 0)] == found(("agent", words), tools=tools)
    assert [("claimed_call", 1)] == found(thought, ("agent", words), tools=tools)
    assert [] == found(look, ("agent", words), tools=tools)


@pytest.mark.parametrize(
    "words",
    [
        "After a search, I will tell you.",
        "Let me do a search.",
        "Should I go by my research?",
        "If my research shows more, I will write.",
    ],
)
def test_research_to_come_claims_nothing(found: Found, words: str) -> None:
    assert [] == found(("agent", words))
