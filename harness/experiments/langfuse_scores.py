"""Scorecards as scores of Langfuse, under ids and times that follow from the trial: sent again, they replace.

success               boolean; not sent where it is not known
<metric>              numeric; not sent where it is not known
check.<name>          boolean, with the verifier's reason
failure.<mode>        boolean: whether a detector found it; not sent where the trial has no data to measure it
"""

import hashlib
import math
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Final, get_args

from harness.experiments.run_facts import created_ns
from harness.report import summarise_run
from harness.results import RunFolder
from harness.score import Failure, Scorecard
from harness.trace import MEASURED, Span
from harness.values import JsonObject

_LONGEST_COMMENT: Final = 2000
_LAST_MS: Final = 253_402_300_799_000
"""The end of the year 9999."""


def trial_scores(card: Scorecard, root: Span, experiment: str, reason: str | None) -> Iterator[JsonObject]:
    """The scores of one trial, on the root of its trace."""
    ended = _instant(root.end_ns)
    for name, value, comment in _values(card, reason):
        identity = f"{experiment}|{root.trace_id}|{card.case_id}|{card.attempt}|{name}"
        yield {
            **_score(identity, name, value, comment),
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
            **_score(f"{experiment}|{name}", name, value, ""),
            "datasetRunId": experiment,
            "timestamp": _instant(created_ns(folder.manifest)),
        }
        for name, value in known
    ]


def _values(card: Scorecard, reason: str | None) -> Iterator[tuple[str, float | bool, str]]:
    if card.success is not None:
        yield "success", card.success, reason or ""
    for score in card.scores:
        if score.value is not None and math.isfinite(score.value):
            yield score.metric, float(score.value), score.explanation
    for verdict in card.verdicts:
        if verdict.passed is not None:
            yield f"check.{verdict.check}", verdict.passed, verdict.reason
    if card.outcome in MEASURED:
        yield from _failures(card)


def _failures(card: Scorecard) -> Iterator[tuple[str, bool, str]]:
    for mode in get_args(Failure):
        if mode not in card.modes_not_measured:
            found = [one for one in card.diagnoses if one.failure == mode]
            yield f"failure.{mode}", bool(found), "; ".join(f"{one.kind}: {one.evidence}" for one in found)


def _score(identity: str, name: str, value: float | bool, comment: str) -> JsonObject:
    score: JsonObject = {
        "id": hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:32],
        "name": name,
        "value": int(value) if isinstance(value, bool) else value,
        "dataType": "BOOLEAN" if isinstance(value, bool) else "NUMERIC",
    }
    return score | ({"comment": comment[:_LONGEST_COMMENT]} if comment else {})


def _instant(time_ns: int) -> str:
    """The time, or the first or last that has a date, for a trace of others with any number as time."""
    at = datetime.fromtimestamp(min(max(time_ns // 1_000_000, 0), _LAST_MS) / 1000, UTC)
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")
