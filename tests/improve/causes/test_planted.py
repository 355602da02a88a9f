"""A small sample of planted causes: what `make eval-causes` measures of all suites, held on one."""

import pytest

from qa.counterfactual_eval.planted import BASES, Figures, Plan, measured
from tests.walks.conftest import Walk

pytestmark = pytest.mark.slow

LEAST = 8
WITHOUT_AN_ANSWER = 1
"""A file that was not written by a call: nothing writes it when the agent has ended."""


def test_the_exact_step_of_a_planted_cause_is_named_and_more_often_than_detectors_guess_it(basics: Walk) -> None:
    figures, rows = Figures(), list[dict]()
    measured(Plan("basics", None, 12, "local", "replay", basics.folder), figures, rows)
    assert figures.planted >= LEAST
    for basis in BASES:
        assert figures.exact[basis] == figures.answered[basis], rows
        assert figures.answered[basis] >= figures.planted - WITHOUT_AN_ANSWER, rows
        assert figures.exact[basis] > figures.guessed
