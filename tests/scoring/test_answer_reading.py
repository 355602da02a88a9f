"""Answers as a careful reader takes them: each class with right and wrong answers."""

import time
from collections.abc import Callable
from typing import Any

import pytest

from harness.scoring.evidence import Evidence
from harness.scoring.registry import VERIFIERS

Build = Callable[..., Evidence]

# fmt: off
NUMBERS: list[tuple[float, str, bool]] = [
    # signs
    (-5, "\u22125", True), (5, "\u22125", False), (5, "\u20135", False), (-5, "The change is \u20135 degrees.", True),
    (5, "\uff0d5", False), (5, "-$5", False), (-5, "\u2212 5", True), (5, "minus 5", False),
    (2, "7 \u2212 5 = 2", True), (5, "answer\u20145", True),
    (5, "- 5", True),  # an item of a list
    (5, "\u00b15", False),
    # thousands
    (1234, "1 234", True), (234, "1 234", False), (1234, "1\u00a0234", True), (234, "1\u202f234", False),
    (1234.5, "1.234,50", True), (50, "1.234,50", False), (1234.5, "1,234.50", True), (1234567, "1.234.567", True),
    (1234.5, "1'234.50", True), (1234567, "12,34,567", True), (300, "In 2024 300 came", True), (12.5, "12,5", True),
    (5, "12,5", False), (1234, "1,234", True), (1.234, "1.234", True),
    (1234, "12,5 + 1.234", True),  # the comma is this text's decimal mark
    (1.234, "12,5 + 1.234", False),
    (1.234, "1.5, 2,5, 1.234", False),  # the text has both marks
    (1234567.89, "1 234 567,89 \u20ac", True),
    # fractions, powers, scales
    (0.75, "3/4", True), (4, "3/4", False), (3, "3/4", False), (1.5, "1 1/2", True), (2, "1 1/2", False),
    (0.5, "\u00bd", True), (1.5, "1\u00bd", True), (1, "1\u00bd", False), (0.75, "3\u20444", True),
    (1500, "1.5 \u00d7 10^3", True), (3, "1.5 \u00d7 10^3", False), (100000, "10\u2075", True),
    (5, "10\u2075", False), (5, "5 million", False), (5_000_000, "5 million", True), (1, "7/0", False),
    # exact integers
    (9007199254740993, "9007199254740993", True), (9007199254740992, "9007199254740993", False),
    (9007199254740993, "9,007,199,254,740,993", True), (9007199254740992, "9007199254740993.0", False),
    (10**30, "1" + "0" * 30, True),
    # what is no number
    (12, "I counted 12 apples; the shop is open 24/7", True), (7, "open 24/7", False),
    (9, "The total is 9 (as of 2024-05-12)", True), (12, "The total is 9 (as of 2024-05-12)", False),
    (12, "2024-05-12", False), (9, "9 at 14:30", True), (30, "14:30", False), (9, "9 on May 12, 2024", True),
    (9, "9 by 12/05/2024", True), (9, "9, with version 1.2.3", True), (12, "12 cases of COVID-19", True),
    (9, "The total is 9 [1].", True), (2, "v2 of id2", False), (9, "There were 9 in 2024.", True),
    (2024, "There were 9 in 2024.", False), (2024, "It began in 2024.", True), (9, "9 (May 2024)", True),
    (9, "9 (see section 3)", True), (9, "9 (https://example.com/8?page=7)", True), (8, "8 out of 10", True),
    (10, "8 out of 10", False), (3, "3rd", True), (4, "4 teams came 3rd", True),
    # signs behind, cents left out, units
    (5, "5-", False), (30, "a 30-day plan", True), (1200, "1.200,- \u20ac", True), (1.2, "1.200,- \u20ac", False),
    (1e-5, "1e\u22125", True), (60, "60fps", True), (16, "16GiB", True),
    (1234.5, "\u0661\u0662\u0663\u0664\u066b\u0665", True),
    # ranges
    (8, "6 to 8", False), (7, "between 5 and 7", False), (8, "It rose from 6 to 8.", True), (20, "10-20", False),
    (10, "10\u201320", False), (15, "10-20 people, on average 15", True),
    # characters
    (12, "\uff11\uff12", True), (5, "\u0665", True), (1234, "1\u200b234", True), (5, "**5**", True),
    (5, "5\u00a0%", True),
    # several numbers
    (2, "1 and 2", True), (1, "1 and 2", False), (7, "3 cats and 4 dogs are 7 animals.", True), (3, "1,2,3", True),
    (2_000_000_000_000, "2 trillion", True), (5, "[1,5]", True), (5, "room 12, 5 beds", True), (9, "Nothing", False),
]
TEXTS: list[tuple[dict[str, Any], str, bool]] = [
    ({"equals": "10 kg"}, "10\u00a0kg", True), ({"equals": "10 kg"}, "10kg", False),
    ({"equals": "blue sky"}, "blue\u200b sky", True), ({"equals": "don't"}, "don\u2019t", True),
    ({"equals": 'a "b"'}, "a \u201cb\u201d", True), ({"equals": "a 'b'"}, "a \u201cb\u201d", False),
    ({"equals": "order 12"}, "order \uff11\uff12", True), ({"equals": "order 12"}, "order \uff11\uff13", False),
    ({"equals": "one two"}, "one\r\ntwo", True), ({"equals": "one two"}, "one\n  two", True),
    ({"equals": "one two"}, "onetwo", False), ({"contains": "New York"}, "It is New\nYork.", True),
    ({"contains": "New York"}, "It is Newark.", False), ({"excludes": "don't"}, "I don\u2019t", False),
    ({"equals": "caf\u00e9"}, "cafe\u0301", True), ({"equals": "cafe"}, "caf\u00e9", False),
    ({"equals": "5\u00b2"}, "52", False), ({"equals": "e-mail..."}, "e\u2011mail\u2026", True),
    ({"contains": "-5"}, "It is \u22125.", True), ({"excludes": "-5"}, "It is \u22125.", False),
    ({"equals": "a-b"}, "a\u2014b", False), ({"equals": "office"}, "o\ufb03ce", True),
    ({"equals": "ab"}, "a\u200db", True), ({"excludes": "e-mail"}, "no e\u2011mail", False),
    ({"regex": "^a b$"}, "a\u00a0b", True), ({"regex": "^a b$"}, "A b", False),
    ({"regex": "^a b$", "ignore_case": True}, "A b", True), ({"regex": "\u201ca\u201d"}, "\u201ca\u201d", True),
]
VALUES: list[tuple[Any, Any, bool]] = [
    ({"a": 1}, '```json\n{"a": 1}\n```', True), ({"a": 1}, 'Here it is:\n```json\n{"a": 1}\n```\nDone.', True),
    ({"a": 1}, '```\n{"a": 2}\n```', False), ({"a": 1}, '```json\n{"a": 1}\n```\n```json\n{"a": 2}\n```', False),
    ({"a": 1}, '```python\n{"a": 1}\n```', False), ({"a": 1}, '```jsonc\n\ufeff{"a": 1}\n```', True),
    ({"a": 1}, '~~~ json\n{"a": 1}\n~~~', True), ({"a": 1}, '````json\n{"a": 1}\n````', True),
    ({"a": "~~~"}, '```\n{"a": "~~~"}\n```', True), ({"a": "```x```"}, '{"a": "```x```"}', True),
    ({"a": 1}, '\ufeff{"a": 1}', True),
    ({"a": 1}, '{"a": 2, "a": 1}', False), ({"a": "caf\u00e9"}, '{"a": "cafe\u0301"}', True),
    ({"caf\u00e9": 1, "f": 2}, '{"cafe\u0301": 1, "f": 2}', True), ({"a": "caf\u00e9"}, '{"a": "cafe"}', False),
    ({"a": "10 kg"}, '{"a": "10\u00a0kg"}', True), ({"a": "don't"}, {"a": "don\u2019t"}, True),
    ({"a": 9007199254740993}, '{"a": 9007199254740993}', True),
    ({"a": 9007199254740992}, '{"a": 9007199254740993.0}', False), ({"a": None}, "{}", False),
    ([1, 2], "[2, 1]", False),
]
# fmt: on


