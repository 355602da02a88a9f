"""Checks of the way, not of the result: match modes, rules, tools and budgets; and answers by a function."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.errors import UsageError
from harness.scoring.evidence import Evidence
from harness.scoring.registry import VERIFIERS
from harness.scoring.scorer import build_scorer, score_trial
from harness.scoring.verifiers.calls import Rules
from harness.scoring.verifiers.probes import PathRule
from harness.suite.cases import CheckSpec
from harness.suite.paths import strict_path
from harness.suite.suites import Suite
from harness.traces.trajectory import Step, Usage

Build = Callable[..., Evidence]
MakeSuite = Callable[..., Suite]

CHAIN = [
    {"id": "1", "tool": "find", "arguments": {"query": "egg"}},
    {"id": "2", "tool": "look", "arguments": {"query": "egg"}},
    {"id": "3", "tool": "add", "arguments": {"item": "egg", "quantity": 2}, "after": ["1", "2"]},
]
FIND = ("find", {"query": "egg"})
LOOK = ("look", {"query": "egg"})
ADD = ("add", {"item": "egg", "quantity": 2})
ALL = [FIND, LOOK, ADD]
MODES = ("strict", "ordered", "unordered", "subset", "superset", "dag")


def verdict(name: str, evidence: Evidence, **parameters: Any) -> tuple[bool | None, str, dict[str, Any]]:
    found: tuple[bool | None, str, dict[str, Any]] = VERIFIERS[name].model_validate(parameters).verify(evidence)
    return found


def passing_modes(evidence: Evidence, **parameters: Any) -> set[str]:
    return {mode for mode in MODES if verdict("trajectory", evidence, mode=mode, **parameters)[0]}


@pytest.mark.parametrize(
    ("calls", "modes"),
    [
        (ALL, set(MODES)),
        ([LOOK, FIND, ADD], {"unordered", "subset", "superset", "dag"}),
        ([ADD, FIND, LOOK], {"unordered", "subset", "superset"}),
        ([FIND, ADD], {"subset"}),
        ([], set()),  # no call passes nothing
        ([FIND, ("find", {"query": "ham"}), LOOK, ADD], {"ordered", "superset", "dag"}),  # looking around
        ([*ALL, ADD], set()),  # a further write is not an extra that is free
        ([*[FIND] * 50, LOOK, ADD], set()),  # nor is a loop
        ([FIND, LOOK, ("add", {"item": "egg", "quantity": 2.0})], set(MODES)),
        ([FIND, LOOK, ("add", {"item": "egg", "quantity": True})], set()),
        ([FIND, LOOK, ("add", {})], set()),  # an empty call matches no call with arguments
        ([FIND, LOOK, ("add", "{not json")], set()),
        ([FIND, FIND, ADD], set()),  # one call of the reference is not met twice, nor another by it
    ],
)
def test_six_senses_of_the_same_calls(evidence: Build, calls: list[Any], modes: set[str]) -> None:
    assert passing_modes(evidence(calls, {"reference": CHAIN})) == modes


def test_an_empty_reference_is_met_by_no_call_in_every_sense(evidence: Build) -> None:
    assert passing_modes(evidence([], {"reference": []})) == set(MODES)
    assert passing_modes(evidence([ADD], {"reference": []})) == set()


def test_calls_of_one_parallel_step_have_no_order(evidence: Build) -> None:
    apart = evidence([LOOK, FIND, ADD], {"reference": CHAIN})
    steps = apart.trial.trajectory.steps
    both = steps[0].model_copy(
        update={
            "calls": (*steps[0].calls, *steps[1].calls),
            "observations": (*steps[0].observations, *steps[1].observations),
        }
    )
    trajectory = apart.trial.trajectory.model_copy(update={"steps": (both, steps[2])})
    together = apart.model_copy(update={"trial": apart.trial.model_copy(update={"trajectory": trajectory})})

    assert "strict" not in passing_modes(apart)
    assert "strict" in passing_modes(together)


def test_an_assignment_that_greed_misses_is_found(evidence: Build) -> None:
    twice = [
        {"id": "1", "tool": "add", "arguments": {"item": "egg"}},
        {"id": "2", "tool": "add", "arguments": {"item": "egg", "quantity": 3}},
    ]
    calls = [("add", {"item": "egg", "quantity": 3}), ("add", {"item": "egg", "quantity": 1})]

    assert passing_modes(evidence(calls, {"reference": twice})) >= {"unordered", "superset", "dag"}


def test_arguments_can_be_left_out_or_chosen(evidence: Build) -> None:
    other = evidence([FIND, LOOK, ("add", {"item": "egg", "quantity": 9})], {"reference": CHAIN})

    assert passing_modes(other) == set()
    assert passing_modes(other, arguments="ignore") == set(MODES)
    assert passing_modes(other, only={"add": ["item"]}) == set(MODES)


def test_partial_credit_is_the_share_of_what_was_asked_and_made(evidence: Build) -> None:
    half = verdict("trajectory", evidence([FIND, LOOK], {"reference": CHAIN}))
    assert (half[0], half[2]["credit"]) == (False, 2 * 2 / (2 + 3))
    assert verdict("trajectory", evidence([FIND, LOOK], {"reference": CHAIN}), at_least=0.8)[0] is True


def test_without_a_reference_the_way_cannot_be_told(evidence: Build) -> None:
    assert verdict("trajectory", evidence(ALL))[0] is None


@pytest.mark.parametrize(
    ("rule", "calls", "holds"),
    [
        ("find before add", [FIND, ADD], True),
        ("find before add", [ADD, FIND], False),
        ("find before add", [ADD], False),
        ("find before add", [FIND], True),
        ("never find after add", [FIND, ADD], True),
        ("never find after add", [FIND, ADD, FIND], False),
        ("never add before find", [FIND, ADD], True),
        ("never add before find", [ADD], False),
        ("require find", [ADD], False),
        ("require find 2 times", [FIND, FIND], True),
        ("find at most 1 time", [FIND, FIND], False),
        ("never close", [FIND], True),
        ("forbid find", [FIND], False),
        ('require add{"item": "egg"}', [ADD], True),
        ('require add{"item": "ham"}', [ADD], False),
        ("require tool:bash", [("bash", {})], True),
        ("never error", [("add", {}, "tool_error")], False),
        ("find before answer", [FIND], True),
        ("find before answer", [], False),
        ("require plan_create", [FIND], False),
    ],
)
def test_rules_of_the_process_hold_or_say_where_not(evidence: Build, rule: str, calls: list[Any], holds: bool) -> None:
    passed, reason, seen = verdict("rules", evidence(calls), rules=[rule])

    assert (passed, seen["credit"]) == (holds, float(holds))
    assert (reason == "all 1 rules hold") is holds


def with_steps(evidence: Evidence, *steps: Step) -> Evidence:
    trajectory = evidence.trial.trajectory.model_copy(update={"steps": steps})
    return evidence.model_copy(update={"trial": evidence.trial.model_copy(update={"trajectory": trajectory})})


def test_plans_are_events(evidence: Build) -> None:
    planned = with_steps(
        evidence(),
        Step(index=0, source="agent", plan=("look",), message="hello"),
        Step(index=1, source="agent", plan=("look again",), message="still here"),
    )

    rules = ["require plan_create 1 time", "plan_create before plan_update"]
    assert verdict("rules", planned, rules=rules)[0] is True


@pytest.mark.parametrize(
    ("check", "said"),
    [
        (
            {"name": "k", "verifier": "rules", "with": {"rules": ["find whenever add"]}},
            "is not a rule; a rule is one of",
        ),
        ({"name": "k", "verifier": "rules", "with": {"rules": ["fnid before add"]}}, "names 'fnid', which is neither"),
        ({"name": "k", "verifier": "trajectory", "with": {"mode": "loose"}}, "field 'with.mode'"),
        ({"name": "k", "verifier": "trajectory", "with": {"only": {"x": []}}}, "x is none of the suite's"),
        ({"name": "k", "verifier": "required_tools", "with": {"tools": ["x"]}}, "x is none of the suite's tools"),
        ({"name": "k", "verifier": "max_tokens", "with": {"limit": 0}}, "field 'with.limit'"),
        ({"name": "k", "verifier": "final_answer", "with": {"function": "absent.py:f"}}, "there is no file"),
    ],
)
def test_a_wrong_process_check_is_refused_before_anything_runs(
    suite: MakeSuite, check: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError) as caught:
        build_scorer(suite(checks=(CheckSpec.model_validate(check),)))

    assert said in caught.value.message


def test_required_and_forbidden_tools_are_the_cases_or_the_checks(evidence: Build) -> None:
    made = evidence([FIND, ("add", {}, "tool_error")], {"required_tools": ["find"], "forbidden_tools": ["close"]})

    assert verdict("required_tools", made)[0] is True
    assert verdict("required_tools", made, tools=["add"])[0] is True
    assert verdict("required_tools", made, tools=["add"], answered=True)[:2] == (
        False,
        "never answered without an error: add",
    )
    assert verdict("forbidden_tools", made)[0] is True
    assert verdict("forbidden_tools", made, tools=["find"])[:2] == (False, "called: find")
    assert verdict("required_tools", evidence())[0] is None
    assert verdict("forbidden_tools", evidence())[0] is None


def test_budgets_are_kept_broken_or_not_known(evidence: Build) -> None:
    spent = with_steps(
        evidence(case={"limits": {"tokens": 100, "steps": 2}}),
        Step(index=0, source="agent", message="a", usage=Usage(input_tokens=60, output_tokens=10)),
        Step(index=1, source="agent", message="b", usage=Usage(input_tokens=30)),
    )

    assert verdict("max_tokens", spent)[:2] == (True, "100 of 100 tokens")
    assert verdict("max_tokens", spent, limit=99)[0] is False
    assert verdict("max_tokens", evidence(), limit=9)[0] is None
    assert verdict("max_iterations", spent)[0] is True
    assert verdict("max_iterations", spent, limit=1)[:2] == (False, "2 of 1 iterations")


FUNCTIONS = """
def fits(answer, expected):
    return answer == expected, f"{answer!r} against {expected!r}"

