"""Evaluators of dataset experiments as metrics."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from harness.errors import UsageError
from harness.scoring.evaluators import item_of
from harness.scoring.evidence import Evidence
from harness.scoring.registry import METRICS
from harness.scoring.scorer import build_scorer
from harness.suite.suites import Suite

Build = Callable[..., Evidence]
MakeSuite = Callable[..., Suite]

OWN = """
from dataclasses import dataclass

@dataclass
class Evaluation:
    name: str
    value: object
    comment: str = ""

def exact(*, output, expected_output, **kwargs):
    return Evaluation(name="exact_match", value=output == expected_output, comment=kwargs["input"])

def several(*, output, **kwargs):
    return [{"name": "length", "value": len(output)}, {"name": "tone", "value": "warm", "comment": "as it was"}]

def bare(*, output, expected_output):
    return 0.25

async def later(*, output, **kwargs):
    return 1

def breaks(*, output, **kwargs):
    raise KeyError("x")

def thief(*, output, **kwargs):
    return Evaluation(name="completion", value=1)

def wants_more(*, output, trace, **kwargs):
    return 1

def wants_nothing():
    return 1

def mean_exact(*, item_results, **kwargs):
    values = [one.value for item in item_results for one in item.evaluations if one.name == "exact_match"]
    told = ", ".join(str(item.output) for item in item_results)
    return Evaluation(name="mean_exact", value=sum(values) / len(values), comment=told)

def half_run(*, output, item_results):
    return 1.0

thing = 3
"""


@pytest.fixture
def own(suite: MakeSuite, tmp_path: Path) -> Callable[..., Suite]:
    (tmp_path / "own.py").write_text(OWN)
    return suite


def test_item_level_functions_are_metrics(own: MakeSuite, evidence: Build) -> None:
    names = ("exact", "several", "bare", "later", "breaks", "thief")
    scorer = build_scorer(own(metrics=tuple(f"own.py:{name}" for name in names)))

    card = scorer.score(evidence(answer="four", case={"expected_output": "four"}))

    found = {score.metric: (score.value, score.explanation) for score in card.scores[len(METRICS) :]}
    assert found == {
        "exact_match": (1.0, "do it"),
        "length": (4.0, ""),
        "tone": (None, "'warm': as it was"),
        "bare": (0.25, ""),
        "later": (1.0, ""),
        "breaks": (None, "the metric itself failed: own.py:23: KeyError: 'x'"),
        "thief": (
            None,
            "the metric itself failed: ValueError: gives a figure the name of a built-in metric: completion",
        ),
    }


def test_run_level_functions_see_every_item_with_its_output(own: MakeSuite, evidence: Build) -> None:
    scorer = build_scorer(own(metrics=("own.py:exact", "own.py:mean_exact")))
    trials = [
        evidence(answer=answer, case={"expected_output": "four"}, attempt=place)
        for place, answer in enumerate(("four", "five"), 1)
    ]
    cards = [scorer.score(one) for one in trials]
    items = {("c", one.trial.attempt): item_of(one) for one in trials}

    found = scorer.score_run(cards, items)

    assert scorer.reads_items
    assert [(one.metric, one.value, one.explanation) for one in found] == [("mean_exact", 0.5, "four, five")]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"metrics": ("own.py:wants_more",)}, "asks for trace, which no evaluator is given"),
        ({"metrics": ("own.py:wants_nothing",)}, "takes no `output`"),
        ({"metrics": ("own.py:half_run",)}, "asks for output, which"),
        ({"metrics": ("own.py:thing",)}, "is neither a class nor a function"),
    ],
)
def test_what_cannot_be_called_is_refused_when_the_suite_is_loaded(
    own: MakeSuite, fields: dict[str, Any], said: str
) -> None:
    with pytest.raises(UsageError, match=said):
        build_scorer(own(**fields))
