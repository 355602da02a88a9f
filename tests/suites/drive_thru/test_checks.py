"""The formulas of the suite's checks, edge by edge."""

from itertools import permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.scoring.evidence import Evidence
from harness.scoring.scorecard import Scorecard
from harness.suite.cases import Case
from harness.traces.trajectory import Observation, Step, ToolCall, ToolFailure, Trajectory
from harness.traces.trial import Trial

LOOKUP, ADD = "lookup_menu_item", "add_item_to_order"


def line(item_id, quantity=1, size=None, modifiers=()):
    return {"item_id": item_id, "quantity": quantity, "size": size, "modifiers": list(modifiers)}


def lookup(*ids, fails=False):
    return (LOOKUP, {"query": "x"}, {"items": [{"id": item_id} for item_id in ids]}, fails)


def add(item_id, fails=False):
    return (ADD, {"item_id": item_id, "quantity": 1}, {"items": []}, fails)


def evidence(expected=None, actual=None, calls=(), answer=None):
    steps = []
    for index, (name, arguments, content, fails) in enumerate(calls):
        error = ToolFailure(type="tool_error", message="refused") if fails else None
        call = ToolCall(id=str(index), name=name, arguments=arguments)
        seen = Observation(call_id=str(index), content=content, error=error)
        steps.append(Step(index=index, source="agent", calls=(call,), observations=(seen,)))
    trajectory = Trajectory(trace_id="0", agent="test", steps=tuple(steps), final_output=answer)
    states = {} if actual is None else {"order": {"status": "open", "items": actual, "total_cents": 0}}
    trial = Trial(case_id="c", attempt=1, outcome="finished", trajectory=trajectory, states=states)
    wanted = None if expected is None else {"items": expected}
    return Evidence(case=Case(id="c", task="hello", expected=wanted), trial=trial, tools=())


def card(value, outcome="finished"):
    scores = [] if value is False else [{"metric": "order_correctness", "version": "1", "value": value}]
    return Scorecard.model_validate(
        {
            "case_id": "c", "attempt": 1, "category": "g", "outcome": outcome, "success": None,
            "scores": scores, "digest": "",
        }
    )  # fmt: skip


@pytest.mark.parametrize(
    ("expected", "actual", "value"),
    [
        ([], [], 1.0),
        ([], [line("a")], 0.0),
        ([line("a")], [], 0.0),
        ([line("a")], [line("a")], 1.0),
        ([line("a")], [line("b")], 0.0),
        ([line("a", 2, "large", ["x"])], [line("a", 2, "large", ["x"])], 1.0),
        ([line("a", 4)], [line("a", 1)], 0.4 + 0.3 / 4 + 0.2 + 0.1),
        ([line("a", 1)], [line("a", 4)], 0.4 + 0.3 / 4 + 0.2 + 0.1),
        ([line("a", size="large")], [line("a")], 0.9),
        ([line("a", modifiers=["x"])], [line("a")], 0.8),
        ([line("a")], [line("a", modifiers=["x"])], 0.8),
        ([line("a", modifiers=["x", "y"])], [line("a", modifiers=["y", "z"])], 0.8 + 0.2 / 3),
        ([line("a", modifiers=["x", "y"])], [line("a", modifiers=["y", "x"])], 1.0),
        ([line("a"), line("b")], [line("a")], 0.5),
        ([line("a")], [line("a"), line("b")], 0.5),
        ([line("a"), line("b")], [line("b"), line("a")], 1.0),
        ([line("a"), line("b"), line("c")], [line("a"), line("b"), line("d")], 2 / 3),
        ([line("a", 2), line("a", 1, "large")], [line("a", 1, "large"), line("a", 2)], 1.0),
        ([line("a"), line("a")], [line("a")], 0.5),
    ],
)
def test_an_order_is_as_correct_as_its_formula_says(checks, expected, actual, value):
    measured, _ = checks.OrderCorrectness().measure(evidence(expected, actual))
    assert measured == pytest.approx(value, abs=1e-12)


lines = st.builds(
    line,
    st.sampled_from(["a", "b"]),
    st.integers(1, 6),
    st.sampled_from([None, "small", "large"]),
    st.sets(st.sampled_from(["x", "y", "z"])),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(lines, max_size=5), st.lists(lines, max_size=5))
def test_no_pairing_of_lines_beats_the_one_that_is_scored(checks, expected, actual):
    score, _ = checks.OrderCorrectness().measure(evidence(expected, actual))
    assert score == pytest.approx(best_by_trying_all(expected, actual), abs=1e-12)


@settings(max_examples=50, deadline=None)
@given(st.lists(lines, max_size=6), st.lists(lines, max_size=6), st.randoms())
def test_the_sequence_of_lines_changes_not_one_bit_of_the_score(checks, expected, actual, random):
    score = checks.OrderCorrectness().measure(evidence(expected, actual))
    mixed = random.sample(expected, len(expected)), random.sample(actual, len(actual))
    assert checks.OrderCorrectness().measure(evidence(*mixed)) == score


