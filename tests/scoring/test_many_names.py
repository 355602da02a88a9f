"""Tools whose names the agent chooses: the rows by tool are bounded, and no declared tool is left out of them."""

from collections.abc import Callable

from harness.reports.figures import by_tool
from harness.scoring.evidence import Evidence
from harness.scoring.scorecard import Scorecard
from harness.scoring.scorer import score_trial
from harness.suite.suites import Suite


def _card(evidence: Callable[..., Evidence], suite: Callable[..., Suite], first: int, case: str = "c") -> Scorecard:
    """2,000 calls of names that are not declared, one of each, and one call of a tool that is."""
    calls = [(f"made up {number}", {"query": "egg"}) for number in range(first, first + 2_000)]
    scored = score_trial(evidence([*calls, ("find", {"query": "egg"})]), suite())
    return scored.model_copy(update={"case_id": case})


def test_a_card_has_few_rows_and_counts_all_calls(evidence, suite) -> None:
    uses = _card(evidence, suite, 0).tool_use

    assert 102 == len(uses)
    assert 2_001 == sum(use.calls for use in uses)
    assert [("find", 1, False)] == [(use.tool, use.calls, use.undeclared) for use in uses if not use.undeclared]
    assert [(1_900, 1_900)] == [(use.others, use.calls) for use in uses if use.others]


def test_a_run_has_few_rows_and_says_how_many_it_leaves_out(evidence, suite) -> None:
    """An agent could have made a report of megabytes, in which no reader finds the tools of the suite."""
    cards = [_card(evidence, suite, number * 2_000, f"c{number}") for number in range(3)]
    rows = by_tool(cards, {})

    assert 102 == len(rows)
    assert 6_003 == sum(row.calls for row in rows)
    assert "find" == rows[0].name
    assert 1_900 + 200 == rows[-1].others
    assert all(not row.others for row in rows[:-1])
