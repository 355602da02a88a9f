"""What `--quarantine` does over many nights: simulated suites, the product's own rule.

    python -m tests.report.quarantine_nights [SUITES]

A suite has 17 cases that always succeed and three that flip: they succeed in 50, 80 and 95 % of their trials. It is run
for 40 nights, once a case, and more often for cases in quarantine. Then each flipping case is changed in one of four
ways for 20 more nights: not at all, it fails always, it succeeds half as often, it succeeds always.

Printed are the shares of suites in which the change was told within 1, 3 and 20 nights (the case is lost, or fails
outside of quarantine), the share of nights shown as lost, the share of cases that left, after how many nights in the
median, and the trials of the case a night.
"""

import random
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from harness.report.figures.quarantine import QuarantineResult, find_quarantine, quarantine_results
from harness.results import RunFolder, RunManifest
from harness.score import Scorecard

STEADY, FLIPPING = 17, (0.5, 0.8, 0.95)
BEFORE, AFTER = 40, 20
CHANGES = {"none": 1.0, "fails always": 0.0, "half as often": 0.5, "succeeds always": None}


@dataclass(frozen=True)
class Night:
    """As much of a run folder as the rule reads."""

    manifest: RunManifest
    cards: tuple[Scorecard, ...]

    def scorecards(self) -> tuple[Scorecard, ...]:
        return self.cards


@dataclass
class Seen:
    """What became of one flipping case with one change."""

    told_at: list[int] = field(default_factory=list)
    """Nights after the change on which a gate fails: it is lost, or it failed outside of quarantine."""
    lost: int = 0
    """Nights after the change on which it was shown as lost."""
    left_at: int | None = None
    """The first night after the change on which it was not in quarantine."""
    trials: int = 0
    """Of the nights after the change."""


def manifest(number: int, agent: str) -> RunManifest:
    return RunManifest(
        run=f"night-{number:03}", created=f"2026-01-01T00:{number:03}", harness_version="0", suite="s",
        suite_digest="d", agent="a", agent_digest=agent, snapshot_digest="s", tools_digest="t", tool_mode="live",
        provider="docker", isolates=True, planned=(),
    )  # fmt: skip


def card(case_id: str, attempt: int, success: bool) -> Scorecard:
    return Scorecard(
        case_id=case_id, attempt=attempt, category="c", difficulty="easy", outcome="finished", success=success,
        verdicts=(), scores=(), digest="",
    )  # fmt: skip


@dataclass
class Before:
    """What was seen before any change."""

    inside: int = 0
    """Nights of cases in quarantine."""
    lost: int = 0
    """Of these, nights on which one was shown as lost."""
    steady: int = 0
    """Nights on which a case that always succeeds was in quarantine."""


def simulated(change: str, chance: random.Random, before: Before) -> dict[float, Seen]:
    """What became of each flipping case, by its rate before the change."""
    nights: list[Night] = []
    seen = {rate: Seen() for rate in FLIPPING}
    for number in range(BEFORE + AFTER):
        found = find_quarantine(cast("Sequence[RunFolder]", nights), "s", "a", 1)
        attempts = {one.case_id: one.attempts for one in found.cases}
        cards = tuple(
            card(name, attempt, chance.random() < rate)
            for name, rate in rates_of(change if number >= BEFORE else "none").items()
            for attempt in range(1, attempts.get(name, 1) + 1)
        )
        # What is changed has another digest: the agent's.
        state = "a" if number < BEFORE or change == "none" else "b"
        nights.append(Night(manifest(number, state), cards))
        results = {one.case_id: one for one in quarantine_results(found, cards)}
        if number < BEFORE:
            before.inside += len(results)
            before.lost += sum(one.lost for one in results.values())
            before.steady += sum(name.startswith("steady") for name in results)
            continue
        for rate, own in seen.items():
            name = f"flips-{rate}"
            note(own, number - BEFORE + 1, results.get(name), [one for one in cards if one.case_id == name])
    return seen


def rates_of(change: str) -> dict[str, float]:
    share = CHANGES[change]
    flipping = {f"flips-{rate}": 1.0 if share is None else rate * share for rate in FLIPPING}
    return flipping | {f"steady-{number}": 1.0 for number in range(STEADY)}


def note(own: Seen, night: int, result: QuarantineResult | None, cards: Sequence[Scorecard]) -> None:
    own.trials += len(cards)
    own.lost += result is not None and result.lost
    failed = any(one.success is False for one in cards)
    if failed if result is None else result.lost:
        own.told_at.append(night)
    if result is None and own.left_at is None:
        own.left_at = night


def median(values: Sequence[int]) -> str:
    return str(sorted(values)[len(values) // 2]) if values else "-"


def line(change: str, rate: float, every: Sequence[Seen]) -> str:
    first = [min(one.told_at, default=99) for one in every]
    told = [sum(night <= most for night in first) / len(every) for most in (1, 3, AFTER)]
    lost = sum(one.lost for one in every) / len(every) / AFTER
    left = [one.left_at for one in every if one.left_at is not None]
    trials = sum(one.trials for one in every) / len(every) / AFTER
    shares = "".join(f"{share:10.1%}" for share in (*told, lost, len(left) / len(every)))
    return f"{change:17}{rate:6.0%}{shares}{median(left):>8}{trials:9.1f}"


def main(arguments: Sequence[str]) -> None:
    suites = int(arguments[0]) if arguments else 200
    chance, before = random.Random(5), Before()
    print(f"{suites} suites a change; {BEFORE} nights before it, {AFTER} after it")
    heads = "".join(f"{head:>10}" for head in ("1st night", "3 nights", "20 nights", "lost", "left"))
    print(f"{'change':17}{'rate':>6}{heads}{'nights':>8}{'a night':>9}")
    for change in CHANGES:
        found: dict[float, list[Seen]] = defaultdict(list)
        for _ in range(suites):
            for rate, own in simulated(change, chance, before).items():
                found[rate].append(own)
        for rate, every in found.items():
            print(line(change, rate, every), flush=True)
    print(
        f"before any change: {before.lost} of {before.inside} nights in quarantine shown as lost"
        f" ({before.lost / before.inside:.1%}); steady cases in quarantine: {before.steady}"
    )


if __name__ == "__main__":
    main(sys.argv[1:])