@settings(max_examples=50, deadline=None)
@given(st.lists(lines, max_size=6))
def test_an_order_equal_to_the_expected_one_is_exactly_1(checks, expected):
    assert checks.OrderCorrectness().measure(evidence(expected, expected))[0] == 1.0
    assert checks.OrderMatches().verify(evidence(expected, expected))[0] is True


def best_by_trying_all(expected, actual):
    if not expected or not actual:
        return float(expected == actual)
    shorter, longer = sorted((expected, actual), key=len)
    pairings = ([*zip(shorter, some, strict=True)] for some in permutations(longer, len(shorter)))
    sums = (sum(likeness(one, other) for one, other in pairs) for pairs in pairings)
    return max(sums) / len(longer)


def likeness(one, other):
    if one["item_id"] != other["item_id"]:
        return 0.0
    mine, theirs = set(one["modifiers"]), set(other["modifiers"])
    jaccard = len(mine & theirs) / len(mine | theirs) if mine | theirs else 1.0
    quantities = sorted((one["quantity"], other["quantity"]))
    return 0.4 + 0.3 * quantities[0] / quantities[1] + 0.2 * jaccard + 0.1 * (one["size"] == other["size"])


def test_a_hundred_lines_of_one_item_are_paired_in_no_time(checks):
    many = [line("a", quantity) for quantity in range(1, 101)]
    assert checks.OrderCorrectness().measure(evidence(many, list(reversed(many))))[0] == 1.0


@pytest.mark.parametrize("metric", ["OrderCorrectness", "NoHallucinatedItems"])
def test_an_order_that_is_not_known_is_not_measured(checks, metric):
    assert getattr(checks, metric)().measure(evidence([line("a")], None))[0] is None


@pytest.mark.parametrize("metric", ["OrderCorrectness", "ToolCallAccuracy"])
def test_a_case_without_an_expected_order_is_not_measured(checks, metric):
    assert getattr(checks, metric)().measure(evidence(None, [line("a")]))[0] is None


@pytest.mark.parametrize(
    ("expected", "calls", "value"),
    [
        ([line("a")], [lookup("a"), add("a")], 1.0),
        ([line("a")], [lookup("a"), add("a"), lookup("b"), add("b")], 1.0),
        ([line("a")], [add("a"), lookup("a")], 0.5),
        ([line("a")], [lookup("a")], 0.3),
        ([line("a")], [add("a")], 0.3),
        ([line("a")], [], 0.0),
        ([line("a")], [("get_order", {}, {}, False)], 0.0),
        ([line("a")], [lookup("a"), add("a", fails=True)], 0.3),
        ([line("a")], [lookup("a", fails=True), add("a")], 0.3),
        ([], [], 1.0),
        ([], [lookup("a")], 1.0),
        ([], [lookup("a"), add("a")], 0.0),
        ([], [lookup("a"), add("a", fails=True)], 1.0),
    ],
)
def test_the_way_to_an_order_is_as_accurate_as_its_table_says(checks, expected, calls, value):
    assert checks.ToolCallAccuracy().measure(evidence(expected, [], calls))[0] == value


@pytest.mark.parametrize(
    ("calls", "actual", "value"),
    [
        ([], [], 1.0),
        ([lookup("a"), add("a")], [line("a")], 1.0),
        ([lookup("a", "b"), add("b")], [line("b")], 1.0),
        ([add("a"), lookup("a")], [line("a")], 0.0),
        ([lookup("a"), add("b")], [line("b")], 0.0),
        ([lookup("a"), add("b", fails=True)], [], 0.0),
        ([lookup("a", fails=True), add("a")], [line("a")], 0.0),
        ([lookup("a")], [line("b")], 0.0),
        ([(LOOKUP, {}, "no object", False), (ADD, {"item_id": 7}, None, True)], [], 1.0),
    ],
)
def test_an_item_that_no_lookup_showed_is_hallucinated(checks, calls, actual, value):
    assert checks.NoHallucinatedItems().measure(evidence([], actual, calls))[0] == value


def test_a_wrong_order_is_told_line_by_line(checks):
    seen = evidence([line("a", 2, "large", ["y", "x"])], [line("a"), line("b")])
    missing, extra = ["2 x large a (x, y)"], ["1 x a", "1 x b"]
    assert checks.OrderMatches().verify(seen) == (
        False,
        "missing: 2 x large a (x, y); extra: 1 x a; 1 x b",
        {"missing": missing, "extra": extra},
    )


@pytest.mark.parametrize(("answer", "passed"), [("Hello!", True), ("  ", False), (None, False), ({"a": 1}, False)])
def test_only_words_answer_a_guest(checks, answer, passed):
    assert checks.GuestAnswered().verify(evidence([], [], answer=answer))[0] is passed
