"""Where a missing call belongs, which other changes are tried at a wrong write, and what an answer should have said."""

from pathlib import Path

import pytest

from harness.improve.repairs import answers_by_tools
from harness.runs.store.folder import RunFolder
from harness.scoring.alignment import Deviation, alternative_deviations, deviations_from_reference
from harness.suite.cases import ReferenceCall
from harness.suite.interventions import FedCall, Invocation
from harness.suite.loading import load_suite
from harness.suite.tools import ToolSpec
from harness.traces.trial import Trial
from tests.walks.conftest import Walk


def call(tool: str, step: int, **arguments: object) -> FedCall:
    return FedCall.model_validate({"tool": tool, "arguments": arguments, "step": step})


def wanted(number: str, tool: str, *after: str, **arguments: object) -> ReferenceCall:
    return ReferenceCall.model_validate({"id": number, "tool": tool, "after": after, "arguments": arguments})


@pytest.fixture
def tools(project: Path) -> tuple[ToolSpec, ...]:
    return load_suite(project, "drive_thru_talk").tools


FIND, ADD, CHANGE = "lookup_menu_item", "add_item_to_order", "change_order_item"
REFERENCE = (
    wanted("find-1", FIND, query="tea"),
    wanted("add-1", ADD, "find-1", item_id="tea", quantity=1),
    wanted("find-2", FIND, query="bun"),
    wanted("add-2", ADD, "find-2", item_id="bun", quantity=1),
    wanted("find-3", FIND, query="egg"),
    wanted("add-3", ADD, "find-3", item_id="egg", quantity=1),
)


def test_a_missing_call_belongs_right_after_what_it_follows_where_others_of_its_tool_are_made_so(
    tools: tuple[ToolSpec, ...],
) -> None:
    made = [call(one.tool, n, **one.arguments) for n, one in enumerate(REFERENCE)]
    found = deviations_from_reference([made[0], *made[2:]], REFERENCE, tools)
    assert [("missing_call", 1)] == [(one.kind, one.at) for one in found]


def test_a_missing_call_belongs_beside_those_of_its_tool_where_they_come_after_all_that_they_follow(
    tools: tuple[ToolSpec, ...],
) -> None:
    apart = sorted(REFERENCE, key=lambda one: one.tool != FIND)
    made = [call(one.tool, n, **one.arguments) for n, one in enumerate(apart) if one.id != "add-1"]
    found = deviations_from_reference(made, REFERENCE, tools)
    assert [("missing_call", 3)] == [(one.kind, one.at) for one in found]


def test_of_a_write_made_twice_the_later_one_is_needless_where_another_call_of_the_reference_is_not_equal(
    tools: tuple[ToolSpec, ...],
) -> None:
    finds = [call(FIND, n, query=query) for n, query in enumerate(("tea", "bun", "eggs"))]
    adds = [call(ADD, n, item_id=item, quantity=1) for n, item in enumerate(("tea", "bun", "egg", "egg"), start=3)]
    found = deviations_from_reference([*finds, *adds], REFERENCE, tools)
    assert [("wrong_arguments", 2), ("needless_write", 6)] == [(one.kind, one.at) for one in found]
    early = [*finds[:2], adds[2], *adds[:2], finds[2], adds[3]]
    found = deviations_from_reference(early, REFERENCE, tools)
    assert [("needless_write", 2), ("wrong_arguments", 5)] == [(one.kind, one.at) for one in found]


def test_a_write_that_is_the_next_right_one_is_not_replaced_by_itself(tools: tuple[ToolSpec, ...]) -> None:
    tea = Invocation(tool=ADD, arguments={"item_id": "tea", "quantity": 1})
    made = [call(ADD, 1, **tea.arguments), call(ADD, 2, **tea.arguments)]
    needless = Deviation(kind="needless_write", at=0, found=tea)
    assert [] == list(alternative_deviations(made, [needless], [tea], tools))


def test_at_a_wrong_write_it_is_tried_to_leave_it_out_and_to_make_the_next_right_one(
    tools: tuple[ToolSpec, ...],
) -> None:
    tea, bun = (Invocation(tool=ADD, arguments={"item_id": name, "quantity": 1}) for name in ("tea", "bun"))
    made = [call(ADD, 1, **tea.arguments), call(CHANGE, 2, item_id="bun", quantity=1)]
    (wrong,) = deviations_from_reference(
        made, (wanted("tea", ADD, item_id="tea", quantity=1), wanted("end", "finalize_order")), tools
    )[:1]
    found = list(alternative_deviations(made, [wrong], [tea, bun], tools))
    assert [("needless_write", None), ("wrong_tool", bun), ("missing_call", bun)] == [
        (one.kind, one.expected) for one in found
    ]
    assert {1} == {one.at for one in found}


def test_a_number_that_no_tool_gave_is_replaced_by_one_that_a_tool_gave(basics: Walk) -> None:
    trial = RunFolder.open(basics.folder / "runs" / "good").trial("planned-meeting", 1)
    assert trial is not None

    def said(answer: str) -> Trial:
        steps = tuple(
            step.model_copy(
                update={
                    "observations": tuple(
                        seen.model_copy(update={"content": {"total_cents": 278, "count": 2}})
                        for seen in step.observations
                    )
                }
            )
            for step in trial.trajectory.steps
        )
        told = trial.trajectory.model_copy(update={"steps": steps, "final_output": answer})
        return trial.model_copy(update={"trajectory": told})

    first, words = next(answers_by_tools(said("Your 2 cakes are $3.78.")))
    assert "Your 2 cakes are $2.78." == first
    assert "the answer says 2.78, which a tool gave, instead of 3.78" == words
    assert [] == list(answers_by_tools(said("Your 2 cakes are $2.78.")))
    assert [] == list(answers_by_tools(said("No numbers.")))
