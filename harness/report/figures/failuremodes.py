"""The frequency of each failure mode in a run, and the trials to inspect first."""

from collections import Counter
from collections.abc import Sequence
from typing import get_args

from harness.score import Diagnosis, Failure, Scorecard
from harness.trace import MEASURED
from harness.values import Frozen

_EXAMPLES = 3


class FailureMode(Frozen):
    """One failure mode over a run. A trial with several findings of a mode counts once."""

    failure: Failure
    trials: int
    failed_trials: int
    """Those that did not succeed: an agent can recover from a failure mode."""
    measured: int
    """The number of all trials."""
    kinds: dict[str, int]
    """Trials by kind of finding."""
    examples: tuple[str, ...]
    """The findings with the highest confidence: case/attempt, step and evidence."""


def failure_modes(cards: Sequence[Scorecard]) -> tuple[FailureMode, ...]:
    """The modes that were found, in the order of the taxonomy."""
    measured = [card for card in cards if card.outcome in MEASURED]
    found = (_mode(failure, measured) for failure in get_args(Failure))
    return tuple(mode for mode in found if mode.trials)


def has_failure(card: Scorecard, failure: str) -> bool:
    """Whether one of the card's findings is of this mode."""
    return any(one.failure == failure for one in card.diagnoses)


def _mode(failure: Failure, measured: Sequence[Scorecard]) -> FailureMode:
    having = [(card, [one for one in card.diagnoses if one.failure == failure]) for card in measured]
    having = [(card, own) for card, own in having if own]
    findings = [(card, one) for card, own in having for one in own]
    surest = sorted(findings, key=lambda pair: (pair[0].success is True, -pair[1].confidence))
    return FailureMode(
        failure=failure,
        trials=len(having),
        failed_trials=sum(card.success is not True for card, _ in having),
        measured=len(measured),
        kinds=dict(sorted(Counter(kind for _, own in having for kind in {one.kind for one in own}).items())),
        examples=tuple(_words(card, one) for card, one in surest[:_EXAMPLES]),
    )


def _words(card: Scorecard, one: Diagnosis) -> str:
    place = "" if one.origin_step is None else f" step {one.origin_step}"
    return f"{card.case_id}/{card.attempt}{place}: {one.evidence}"
