"""Existing verdicts of trials as the reference that a judge is compared with."""

from collections.abc import Callable, Iterable

from harness.alternatives import alternatives
from harness.errors import UsageError
from harness.judge import Judgement, Right
from harness.results import RunFolder
from harness.score import Scorecard

_HALF = 0.5


def rewards_of(folders: Iterable[RunFolder], against: str) -> Callable[[Judgement], Right | None]:
    """`reward`: whether the trial succeeded; `verifier:<name>`: the result of that check, or of all checks of that
    verifier; `metric:<name>`: above one half.

    Eligibility is not covered. Raises UsageError for another word, and for a check or metric that no trial has.
    """
    kind, _, name = against.partition(":")
    if (kind == "reward") == bool(name) or kind not in ("reward", "verifier", "metric"):
        raise UsageError(
            f"--against {against!r} is unknown", remedy="`labels`, `reward`, `verifier:NAME` or `metric:NAME`"
        )
    known: dict[tuple[str, str, int], bool | None] = {}
    names: set[str] = set()
    for folder in folders:
        for card in folder.scorecards():
            known[folder.manifest.run, card.case_id, card.attempt] = _verdict_of(card, kind, name)
            names |= _names(card, kind)
    if kind != "reward" and name not in names:
        raise UsageError(f"no trial has the {kind} {name!r}", remedy=alternatives(name, names))

    def right(judgement: Judgement) -> Right | None:
        truth = known.get((judgement.run, judgement.case_id, judgement.attempt))
        return None if truth is None else Right(passed=truth, tells_eligibility=False)

    return right


def _verdict_of(card: Scorecard, kind: str, name: str) -> bool | None:
    if kind == "reward":
        return card.success
    if kind == "verifier":
        said = [verdict.passed for verdict in card.verdicts if name in (verdict.check, verdict.verifier)]
        return False if False in said else None if None in said or not said else True
    value = card.value(name)
    return None if value is None else value > _HALF


def _names(card: Scorecard, kind: str) -> set[str]:
    if kind == "verifier":
        return {name for verdict in card.verdicts for name in (verdict.check, verdict.verifier)}
    return {score.metric for score in card.scores}
