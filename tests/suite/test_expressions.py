"""Expressions mean what Python's `re` says, and are asked within a limit of processor time."""

import re
import threading
import time

import pytest

from harness.errors import OutOfTime
from harness.suite.expressions import SECONDS, check_expression, cut, finds, fits
from harness.suite.paths import found_at, selects
from harness.suite.schemas import Schema

NESTED = r"(a+)+$"
HOSTILE = "a" * 2000 + "!"
FOREVER = [NESTED, r"(a|a)*$", r"(?x)(a +) *$", r"(a+)+b\1"]


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (r"(?i)(?:total|sum)\s+(?:is\s+)*\d+", "x " * 500 + "The TOTAL is 42."),
        (r"(\w)\1(?!\1)", "abcc\ud800 déjà ²½ _"),
        (r"\b\w+\b", "ff Ǆ " * 50),
        (r"(?:é|e)+\Z", "cafe" * 300 + "é\u2028é"),
        (r"(?s)^.*b.*c.*$", "a\nb\n" * 200),
        (r"(?P<y>\d{4})-\d\d(?=-)", "on 2026-01-31"),
        ("", ""),
    ],
)
def test_an_expression_means_what_re_says(expression: str, text: str) -> None:
    assert (re.search(expression, text) is not None) == finds(expression, text, field="f")
    assert (re.fullmatch(expression, text, re.S) is not None) == fits(expression, text, field="f", flags=re.S)
    assert re.sub(expression, "", text) == cut(expression, text, field="f")


@pytest.mark.parametrize("expression", ["(a", "[a", "a{99999999999999}", "(" * 5000 + ")" * 5000])
def test_what_cannot_be_compiled_is_refused_in_words(expression: str) -> None:
    with pytest.raises(ValueError, match=r"^invalid regular expression: "):
        check_expression(expression)


@pytest.mark.parametrize(
    ("asked", "expression"),
    [*((finds, expression) for expression in FOREVER[:2]), (fits, "(a|aa)+"), (cut, NESTED)],
)
def test_what_may_take_for_ever_ends_and_names_field_and_remedy(asked, expression: str) -> None:
    began = time.process_time()
    with pytest.raises(OutOfTime) as raised:
        asked(expression, HOSTILE, field="when.regex")
    assert time.process_time() - began < 4 * SECONDS
    assert re.search(rf"^when\.regex: {re.escape(repr(expression))}.*\b2001\b", str(raised.value))
    assert raised.value.remedy is not None


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ({"items": {"pattern": NESTED}}, [HOSTILE]),
        ({"items": {"pattern": r"(a|a)*$"}}, ["a" * 14 + "b"] * 50_000),  # each is soon answered
        ({"patternProperties": {NESTED: {"type": "integer"}}}, {HOSTILE: 1}),
        ({"unevaluatedProperties": False, "$ref": "#/$defs/x", "$defs": {"x": {"patternProperties": {NESTED: {}}}}},
         {HOSTILE: 1}),
    ],
)  # fmt: skip
def test_a_schema_is_asked_within_one_limit(schema, value) -> None:
    began = time.process_time()
    with pytest.raises(OutOfTime, match=r"^parameters\."):
        Schema(schema, field="parameters").problem(value)
    assert time.process_time() - began < 4 * SECONDS


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"patternProperties": {"^a": {"type": "integer"}}}, {"a1": 1, "b": "x"}, {"a1": "x"}),
        ({"patternProperties": {"^a": {"minimum": 2}}, "properties": {"ab": {}}}, {"ab": 2}, {"ab": 1}),
        ({"patternProperties": {"^a": {}}, "additionalProperties": False}, {"a1": 1}, {"b": 1}),
        ({"patternProperties": {"^a": {}, "b$": {"type": "null"}}}, {"a": 1, "ab": None}, {"ab": 1}),
        ({"allOf": [{"patternProperties": {"^a": {}}}], "unevaluatedProperties": False}, {"a1": 1}, {"b": 1}),
        ({"patternProperties": {"": {"patternProperties": {"^a": False}}}}, {"x": {"b": 1}}, {"x": {"a": 1}}),
        ({"properties": {"patternProperties": {"type": "null"}}, "patternProperties": {"^x": {}}},
         {"patternProperties": None}, {"patternProperties": 1}),
        ({"enum": [{"patternProperties": 1}], "patternProperties": {"^x": {}}}, {"patternProperties": 1}, {"x": 1}),
        ({"items": {"pattern": "^a+$"}}, ["aa", 1], ["b"]),
    ],
)  # fmt: skip
def test_the_members_of_an_object_are_judged_by_the_expressions_for_their_names(schema, good, bad) -> None:
    made = Schema(schema, field="parameters")
    assert made.problem(good) is None
    assert made.problem(bad) is not None
    assert made.problem(good) is None


EITHER = "(a|a)+$"
PATHS = [f"$.items[?search(@.name, '{EITHER}')]", f"$.items[?match(@.name, '{EITHER}')]",
         "$.items[?search(@.name, @.by)]"]  # fmt: skip


@pytest.mark.parametrize("path", PATHS)
def test_a_path_is_asked_within_the_limit(path: str) -> None:
    document = {"items": [{"name": HOSTILE, "by": EITHER}]}
    began = time.process_time()
    with pytest.raises(OutOfTime, match=r"^body: "):
        found_at(path, document, field="body")
    assert time.process_time() - began < 4 * SECONDS


@pytest.mark.parametrize("path", PATHS)
def test_a_strict_path_is_asked_within_the_limit(path: str) -> None:
    with pytest.raises(OutOfTime, match=r"^eligibility: "):
        selects(path, {"items": [{"name": HOSTILE, "by": EITHER}]}, field="eligibility")


@pytest.mark.parametrize("path", PATHS)
def test_what_a_path_can_tell_soon_it_tells(path: str) -> None:
    one = {"name": "aaa", "by": EITHER}
    assert [one] == found_at(path, {"items": [one, {"name": "b", "by": EITHER}]}, field="body")


def test_other_threads_go_on_while_one_is_asked() -> None:
    def ask() -> None:
        with pytest.raises(OutOfTime):
            finds(NESTED, HOSTILE, field="f")

    asking = threading.Thread(target=ask)
    asking.start()
    rounds = 0
    while asking.is_alive():
        rounds += 1
        time.sleep(0.005)
    assert rounds > 10
