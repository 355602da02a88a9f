"""What a call brought: whether its result tells an answer that the call itself did not contain."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.scoring.evidence import Evidence
from harness.scoring.failures.reading import read
from harness.scoring.failures.signals import INFORMATIVE, gives, new_atoms

PAGE = {"text": "The bridge was opened by Elm Ltd in 1937, for 1.25 pounds."}


@pytest.mark.parametrize(
    ("asked", "answer", "told_it"),
    [
        ("bridge", "1937", True),
        ("bridge", "opened in 1937", True),  # all of its long words and numbers
        ("bridge", "in 1937 opened", True),  # in whatever order
        ("bridge", "closed in 1937", False),
        ("bridge", "Elm", True),
        ("bridge", "El", False),  # a part of a word is not told
        ("bridge", "1.2", False),  # nor is a part of a number
        ("bridge", "1.25", True),
        ("bridge", " ", False),
        ("bridge 1937", "1937", False),  # the call had it
        ("who is elm", "Elm", False),
        ("bridge 1937", "opened in 1937", True),  # it had a part
    ],
)
def test_a_result_gives_an_answer_that_was_not_asked_with(
    told: Callable[..., Evidence], asked: str, answer: str, told_it: bool
) -> None:
    call = ("call", "get_stock", {"item_id": asked})
    [act] = read(told((*call, PAGE))).acts
    assert told_it == gives(act, answer)
    [failed] = read(told((*call, PAGE, "broken"))).acts
    [unrecorded] = read(told(call)).acts
    assert (False, False) == (gives(failed, answer), gives(unrecorded, answer))
    [unparsed] = read(told(("call", "get_stock", asked, PAGE))).acts
    assert told_it == gives(unparsed, answer)


@pytest.mark.parametrize("shape", [lambda page: [page], lambda page: {"rows": [[page]]}])
def test_a_result_gives_what_stands_in_its_lists(told: Callable[..., Evidence], shape: Callable[[Any], Any]) -> None:
    [act] = read(told(("call", "get_stock", {"item_id": "bridge"}, shape(PAGE)))).acts
    [other] = read(told(("call", "get_stock", {"item_id": ["in", "1937"]}, shape(PAGE)))).acts
    assert (True, False) == (gives(act, "1937"), gives(other, "1937"))


def test_new_words_are_those_that_nobody_had_said_up_to_a_number_that_informs(told: Callable[..., Evidence]) -> None:
    def look(answer: Any, *error: str, asked: str = "lamp") -> tuple[Any, ...]:
        return ("call", "get_stock", {"item_id": asked}, answer, *error)

    evidence = told(
        ("user", "where is one"),
        ("agent", "two or three"),
        look("one two three four"),
        look("four five"),
        look("seven", "broken"),
        look("eight lamp nine", asked="nine"),
        look(" ".join(f"word{n}" for n in range(INFORMATIVE + 5))),
    )
    reading = read(evidence)
    assert [1, 1, 0, 1, INFORMATIVE] == list(new_atoms(reading, reading.acts).values())
