"""Scorecards as scores of Langfuse, under ids and times that follow from the trial: sent again, they replace.

Their names are those of `harness.score.card_values`.
"""

import math
from collections.abc import Iterator

from harness.experiments.run_facts import created_ns
from harness.report import summarise_run
from harness.results import RunFolder
from harness.score import Scorecard, card_values
from harness.trace import Span
from harness.upstream import langfuse_instant, langfuse_score
from harness.values import JsonObject


def trial_scores(card: Scorecard, root: Span, experiment: str, reason: str | None) -> Iterator[JsonObject]:
    """The scores of one trial, on the root of its trace."""
    ended = langfuse_instant(root.end_ns)
    for name, value, comment in card_values(card, reason):
        identity = f"{experiment}|{root.trace_id}|{card.case_id}|{card.attempt}|{name}"
        yield {
            **langfuse_score(identity, name, value, comment),
            "traceId": root.trace_id,
            "observationId": root.span_id,
            "environment": "sdk-experiment",
            "timestamp": ended,
        }


def run_scores(folder: RunFolder, experiment: str) -> list[JsonObject]:
    """The scores of the experiment itself: the success rate, and figures over the whole run."""
    summary = summarise_run(folder)
    values = [("success_rate", summary.success.rate), *((one.metric, one.value) for one in summary.run_scores)]
    known = [(name, value) for name, value in values if value is not None and math.isfinite(value)]
    return [
        {
            **langfuse_score(f"{experiment}|{name}", name, value, ""),
            "datasetRunId": experiment,
            "timestamp": langfuse_instant(created_ns(folder.manifest)),
        }
        for name, value in known
    ]