def silly(answer, expected):
    return "perhaps"

def plain(answer, expected):
    return {"4": True, "5": False}.get(answer)
"""


def test_an_answer_is_judged_by_a_function_and_by_the_rules_beside_it(
    suite: MakeSuite, evidence: Build, tmp_path: Path
) -> None:
    (tmp_path / "own.py").write_text(FUNCTIONS)

    def passed(answer: Any, **parameters: Any) -> tuple[bool | None, str]:
        check = CheckSpec.model_validate({"name": "k", "verifier": "final_answer", "with": parameters})
        card = score_trial(evidence(answer=answer, case={"expected_output": "4"}), suite(checks=(check,)))
        return card.verdicts[0].passed, card.verdicts[0].reason

    assert passed("4", function="own.py:fits") == (True, "'4' against '4'")
    assert passed("5", function="own.py:fits") == (False, "'5' against '4'")
    assert passed("4", function="own.py:fits", contains="x")[0] is False
    assert passed("4", function="own.py:silly") == (None, "own.py:silly gave str, no truth value")
    told = {"4": (True, "accepts"), "5": (False, "refuses"), "6": (None, "cannot tell")}
    for answer, (held, word) in told.items():
        found = passed(answer, function="own.py:plain")
        assert (held, True) == (found[0], found[1].startswith(f"own.py:plain {word}"))
    assert passed(None, function="own.py:fits")[0] is False
    assert passed("about 3.99", number=4, tolerance=0.1)[0] is True
    assert passed('{"a": 1.0}', json={"a": 1})[0] is True
    assert passed("order 12", regex=r"order \d+")[0] is True
    assert passed("4")[0] is True


def test_a_rule_whose_arguments_are_nested_too_deeply_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON object"):
        Rules(rules=('never add{"a": ' + "[" * 100_000 + "}",))


def test_a_jsonpath_with_a_number_past_every_float_is_refused() -> None:
    with pytest.raises(ValueError, match="invalid JSONPath"):
        PathRule(path="$.a[?1e400 == 1]")
    with pytest.raises(ValueError, match="invalid JSONPath"):
        strict_path("$.a[?1e400 == 1]")


@pytest.mark.parametrize(
    ("paid", "allowed", "holds"),
    [
        (12345.67, "12345.67", True),
        (12345.71, "12345.67", False),  # equal in six digits
        ("12345.670", "12345.67", True),
        (123456789012345679, "123456789012345678", False),  # equal as floats
        (20, "20.0", True),
        ("0020", "20", False),  # a name
    ],
)
def test_the_numbers_of_a_rule_are_compared_exactly(evidence: Build, paid: Any, allowed: str, holds: bool) -> None:
    paying = evidence([("pay", {"amount": paid})])
    assert holds is verdict("rules", paying, rules=[f"pay(amount) in [{allowed}]"])[0]
