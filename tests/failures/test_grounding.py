"""Where a value can have come from: what a name is, when it was given, and what it may have been copied from."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.scoring.evidence import Evidence
from harness.scoring.failures.diagnose import findings
from harness.scoring.failures.grounding import NEVER, Sources, atoms, is_identifier

NAMES = [
    "W2378156",
    "mia_li_3668",
    "ZFA04Y",
    "#W1000001",
    "KXQPLM",
    "1234",
    "a123",
    "AB1CD",
    "L-4417",
    "x@4711.example",
]
WORDS = ["lamp", "KXQPL", "KXQPLMN", "kxqplm", "123", "a12", "ab1cd", "AB1C", "-1234", "a" * 63 + "1234", "Elm Street"]
COMPUTED = [
    "2024-06-11",
    "12:30",
    "1204.50",
    "1e10",
    "5000-6000",
    "v2.10.3",
    "1500th",
    "mid-1990s",
    "1000ms",
    "0xDEADBEEF",
]
COMPUTED += [
    "10:45pm",
    "1,234,567",
    "1999",
    "2019/2020",
    "FY2024",
    "2024-W12",
    "2024Q3",
    "USD1200",
    "2024-05-01T10:00:00Z",
]


@pytest.mark.parametrize("value", NAMES)
def test_a_name_that_some_system_gave_out_has_digits_or_six_capitals(value: str) -> None:
    assert is_identifier(value)


@pytest.mark.parametrize("value", [*WORDS, *COMPUTED])
def test_words_and_what_can_be_computed_are_no_names(value: str) -> None:
    assert not is_identifier(value)


def test_atoms_are_runs_of_letters_and_digits_without_case() -> None:
    assert ["mia", "li", "3668"] == atoms("Mia_Li-3668!")
    assert ["strasse", "7"] == atoms("Straße_7")


def sources(*observed: Any, told: str = "") -> Sources:
    """What was told at the moment 0, and observed from 1 on."""
    found = Sources()
    found.tell(told, 0)
    for moment, content in enumerate(observed, 1):
        found.observe(content, moment)
    return found


def nested(depth: int) -> Any:
    return "K7001" if not depth else [nested(depth - 1)]


def test_a_value_is_grounded_after_the_moment_at_which_all_of_it_was_given() -> None:
    given = sources({"mia": ["li"]}, {"n": 3668}, told="K1001")
    assert [0, 1, 2, NEVER] == [given.since(one) for one in ("K1001", "li", "mia_li_3668", "mia_lo")]
    assert [False, True] == [given.grounded("mia_li_3668", moment) for moment in (2, 3)]
    assert [False, False, True] == [given.observed(one, 2) for one in ("K1001", "3668", "li")]
    assert -1 == given.since("")


@pytest.mark.parametrize(
    ("content", "value", "known"),
    [
        ("W2378156", "2378156", True),  # people leave the letters out
        ("2378156", "W2378156", True),
        ("W237", "237", False),  # too short to be more than a number
        ("1,234,567", "1234567", True),
        ("1,234", "1234567", False),
        ([True, None, 4.5], "true", False),
        (nested(16), "K7001", True),
        (nested(17), "K7001", False),
        ('{"a": "x\\nAB1CD"}', "AB1CD", True),  # JSON as text: an escaped line end is no letter
        ("x\\nAB1CD", "AB1CD", True),
    ],
)
def test_values_are_known_in_the_spellings_in_which_they_are_used(content: Any, value: str, known: bool) -> None:
    assert known == sources(content).grounded(value, 9)


@pytest.mark.parametrize(
    ("given", "value", "lookalike"),
    [
        ("L4417", "L4471", "l4417"),  # two characters of five
        ("4417", "4471", None),  # of four, one
        ("4417", "4418", "4417"),
        ("441", "442", None),
        ("x-441", "x-442", "441"),  # three are enough beside a part that is known
        ("x-4417", "y-4418", None),
        ("ab-4417-12345", "ab-4418-12346", "4417 12345"),
        ("ab-4417-12345", "ab-4418-12399", None),
        ("L44170", "L4417", "l44170"),  # one that is left out
        ("L4417", "L44170", "l4417"),
        ("L441700", "L4417", None),
        ("L4417", "LA417", None),  # a letter for a digit is another shape
        ("W2378156", "2378157", "2378156"),
        ("L4417", "L9981", None),
    ],
)
def test_a_value_was_copied_wrongly_where_one_or_two_characters_differ(
    given: str, value: str, lookalike: str | None
) -> None:
    assert lookalike == sources(given).lookalike(value, 9)
    assert sources(given).lookalike(value, 1) is None


@pytest.mark.parametrize(
    ("first", "second", "carried"),
    [
        (("none left",), "Q7700001", True),
        (({"id": "Q7700001"},), "Q7700001", False),  # the answer confirms it
        (({"id": "Q7700001"}, "no such item"), "Q7700001", True),  # an error does not
        (("none left",), "lamp", False),
    ],
)
def test_a_value_from_nowhere_that_no_answer_confirmed_is_carried_on(
    told: Callable[..., Evidence], first: tuple[Any, ...], second: str, carried: bool
) -> None:
    look = ("call", "get_stock", {"item_id": "Q7700001"}, *first)
    order = ("call", "get_order", {"order_id": second}, "none")
    facts, hints = findings(told(("user", "help me"), look, order, look, task="Please help me.", failed=True))
    found = [(one.origin_step, one.dependent_steps) for one in (*facts, *hints) if one.kind == "invented_value"]
    assert ([(1, (2, 3))] if carried else []) == found
