"""Tools and parameters that do not exist, values from nowhere, and errors that were ignored."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.scoring.evidence import Evidence
from harness.scoring.findings.facts import diagnose
from harness.scoring.findings.reading import NEVER, Given, atoms, hands_in, is_hand_over, is_identifier
from harness.suite.tools import ToolSpec
from harness.traces.trajectory import Observation, Step, ToolCall, ToolFailure

Found = Callable[..., list[tuple[str, int | None]]]
ORDER = ("call", "get_order", {"order_id": "W1000001"}, {"status": "open", "id": "W1000001"})


def _tool(name: str, **more: Any) -> ToolSpec:
    return ToolSpec.model_validate({"name": name, "effect": "read", "server": "s", "http": {"path": "/"}} | more)


def test_a_tool_that_nobody_declared_is_invented_once_for_all_its_calls(diagnosed: Callable[..., Any]) -> None:
    (one,) = diagnosed(("call", "refund_order", {}, "ok"), ORDER, ("call", "refund_order", {"x": 1}, "ok"))
    assert ("invented_tool", 0, (2,), "error") == (one.kind, one.origin_step, one.dependent_steps, one.severity)


def test_nothing_is_invented_if_no_tool_is_declared_or_the_list_of_an_import_is_incomplete(found: Found) -> None:
    answered, other = ("call", "run", {}, "ok"), ("call", "teleport", {}, "ok")
    assert [] == found(answered, other, tools=())
    assert [] == found(answered, other, tools=[_tool("look", server="imported")])
    assert ["invented_tool"] * 2 == [kind for kind, _ in found(answered, other, tools=[_tool("look")])]


def test_a_tool_that_the_runner_did_not_know_is_invented_even_so(told: Callable[..., Evidence]) -> None:
    evidence = told(tools=())
    call = ToolCall(id="1", name="refund_order", arguments={})
    seen = Observation(call_id="1", content=None, error=ToolFailure(type="unknown_tool", message="no such tool"))
    steps = (Step(index=0, source="agent", calls=(call,), observations=(seen,)),)
    trajectory = evidence.trial.trajectory.model_copy(update={"steps": steps})
    trial = evidence.trial.model_copy(update={"trajectory": trajectory})
    assert ["invented_tool"] == [one.kind for one in diagnose(evidence.model_copy(update={"trial": trial}))]


@pytest.mark.parametrize("arguments", [{"verbose": True}, {"": ""}, {"": {}}, "{broken"])
def test_an_argument_that_the_schema_does_not_have_is_invalid(found: Found, arguments: Any) -> None:
    assert [("invalid_parameter", 0)] == found(("call", "run_tests", arguments, {"status": "open"}))


def test_an_open_schema_has_every_parameter(found: Found) -> None:
    schema = {"type": "object", "properties": {}, "additionalProperties": {"type": "string"}}
    call = ("call", "get_order", {"anything": "x"}, "ok")
    assert [] == found(call, tools=(_tool("get_order", parameters=schema),))


def test_a_tool_that_the_case_forbids_or_does_not_offer(told: Callable[..., Evidence]) -> None:
    evidence = told(ORDER, ("call", "get_stock", {"item_id": "lamp"}, "none"))
    for update in ({"forbidden_tools": ("get_stock",)}, {"tools": ("get_order",)}):
        case = evidence.case.model_copy(update=update)
        found = diagnose(evidence.model_copy(update={"case": case}))
        assert [("goal_drift", "forbidden_call", 1)] == [(one.failure, one.kind, one.origin_step) for one in found]


LOOK, CANCEL = "get_order", "cancel_order"
HELP = ("user", "Please help me with W2378156.")


def _call(tool: str, order: str, *answer: Any) -> tuple[Any, ...]:
    return ("call", tool, {"order_id": order}, *(answer or ("ok",)))


@pytest.mark.parametrize(
    ("turns", "fact"),
    [
        ([_call(LOOK, "W7700001", None, "no such order")], ("premature_commitment", "unfounded_value", ())),
        ([_call(CANCEL, "W7700001")], ("premature_commitment", "unfounded_value", ())),
        ([_call(LOOK, "W7700001")], None),  # a read that worked, on which nothing rests
        ([_call(LOOK, "W7700001"), _call(CANCEL, "W7700001")], ("cascading_error", "unfounded_value", (2,))),
        ([_call(LOOK, "W7700001", {"id": "W7700001"}), _call(CANCEL, "W7700001")], None),  # the answer confirms it
        ([_call(CANCEL, "W2378165")], ("premature_commitment", "miscopied_value", ())),
        (
            [_call(LOOK, "W2378165", {"item": "Q5500"}), _call(CANCEL, "Q5500")],
            ("cascading_error", "miscopied_value", (2,)),
        ),
        ([_call(CANCEL, "2378156")], None),  # people leave the letters out
        ([_call(CANCEL, "W-2378156")], None),
        ([_call(CANCEL, "2024-06-11")], None),  # what can be computed is no name
    ],
)
def test_a_value_that_stands_nowhere_before_and_what_depends_on_it(
    diagnosed: Callable[..., Any], turns: list[tuple[Any, ...]], fact: tuple[str, str, tuple[int, ...]] | None
) -> None:
    found = [one for one in diagnosed(HELP, *turns, task="Help.") if one.kind.endswith("_value")]
    assert ([] if fact is None else [fact]) == [(one.failure, one.kind, one.dependent_steps) for one in found]
    assert all(1 == one.origin_step for one in found)


def test_a_value_that_the_tools_schema_offers_is_known(diagnosed: Callable[..., Any]) -> None:
    offered = {"type": "object", "properties": {"order_id": {"enum": ["W7700001", "W7700002"]}}}
    tools = [_tool(CANCEL, effect="write", parameters=offered)]
    found = {one: diagnosed(HELP, _call(CANCEL, one), task="Help.", tools=tools) for one in ("W7700001", "W7700003")}
    assert {"W7700001": 0, "W7700003": 1} == {
        one: sum(fact.kind.endswith("_value") for fact in facts) for one, facts in found.items()
    }


def test_a_write_that_succeeded_in_a_trial_that_did_is_right_whoever_named_its_target(
    told: Callable[..., Evidence],
) -> None:
    evidence = told(HELP, _call(CANCEL, "W7700001"), failed=True)
    passed = tuple(one.model_copy(update={"passed": True}) for one in evidence.verdicts)
    assert () == diagnose(evidence.model_copy(update={"verdicts": passed}))


@pytest.mark.parametrize(
    ("between", "ignored"), [([], True), ([_call("get_stock", "x", {"order": "W2378156"})], False), ([HELP], True)]
)
def test_a_write_on_what_no_answer_ever_showed_ignores_the_error(
    diagnosed: Callable[..., Any], between: list[tuple[Any, ...]], ignored: bool
) -> None:
    refused = _call(LOOK, "W2378156", None, "the order was not found")
    found = diagnosed(HELP, refused, *between, _call(CANCEL, "W2378156"))
    assert ignored == (("ignored_error", 1) in [(one.kind, one.origin_step) for one in found])


NAMES = ("W2378156", "mia_li_3668", "ZFA04Y", "#W1000001", "KXQPLM", "1234", "AB1CD", "L-4417", "gift_card_7773485")
NO_NAMES = ("lamp", "KXQPL", "123", "2024-06-11", "12:30", "1204.50", "1e10", "v2.10.3", "3rd", "1000ms", "0xDEADBEEF")
NO_NAMES += (
    "1,234,567",
    "1999",
    "FY2024",
    "2024Q3",
    "USD1200",
    "120px",
    "mid-1990s",
    "utf-8",
    "iso-8601",
    "main_2024.py",
)


@pytest.mark.parametrize(("values", "are"), [(NAMES, True), (NO_NAMES, False)])
def test_identifiers_are_what_a_system_gave_out_and_nobody_can_compute(values: tuple[str, ...], are: bool) -> None:
    assert [] == [value for value in values if is_identifier(value) is not are]


@pytest.mark.parametrize(
    ("given", "value", "known"),
    [
        ("W2378156", "2378156", True),
        ("2378156", "W2378156", True),
        ("W237", "237", False),  # too short to be more than a number
        ("1,234,567", "1234567", True),
        ("1,234", "1234567", False),
        ("Mia Li 3668", "mia_li_3668", True),
    ],
)
def test_values_are_known_in_the_spellings_in_which_they_are_used(given: str, value: str, known: bool) -> None:
    all_given = Given()
    all_given.take(given, 3)
    assert (3 if known else NEVER) == all_given.since(value)


@pytest.mark.parametrize(
    ("given", "value", "alike"),
    [
        ("L4417", "L4471", "l4417"),  # two characters of five
        ("4417", "4471", None),  # of four, one
        ("x-441", "x-442", "441"),  # three are enough beside a part that is known
        ("x-4417", "y-4418", None),
        ("L44170", "L4417", "l44170"),  # one that is left out
        ("L441700", "L4417", None),
        ("L4417", "LA417", None),  # a letter for a digit is another shape
    ],
)
def test_a_value_was_copied_wrongly_if_one_or_two_characters_differ(given: str, value: str, alike: str | None) -> None:
    all_given = Given()
    all_given.take(given, 0)
    assert alike == all_given.lookalike(value, 9)
    assert all_given.lookalike(value, 0) is None


def test_handing_over_and_handing_in_are_known_by_the_own_name_of_a_tool() -> None:
    over = ("transfer_to_human_agents", "mcp__desk__transferToHuman", "desk.escalate", "handoffToSupport")
    assert all(map(is_hand_over, over))
    assert not any(map(is_hand_over, ("transfer_funds", "support__transfer_funds", "bank.transfer")))
    assert all(map(hands_in, ("submit", "functions.finalAnswer", "mcp__run__submit_answer")))
    assert not any(map(hands_in, ("submit_order", "answer.check")))
    assert ["strasse", "7"] == atoms("Straße_7")
