"""Data that an agent says that it assumes or makes up, and look-ups that a plan names by a tool."""

from collections.abc import Callable

import pytest

from harness.scoring.evidence import Evidence, Verdict
from harness.scoring.failures.diagnose import findings
from harness.suite.tools import ToolSpec

Found = Callable[..., list[tuple[str, int | None]]]
TASK = "What is the mean price of a season ticket for the water park?"
OPENING = ("agent", "Let us begin with the ticket prices of the park.")


@pytest.mark.parametrize(
    "words",
    [
        "Assuming we have the following pricing information, the mean is 120.",
        "Let's assume the following prices: 100, 120 and 140.",
        "Under the assumption that the file is complete, the mean is 120.",
        "From general knowledge the mean is 120.",
    ],
)
def test_what_an_agent_says_that_it_assumes_is_a_premature_commitment(found: Found, words: str) -> None:
    assert [("stated_assumption", 1)] == found(OPENING, ("agent", words), task=TASK, failed=True)


@pytest.mark.parametrize("words", ["I will simulate the extraction of the prices.", "I create a mock CSV file first."])
def test_data_that_an_agent_says_it_made_up_are_no_answer_of_a_tool(found: Found, words: str) -> None:
    kinds = [("made_up_data", 1), ("stated_assumption", 1)]
    assert kinds == sorted(found(OPENING, ("agent", words), task=TASK, failed=True))


@pytest.mark.parametrize(
    "words",
    [
        "If we assume that all of them lie, the first is a vampire.",
        "The mean cannot be told without placeholder values.",
        'The page says: "assuming we have the following prices".',
        "```python\n# Assuming we have the prices\n```",
        "We should not use hypothetical data here.",
    ],
)
def test_arguments_quotations_code_and_denials_assume_nothing(found: Found, words: str) -> None:
    assert {("failed_without_a_known_mode", None)} == set(found(OPENING, ("agent", words), task=TASK, failed=True))


def test_a_task_to_simulate_a_success_and_test_data_of_a_coding_agent_are_not_accused(
    found: Found, told: Callable[..., Evidence]
) -> None:
    said = ("agent", "I will simulate the results of the game.")
    assert [] == found(OPENING, said, task="Simulate the game and tell the mean of its results.")
    passed = Verdict(check="reward", verifier="reward", version="1", passed=True, reason="right")
    good = told(OPENING, ("agent", "Let's assume the following prices."), task=TASK)
    assert ((), ()) == findings(good.model_copy(update={"verdicts": (passed,)}))
    shell = ("call", "shell", {"command": "ls"}, "a.py")
    assert [] == found(OPENING, shell, ("agent", "I try it on a sample dataset first."), task=TASK)


def test_made_up_data_that_the_opening_hands_over_are_not_the_agents(found: Found) -> None:
    opening = ("agent", "The results so far were based on a mock dataset. Please validate them.")
    said = ("agent", "I validate the results, which were based on a mock dataset.")
    assert [("failed_without_a_known_mode", None)] == found(opening, said, task=TASK, failed=True)
    made = ("agent", "I create a mock CSV file first.")
    assert ("made_up_data", 2) in found(opening, said, made, task=TASK, failed=True)


def _reader(name: str) -> ToolSpec:
    return ToolSpec.model_validate(
        {"name": name, "effect": "read", "server": "s", "http": {"path": "/"}, "parameters": {"type": "object"}}
    )


def test_a_plan_that_names_a_tool_needs_it_and_a_survey_of_sources_needs_nothing(found: Found, hinted: Found) -> None:
    tools = [_reader("ticket_prices"), _reader("final_answer")]
    handed_in = ("call", "final_answer", {"answer": "120"}, "120")
    plan = ("agent", "1. Call `ticket_prices` for each park. 2. Take the mean of what it tells.")
    assert [("unsupported_answer", 1)] == found(plan, handed_in, task=TASK, tools=tools)
    assert [("plan_not_carried_out", 1)] == hinted(plan, handed_in, task=TASK, tools=tools)
    survey = (
        "agent",
        "### Facts to look up\n- Prices. Where to find: websites and articles.\n- Maths textbooks online.",
    )
    assert [] == found(survey, handed_in, task=TASK, tools=tools)
    assert [] == hinted(survey, handed_in, task=TASK, tools=tools)
