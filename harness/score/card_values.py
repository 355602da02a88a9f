"""A scorecard as named values, for systems that keep scores one by one. What is not known has none.

success               whether every check passed
<metric>              a number
check.<name>          whether it passed, with the verifier's reason
failure.<mode>        whether a detector found it; none where nothing was found and not all of it could be searched for
"""

from collections.abc import Iterator
from typing import get_args

from harness.score.diagnosis import Failure
from harness.score.scorecard import Scorecard
from harness.trace import MEASURED


def card_values(card: Scorecard, reason: str | None = None) -> Iterator[tuple[str, float | bool, str]]:
    """(name, value, comment). `reason`: why the outcome is what it is."""
    if card.success is not None:
        yield "success", card.success, reason or ""
    for score in card.scores:
        if score.value is not None:
            yield score.metric, score.value, score.explanation
    for verdict in card.verdicts:
        if verdict.passed is not None:
            yield f"check.{verdict.check}", verdict.passed, verdict.reason
    if card.outcome in MEASURED:
        yield from _failures(card)


def _failures(card: Scorecard) -> Iterator[tuple[str, bool, str]]:
    for mode in get_args(Failure):
        found = [one for one in card.diagnoses if one.failure == mode]
        if found or mode not in card.modes_not_measured:
            yield f"failure.{mode}", bool(found), "; ".join(f"{one.kind}: {one.evidence}" for one in found)
