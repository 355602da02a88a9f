"""The built-in metrics by table: formula, edges, and the mistakes of other scorers that ours must not share."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.scoring.evidence import Evidence, Verdict
from harness.scoring.registry import METRICS

Build = Callable[..., Evidence]

CHAIN = [
    {"id": "1", "tool": "find", "arguments": {"query": "egg"}},
    {"id": "2", "tool": "add", "arguments": {"item": "egg", "quantity": 2}, "after": ["1"]},
]
FIND = ("find", {"query": "egg"})
ADD = ("add", {"item": "egg", "quantity": 2})


def measure(metric: str, evidence: Evidence, success: bool | None = None) -> float | None:
    verdicts = () if success is None else (Verdict(check="k", verifier="v", version="1", passed=success, reason=""),)
    value: float | None = METRICS[metric]().measure(evidence.model_copy(update={"verdicts": verdicts}))[0]
    return value


def test_the_metrics_have_distinct_names_and_say_what_they_count() -> None:
    assert len({metric.name for metric in METRICS.values()}) == len(METRICS) == 23
    assert [name for name, metric in METRICS.items() if "None" not in (metric.__doc__ or "")] == ["completion", "steps"]


@pytest.mark.parametrize(("success", "value"), [(True, 1.0), (False, 0.0), (None, None)])
def test_task_success_is_the_verdict_and_no_check_is_no_success(
    evidence: Build, success: bool | None, value: float | None
) -> None:
    assert measure("task_success", evidence(), success) == value


@pytest.mark.parametrize(
    ("outcome", "answer", "value"),
    [
        ("finished", "here", 1.0),
        ("finished", 0, 1.0),
        ("finished", None, 0.0),
        ("finished", "  \n", 0.0),
        ("limit_reached", "here", 0.0),
        ("agent_failed", "here", 0.0),
    ],
)
def test_completion_is_an_end_of_its_own_with_an_answer(
    evidence: Build, outcome: str, answer: Any, value: float
) -> None:
    assert measure("completion", evidence(answer=answer, outcome=outcome)) == value


@pytest.mark.parametrize(
    ("calls", "case", "value"),
    [
        ([FIND, ADD], {"reference": CHAIN}, 1.0),
        ([FIND, ("add", {"item": "ham"})], {"reference": CHAIN}, 1.0),  # arguments are another metric's
        ([FIND, ("look", {}), ADD], {"reference": CHAIN}, 1.0),  # looking around is neutral
        ([FIND, ADD, ("close", {}), ("close", {})], {"reference": CHAIN}, 0.5),
        ([FIND, ("invented", {})], {"reference": CHAIN}, 0.5),
        ([FIND, ("look", {})], {"tools": ["find"]}, 0.5),
        ([FIND, ("close", {})], {"forbidden_tools": ["close"]}, 0.5),
        ([FIND], {"reference": CHAIN, "required_tools": ["close"]}, 0.5),
        ([], {"reference": CHAIN}, 0.0),  # zero calls pass nothing
        ([("look", {})], {"reference": CHAIN}, 0.0),
        ([], {"reference": []}, 1.0),
        ([ADD], {"reference": []}, 0.0),
        ([], {}, None),
        ([FIND, ("close", {}, "limit_reached")], {"reference": CHAIN}, 1.0),
    ],
)
def test_tool_selection_counts_right_tools(
    evidence: Build, calls: list[Any], case: dict[str, Any], value: float | None
) -> None:
    assert measure("tool_selection", evidence(calls, case)) == value


@pytest.mark.parametrize(
    ("calls", "reference", "value"),
    [
        ([FIND, ADD], CHAIN, 1.0),
        ([ADD, FIND], CHAIN, 2 * 1 / (2 + 2)),  # against the order: one pair
        ([FIND, ("look", {}), ADD], CHAIN, 1.0),
        ([FIND, *[ADD] * 50], CHAIN, 2 * 2 / (51 + 2)),  # a loop is not free
        ([*[FIND] * 50, ADD], CHAIN, 2 * 2 / (51 + 2)),
        ([], CHAIN, 0.0),
        ([("add", {})], CHAIN, 0.0),  # an empty call matches nothing
        ([FIND, ("add", {"item": "egg", "quantity": 2.0})], CHAIN, 1.0),
        ([("find", {"query": "egg", "limit": 5}), ADD], CHAIN, 1.0),  # the schema's default
        ([FIND, ("add", "{not json")], CHAIN, 2 * 1 / (2 + 2)),
        ([], [], 1.0),
        ([("look", {})], [], 1.0),
        ([ADD], [], 0.0),
        ([FIND], None, None),
    ],
)
def test_call_match_is_f1_of_the_best_pairing(
    evidence: Build, calls: list[Any], reference: Any, value: float | None
) -> None:
    assert measure("call_match", evidence(calls, {"reference": reference})) == value


DAG = [
    {"id": "look", "tool": "find", "arguments": {"query": "egg"}},
    {"id": "add", "tool": "add", "arguments": {"item": "egg", "tags": ["a", "b"]}, "after": ["look"]},
    {"id": "again", "tool": "look", "arguments": {"query": "egg"}, "after": ["add"]},
    {"id": "close", "tool": "close", "after": ["again"]},
]
EGG = ("add", {"item": "egg", "quantity": 1.0, "tags": ["b", "a"]})  # a default written out, a bag, and 1 = 1.0
CLOSE = ("close", {})


@pytest.mark.parametrize(
    ("calls", "value"),
    [
        ([EGG, CLOSE], 1.0),  # reads are neutral
        ([FIND, FIND, EGG, ("look", {"query": "ham"}), CLOSE], 1.0),
        ([EGG], 0.0),
        ([EGG, EGG, CLOSE], 0.0),
        ([CLOSE, EGG], 0.0),  # `close` comes after `add`, by way of a read
        ([(*EGG, "timeout"), EGG, CLOSE], 1.0),  # what was refused changed nothing
        ([EGG, (*CLOSE, "timeout")], 0.0),
        ([EGG, CLOSE, ("teleport", {})], None),  # nobody says whether it writes
        ([EGG, CLOSE, ("teleport", {}, "unknown_tool")], 1.0),
        ([("add", "no JSON"), CLOSE], 0.0),
    ],
)
def test_effect_match_asks_for_the_references_writes_and_no_other(
    evidence: Build, calls: list[Any], value: float | None
) -> None:
    assert value == measure("effect_match", evidence(calls, {"reference": DAG}))


def test_a_reference_without_writes_asks_that_nothing_be_changed(evidence: Build) -> None:
    case = {"reference": DAG[:1]}
    assert 1.0 == measure("effect_match", evidence([], case))
    assert 0.0 == measure("effect_match", evidence([FIND, CLOSE], case))
    assert measure("effect_match", evidence([FIND])) is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("transfer_to_human_agents", 1.0),
        ("escalate", 1.0),
        ("handOffToSupport", 1.0),
        ("hand_over", 1.0),
        ("transfer_funds", 0.0),
    ],
)
def test_a_hand_over_to_a_person_is_no_write_whatever_it_says(evidence: Build, name: str, value: float) -> None:
    made = evidence([EGG, CLOSE, (name, {"item": "please help"})], {"reference": DAG})
    tools = (*made.tools, made.tools[-1].model_copy(update={"name": name}))
    assert value == measure("effect_match", made.model_copy(update={"tools": tools}))


def test_an_idempotent_write_made_again_at_once_changes_nothing(evidence: Build) -> None:
    made = evidence([EGG, CLOSE, CLOSE], {"reference": DAG})
    listed = {"annotations": {"idempotentHint": True}}
    tools = tuple(tool.model_copy(update={"listed": listed}) if tool.name == "close" else tool for tool in made.tools)
    assert 0.0 == measure("effect_match", made)
    assert 1.0 == measure("effect_match", made.model_copy(update={"tools": tools}))


def test_two_calls_of_one_tool_differ_and_repeats_do_not_vanish(evidence: Build) -> None:
    twice = [
        {"id": "1", "tool": "add", "arguments": {"item": "a"}},
        {"id": "2", "tool": "add", "arguments": {"item": "b"}},
    ]
    both = [("add", {"item": "b"}), ("add", {"item": "a"})]

    assert measure("call_match", evidence(both, {"reference": twice})) == 1.0
    assert measure("call_match", evidence(both[:1] * 2, {"reference": twice})) == 0.5


def test_parallel_and_sequential_calls_of_the_same_kind_are_alike(evidence: Build) -> None:
    apart = evidence([FIND, ADD], {"reference": CHAIN})
    steps = apart.trial.trajectory.steps
    one = steps[0].model_copy(
        update={"calls": apart.trial.trajectory.calls, "observations": tuple(o for s in steps for o in s.observations)}
    )
    trajectory = apart.trial.trajectory.model_copy(update={"steps": (one,)})
    together = apart.model_copy(update={"trial": apart.trial.model_copy(update={"trajectory": trajectory})})

    alike = [name for name in METRICS if name != "steps"]
    assert [measure(name, together, True) for name in alike] == [measure(name, apart, True) for name in alike]
    assert (measure("steps", together), measure("steps", apart)) == (1.0, 2.0)


@pytest.mark.parametrize(
    ("calls", "value"),
    [
        ([FIND, ADD], 1.0),
        ([("add", {"item": "egg", "quantity": 2.0})], 1.0),
        ([("add", {"item": "egg", "quantity": True})], 0.0),
        ([FIND, ("add", {})], 0.5),
        ([FIND, ("add", {"item": "egg", "size": "big"})], 0.5),
        ([FIND, ("add", "{")], 0.5),
        ([FIND, ("invented", {})], 1.0),
        ([("invented", {})], None),
        ([], None),
    ],
)
def test_parameter_validity_follows_the_schema(evidence: Build, calls: list[Any], value: float | None) -> None:
    assert measure("parameter_validity", evidence(calls)) == value


@pytest.mark.parametrize(
    ("calls", "case", "success", "value"),
    [
        ([FIND, ADD], {"reference": CHAIN}, True, 1.0),
        ([FIND] * 3 + [ADD], {"reference": CHAIN}, True, 0.5),
        ([ADD], {"reference": CHAIN}, True, 2.0),  # better than the reference, and says so
        ([FIND, ADD], {"reference": CHAIN}, False, None),  # giving up early is not efficient
        ([FIND], {}, True, None),
        ([], {"reference": ()}, True, 1.0),
        ([FIND], {"reference": ()}, True, 0.0),
        ([], {"reference": CHAIN}, True, None),
    ],
)
def test_step_efficiency_is_optimal_by_actual(
    evidence: Build, calls: list[Any], case: dict[str, Any], success: bool, value: float | None
) -> None:
    assert measure("step_efficiency", evidence(calls, case), success) == value


@pytest.mark.parametrize(
    ("calls", "success", "value"),
    [
        ([FIND, ADD], None, None),
        ([("add", {"item": "x"}, "tool_error"), ADD], None, 1.0),
        ([("add", {"item": "x"}, "tool_error")], None, 0.0),
        ([("add", {"item": "x"}, "tool_error")], True, 0.0),  # ignored, and luckily not needed
        ([("add", {"item": "x"}, "tool_error"), ("add", {"item": "x"})], True, 1.0),  # the very same, which helped
        ([("add", {"item": "x"}, "timeout"), ("add", {"item": "x"})], None, 1.0),  # and right after a timeout
        ([("add", "{", "unparsable_arguments"), ("add", "{", "unparsable_arguments"), ADD], None, 1.0),
        ([("add", {"item": "x"}, "limit_reached")], None, None),
    ],
)
def test_recovery_is_what_was_made_of_errors(
    evidence: Build, calls: list[Any], success: bool | None, value: float | None
) -> None:
    assert measure("recovery", evidence(calls), success) == value


@pytest.mark.parametrize(
    ("calls", "case", "trial", "success", "ending"),
    [
        ([FIND, ADD], {"reference": CHAIN}, {}, True, "success_stop"),
        ([FIND, ADD], {"reference": CHAIN}, {}, False, "success_stop"),
        ([ADD], {"reference": CHAIN}, {}, True, "success_stop"),  # another good way
        ([FIND], {"reference": CHAIN}, {}, False, "premature"),
        ([FIND, ADD, ADD], {"reference": CHAIN}, {}, True, "overrun"),
        ([FIND, ADD, ("look", {})], {"reference": CHAIN}, {}, True, "success_stop"),
        ([FIND, ADD], {"reference": CHAIN}, {"outcome": "limit_reached"}, True, "limit"),
        ([FIND, ADD], {"reference": CHAIN}, {"outcome": "agent_failed"}, True, "crash"),
        ([FIND, ADD], {"reference": CHAIN}, {"answer": " "}, True, "no_answer"),
        ([FIND], {"required_tools": ["add"]}, {}, False, "premature"),
        ([("look", {})] * 3, {}, {"outcome": "limit_reached"}, False, "loop"),
        ([("look", {})] * 3, {}, {"outcome": "agent_failed"}, False, "loop"),
        ([("look", {})] * 3, {}, {"answer": " "}, False, "loop"),
        ([("look", {})] * 3, {"reference": CHAIN}, {}, False, "premature"),  # it came to an end of its own
        ([*[("look", {})] * 3, FIND], {}, {"outcome": "limit_reached"}, False, "limit"),  # it had got out
        ([], {}, {"outcome": "limit_reached"}, False, "limit"),
    ],
)
def test_termination_names_how_it_ended(
    evidence: Build, calls: list[Any], case: dict[str, Any], trial: dict[str, Any], success: bool, ending: str
) -> None:
    shown = evidence(calls, case, **trial)
    verdicts = (Verdict(check="k", verifier="v", version="1", passed=success, reason=""),)

    value, explanation = METRICS["termination"]().measure(shown.model_copy(update={"verdicts": verdicts}))

    assert (value, explanation) == (1.0 if ending == "success_stop" else 0.0, ending)


def test_where_nothing_tells_when_to_stop_termination_is_not_known(evidence: Build) -> None:
    assert measure("termination", evidence([FIND]), False) is None


@pytest.mark.parametrize("weird", [float("nan"), float("inf"), "\ud800", [[[]]], 10**400])
def test_no_argument_that_an_agent_can_send_breaks_a_metric(evidence: Build, weird: Any) -> None:
    shown = evidence(
        [("add", {"item": weird}), ("find", weird if isinstance(weird, str) else "x")], {"reference": CHAIN}
    )

    assert measure("parameter_validity", shown) == (0.5 if weird == "\ud800" else 0.0)
    assert measure("call_match", shown) == 0.0
