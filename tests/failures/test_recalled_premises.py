"""A name or a year that an agent recalled where it should have looked, and on which the end of a failed run rests."""

from collections.abc import Callable
from typing import Any

import pytest

from harness.suite.tools import ToolSpec

Diagnosed = Callable[..., Any]
TOOLS = [
    ToolSpec.model_validate(
        {"name": "search", "effect": "read", "server": "s", "http": {"path": "/"}, "parameters": {"type": "object"}}
    )
]
TASK = "Who is the spouse of the director of the film Silver Harbour?"


def _ask(words: str, answer: str) -> tuple[Any, ...]:
    return ("call", "search", {"input": words}, answer)


FILM = _ask("Silver Harbour", "Silver Harbour is a 1999 drama film set in Nova Scotia.")
PERSON = _ask("Martin Kessler", "Martin Kessler is a politician. He married Ann Fielding in 1988.")
ANSWER = ("agent", "It is Ann Fielding.")


def _premises(diagnosed: Diagnosed, *turns: Any, failed: bool = True) -> list[tuple[int, tuple[int, ...]]]:
    found = diagnosed(*turns, task=TASK, tools=TOOLS, failed=failed)
    return [(one.origin_step, one.dependent_steps) for one in found if one.kind == "carried_premise"]


def test_a_name_from_nowhere_whose_page_gave_the_answer_is_a_premise(diagnosed: Diagnosed) -> None:
    assert [(1, (2,))] == _premises(diagnosed, FILM, PERSON, ANSWER)


@pytest.mark.parametrize(
    "turns",
    [
        (_ask("Silver Harbour", "A film that Martin Kessler directed."), PERSON, ANSWER),
        (PERSON, FILM, ANSWER),
        (FILM, PERSON, ("agent", "I could not find it.")),
        (FILM, _ask("Harbour director", "He married Ann Fielding."), ANSWER),
    ],
    ids=["an answer had given the name", "the first query of all", "the answer is not from its page", "no full name"],
)
def test_a_name_that_is_known_or_that_nothing_rests_on_is_none(diagnosed: Diagnosed, turns: tuple[Any, ...]) -> None:
    assert [] == _premises(diagnosed, *turns)


def test_a_success_rests_on_no_premise(diagnosed: Diagnosed) -> None:
    assert [] == _premises(diagnosed, FILM, PERSON, ANSWER, failed=False)


@pytest.mark.parametrize(
    ("said", "found"),
    [
        ("The band was formed in 1987, so it is the older one.", True),
        ("The band was formed in 1999.", False),
        ("The tickets come to 1987 in total.", False),
        ("It was formed in 2024 - 37 = 1987.", False),
    ],
    ids=["from nowhere", "told by an answer", "no year", "computed"],
)
def test_a_year_from_nowhere_that_stands_again_is_a_premise(diagnosed: Diagnosed, said: str, found: bool) -> None:
    year = "1999" if "1999" in said else "1987"
    turns = (FILM, ("agent", said), _ask("another band", "nothing"), ("agent", f"It is the band of {year}."))
    assert ([(1, (3,))] if found else []) == _premises(diagnosed, *turns)
