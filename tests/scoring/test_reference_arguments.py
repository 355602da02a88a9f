"""Calls held against reference calls: what arguments are the same, and what a failed check says."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import ValidationError

from harness.scoring.arguments import call_key
from harness.scoring.evidence import Evidence
from harness.scoring.registry import METRICS, VERIFIERS
from harness.scoring.scorer import score_trial
from harness.suite.cases import ReferenceCall
from harness.suite.suites import Suite
from harness.suite.tools import ToolSpec, values_at, without

Build = Callable[..., Evidence]
MakeSuite = Callable[..., Suite]

BOOK = {
    "type": "object",
    "properties": {
        "city": {"type": "string"},
        "nights": {"type": "integer", "default": 1},
        "note": {"type": ["string", "null"]},
        "code": {"anyOf": [{"type": "string"}, {"type": "null"}], "default": None},
        "class": {"enum": ["a", "b"]},
        "free": {},
        "needed": {"type": "string"},
        "ids": {"type": "array", "uniqueItems": True},
        "bag": {"type": "array", "x-unordered": True},
    },
    "required": ["city", "needed"],
}
TOOL = ToolSpec.model_validate({"name": "book", "server": "s", "http": {"path": "/book"}, "parameters": BOOK})


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ({"nights": None}, {}, True),
        ({"nights": None}, {"nights": 1}, True),
        ({"nights": None}, {"nights": 2}, False),
        ({"class": None}, {}, True),
        ({"code": None}, {}, True),
        ({"note": None}, {}, False),  # null is a value of its own there
        ({"free": None}, {}, False),
        ({"needed": None}, {}, False),
        ({"other": None}, {}, False),
        ({"ids": [1, 2]}, {"ids": [2, 1]}, False),
        ({"bag": [1, 2]}, {"bag": [2, 1]}, True),
        ({"city": "Z\u00fcrich"}, {"city": "Zu\u0308rich"}, True),
        ({"city": "New\u00a0York"}, {"city": "New York"}, True),
        ({"city": "NewYork"}, {"city": "New York"}, False),
        ({"city": "12"}, {"city": "\uff11\uff12"}, True),
        ({"city": "L\u2019Aquila"}, {"city": "L'Aquila"}, True),
        ({"city": 12}, {"city": "12"}, False),
        ({"city": 9007199254740993}, {"city": 9007199254740992}, False),
    ],
)
def test_arguments_are_the_same_by_the_schema(one: dict[str, Any], other: dict[str, Any], same: bool) -> None:
    assert (call_key(TOOL, "book", one) == call_key(TOOL, "book", other)) is same


REFERENCE = [
    {"id": "look", "tool": "find", "arguments": {"query": "egg"}, "any_of": {"query": ["eggs"], "limit": [7]}},
    {"id": "buy", "tool": "add", "arguments": {"item": "egg"}, "after": ["look"]},
]


@pytest.mark.parametrize(
    ("look", "right"),
    [
        ({"query": "egg"}, True),
        ({"query": "eggs"}, True),
        ({"query": "eggs", "limit": 7}, True),
        ({"query": "ham"}, False),
        ({"query": "egg", "limit": 6}, False),
    ],
)
@pytest.mark.parametrize("mode", ["strict", "ordered", "unordered", "dag"])
def test_a_reference_argument_may_have_alternatives(
    evidence: Build, mode: str, look: dict[str, Any], right: bool
) -> None:
    shown = evidence([("find", look), ("add", {"item": "egg"})], {"reference": REFERENCE})

    assert VERIFIERS["trajectory"].model_validate({"mode": mode}).verify(shown)[0] is right
    assert (METRICS["call_match"]().measure(shown)[0] == 1) is right


def test_an_alternative_of_one_call_is_none_of_another(evidence: Build) -> None:
    both = [{"id": "1", "tool": "find", "arguments": {"query": "a"}, "any_of": {"query": ["b"]}}]
    both += [{"id": "2", "tool": "find", "arguments": {"query": "b"}, "any_of": {"query": ["c"]}}]
    shown = evidence([("find", {"query": "a"}), ("find", {"query": "a"})], {"reference": both})

    assert VERIFIERS["trajectory"].model_validate({"mode": "unordered"}).verify(shown)[0] is False


def test_null_among_the_alternatives_leaves_the_argument_out() -> None:
    call = ReferenceCall(id="1", tool="t", arguments={"a": 1, "b": 2}, any_of={"b": (None, 3)})
    absent = ReferenceCall(id="1", tool="t", arguments={"a": 1}, any_of={"b": (3,)})

    assert list(call.variants) == [{"a": 1, "b": 2}, {"a": 1}, {"a": 1, "b": 3}]
    assert list(absent.variants) == [{"a": 1}, {"a": 1, "b": 3}]


def test_too_many_combinations_are_refused() -> None:
    with pytest.raises(ValidationError, match="combinations"):
        ReferenceCall(id="1", tool="t", any_of={str(place): (1, 2, 3) for place in range(5)})


@pytest.mark.parametrize(
    ("calls", "parameters", "said"),
    [
        (
            [("find", {"query": "egg"}), ("add", {"item": "egg", "quantity": 3})],
            {},
            "the reference call 'buy' (add) and call 2: quantity is 3, not 1",
        ),
        ([("find", {"query": "egg"})], {}, "the reference call 'buy' (add) has no counterpart"),
        (
            [("add", {"item": "egg"}), ("find", {"query": "egg"})],
            {"mode": "ordered"},
            "the reference call 'look' (find) and call 2: it was made out of order",
        ),
        (
            [("find", {"query": "egg"}), ("add", {"item": "egg"}), ("close", {})],
            {},
            "call 3 (close) is none of the reference",
        ),
        ([("add", "{broken"), ("find", {"query": "egg"})], {}, "call 1: the arguments are not a JSON object"),
        ([("close", {})], {"mode": "subset"}, "call 1 (close) is none of the reference"),
    ],
)
def test_a_failed_check_names_the_first_call_and_argument(
    evidence: Build, calls: list[Any], parameters: dict[str, Any], said: str
) -> None:
    passed, reason, _ = (
        VERIFIERS["trajectory"].model_validate(parameters).verify(evidence(calls, {"reference": REFERENCE}))
    )

    assert passed is False
    assert reason.endswith(said)


def test_a_long_reason_is_cut(evidence: Build, suite: MakeSuite) -> None:
    rules = [f"require tool:{'x' * 50}{place}" for place in range(2000)]
    spec = {"name": "way", "verifier": "rules", "with": {"rules": rules}}
    (verdict,) = score_trial(evidence(), suite([{"checks": [spec]}])).verdicts

    assert verdict.passed is False
    assert len(verdict.reason) < 2_100
    assert "characters left out" in verdict.reason


def test_a_star_in_a_pointer_matches_members_of_objects_too() -> None:
    value = {"rows": {"a": {"at": 1, "id": 7}, "b": {"at": 2}}, "list": [{"at": 3}]}

    assert values_at(value, "/rows/*/at") == (1, 2)
    assert values_at(value, "/*/*/at") == (1, 2, 3)
    assert without(value, "/rows/*/at") == {"rows": {"a": {"id": 7}, "b": {}}, "list": [{"at": 3}]}
