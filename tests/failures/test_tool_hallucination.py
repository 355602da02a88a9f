"""Tools, parameters, calls and results that do not exist."""

from collections.abc import Callable

from harness.scoring.evidence import Evidence
from harness.scoring.failures.diagnose import diagnose
from harness.suite.tools import ToolSpec
from harness.traces.trajectory import Observation, Step, ToolCall, ToolFailure

Found = Callable[..., list[tuple[str, int | None]]]
ORDER = ("call", "get_order", {"order_id": "W1000001"}, {"status": "open", "id": "W1000001"})


def test_a_tool_that_nobody_declared_is_invented_once_for_all_its_calls(diagnosed: Callable[..., object]) -> None:
    (one,) = diagnosed(("call", "refund_order", {}, "ok"), ORDER, ("call", "refund_order", {"x": 1}, "ok"))
    assert ("invented_tool", 0, (2,)) == (one.kind, one.origin_step, one.dependent_steps)


def test_where_no_tool_is_declared_none_can_be_invented(found: Found) -> None:
    assert [] == found(("call", "refund_order", {}, "ok"), tools=())


def test_a_tool_that_the_runner_did_not_know_is_invented_even_so(told: Callable[..., Evidence]) -> None:
    evidence = told(tools=())
    call = ToolCall(id="1", name="refund_order", arguments={})
    seen = Observation(call_id="1", content=None, error=ToolFailure(type="unknown_tool", message="no such tool"))
    steps = (Step(index=0, source="agent", calls=(call,), observations=(seen,)),)
    trial = evidence.trial.model_copy(
        update={"trajectory": evidence.trial.trajectory.model_copy(update={"steps": steps})}
    )
    found = diagnose(evidence.model_copy(update={"trial": trial}))
    assert ["invented_tool"] == [one.kind for one in found]


def test_a_parameter_that_the_schema_does_not_have_is_invented(found: Found) -> None:
    invented = ("call", "get_order", {"order_id": "W1000001", "verbose": True}, {"status": "open"})
    assert [("invented_parameter", 0)] == found(invented)


def test_an_open_schema_has_every_parameter(found: Found) -> None:
    open_tool = ToolSpec.model_validate(
        {
            "name": "get_order",
            "effect": "read",
            "server": "shop",
            "http": {"path": "/"},
            "parameters": {"type": "object", "properties": {}, "additionalProperties": {"type": "string"}},
        }
    )
    assert [] == found(("call", "get_order", {"anything": "x"}, "ok"), tools=(open_tool,))


def test_arguments_that_are_no_object_invent_nothing(found: Found) -> None:
    assert [] == found(("call", "get_order", "{broken", "could not be read", "no JSON"))


def test_a_claim_without_any_such_call_is_a_claimed_call(found: Found) -> None:
    assert [("claimed_call", 1)] == found(ORDER, ("agent", "I have cancelled your order."))
    assert [("claimed_call", 1)] == found(ORDER, ("agent", "Your order has been successfully cancelled."))


def test_a_claim_after_a_call_that_failed_is_a_claimed_call(found: Found) -> None:
    refused = ("call", "cancel_order", {"order_id": "W1000001", "reason": "x"}, None, "cannot be cancelled")
    assert [("claimed_call", 2)] == found(ORDER, refused, ("agent", "I've cancelled it."))


def test_a_claim_after_the_call_is_true(found: Found) -> None:
    done = ("call", "cancel_order", {"order_id": "W1000001", "reason": "x"}, {"status": "cancelled"})
    assert [] == found(ORDER, done, ("agent", "I have cancelled your order."))


def test_offers_questions_conditions_and_denials_claim_nothing(found: Found) -> None:
    assert [] == found(
        ORDER,
        ("agent", "Shall I cancel it? I can have it cancelled today."),
        ("agent", "Once the order has been cancelled, the money comes back."),
        ("agent", "Unfortunately it has not been cancelled."),
    )


def test_looking_up_claimed_without_a_single_call_is_a_claimed_call(found: Found) -> None:
    assert [("claimed_call", 0)] == found(("agent", "I have checked your account, all is well."))


def test_an_identifier_that_nothing_had_given_is_a_fabricated_result(found: Found) -> None:
    assert [("fabricated_result", 1)] == found(ORDER, ("agent", "Your refund has the number RF20417."))


def test_identifiers_that_were_given_are_none(found: Found) -> None:
    assert [] == found(ORDER, ("agent", "Order W1000001, that is #1000001 without the letter, is open: $1,204.50."))


def test_a_tools_answer_written_by_the_agent_itself_is_fabricated(found: Found) -> None:
    assert [("fabricated_result", 0)] == found(("agent", "Let me look.\nObservation: the order is open"))