@pytest.mark.parametrize(("number", "answer", "right"), NUMBERS)
def test_a_number_is_read_as_a_careful_reader_does(evidence: Build, number: float, answer: str, right: bool) -> None:
    verifier = VERIFIERS["final_answer"].model_validate({"number": number})

    assert verifier.verify(evidence(answer=answer))[0] is right
    assert VERIFIERS["final_answer"]().verify(evidence(answer=answer, case={"expected_output": number}))[0] is right


@pytest.mark.parametrize(("rule", "answer", "right"), TEXTS)
def test_a_text_is_read_as_a_careful_reader_does(
    evidence: Build, rule: dict[str, Any], answer: str, right: bool
) -> None:
    assert VERIFIERS["final_answer"].model_validate(rule).verify(evidence(answer=answer))[0] is right


@pytest.mark.parametrize(("value", "answer", "right"), VALUES)
def test_json_is_read_as_a_careful_reader_does(evidence: Build, value: Any, answer: Any, right: bool) -> None:
    assert VERIFIERS["final_answer"].model_validate({"json": value}).verify(evidence(answer=answer))[0] is right


@pytest.mark.parametrize("part", ["1 234 ", "123", "-", "1,", "1.", " 12-", "1/", "[1,", "May 1, ", "1e9", "\u00bd"])
def test_a_long_answer_is_read_in_bounded_time(evidence: Build, part: str) -> None:
    began = time.process_time()
    VERIFIERS["final_answer"].model_validate({"number": 3}).verify(evidence(answer=part * 5_000))

    assert time.process_time() - began < 5
