"""Twelve planted causes over a thousand failed sessions are found again, and have the same ids on the next day."""

import pytest

from qa.themes_eval.evaluation import evaluated
from qa.themes_eval.wordings import HELD_OUT
from tests.real_data import real_data


@pytest.mark.slow
def test_planted_causes_are_themes_and_keep_their_ids() -> None:
    """On the source and the wordings that nothing was tuned on."""
    figures = evaluated(real_data(), "tau2", HELD_OUT)
    assert 12 == figures["causes"]
    assert figures["purity"] >= 0.9 > figures["purity_by_criterion"], figures
    assert figures["adjusted_rand_index"] >= 1.5 * figures["adjusted_rand_index_by_criterion"], figures
    assert figures["same_ids"] >= 0.95, figures
