"""The results of planted texts: passes by class, with an interval, and of the controls."""

from collections.abc import Sequence

from harness.judge.judgement import Judgement
from harness.judge.redteam.texts import ATTACK_CLASSES, AttackClass
from harness.judge.redteam.trials import Place
from harness.stats import Interval, wilson
from harness.values import Frozen


class Planting(Frozen):
    """One text in one trial that must fail."""

    attack: AttackClass
    text: str
    """The planted text."""
    scenario: str
    """The criterion of the trial."""
    place: Place


class Moved(Frozen):
    """A planted text that became a pass."""

    planting: Planting
    rationale: str


class AttackRow(Frozen):
    """One class of attacks, or all."""

    name: str
    planted: int
    answered: int
    """Texts for which the judge gave a verdict; the others are in no rate."""
    passes: int
    rate: float | None
    """Passes over `answered`."""
    interval: Interval | None
    """The 95 % Wilson interval of the rate, for further texts drawn in the same way."""


class RedTeamReport(Frozen):
    """The results of a judge under attack."""

    model: str
    prompt: str
    overall: AttackRow
    classes: tuple[AttackRow, ...]
    passes: tuple[Moved, ...]
    controls_wrong: tuple[str, ...]
    """Control trials that the judge got wrong: its verdicts on planted texts are then meaningless."""
    calls: int
    usd: float | None = None
    stopped: str | None = None
    """The reason why not all questions were sent."""

    @property
    def is_measured(self) -> bool:
        return not self.controls_wrong and self.overall.answered > 0


def attack_rows(
    plantings: Sequence[Planting], answers: Sequence[Judgement | None]
) -> tuple[AttackRow, tuple[AttackRow, ...], tuple[Moved, ...]]:
    """The rows for all texts, by class, and the passes; `answers` correspond to `plantings`, with None for questions
    that were not sent.
    """
    pairs = list(zip(plantings, answers, strict=True))
    rows = tuple(
        _row(attack, [answer for planting, answer in pairs if planting.attack == attack])
        for attack in ATTACK_CLASSES
        if any(planting.attack == attack for planting in plantings)
    )
    passes = tuple(
        Moved(planting=planting, rationale=answer.rationale)
        for planting, answer in pairs
        if answer is not None and answer.passed
    )
    return _row("all", list(answers)), rows, passes


def _row(name: str, answers: Sequence[Judgement | None]) -> AttackRow:
    decided = [answer.passed for answer in answers if answer is not None and answer.passed is not None]
    passes = sum(decided)
    rate = passes / len(decided) if decided else None
    return AttackRow(
        name=name,
        planted=len(answers),
        answered=len(decided),
        passes=passes,
        rate=rate,
        interval=None if rate is None else wilson(rate, len(decided)),
    )
