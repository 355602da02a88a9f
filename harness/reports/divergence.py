"""Compares mocked and live runs: the same agent with recorded answers and with those of the real services, case by
case.

A case differs where its share of successes differs. Its cause is the first of these that applies:

tool         a tool's answer in that case drifted, and the verdict flips back when the recorded answer replaces it
chance       attempts in one of the modes differ among themselves as much as the modes do
agent        the tools were checked and none drifted in that case, and the attempts in each mode agree
cannot_tell  else: drift was not checked, is not confirmed or was not replaced, or nothing was tried twice
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Literal

from harness.reports.change import MetricChange, change
from harness.runs.store.drift_report import DriftReport
from harness.runs.store.manifest import RunManifest
from harness.scoring.scorecard import Scorecard
from harness.values import Frozen

Cause = Literal["tool", "chance", "agent", "cannot_tell"]

MOCKED: Final = frozenset({"replay", "sealed"})
LIVE: Final = frozenset({"live", "record"})
_SAME: Final = 1e-9


class Attempts(Frozen):
    """Attempts at one case in one mode of which the success is known."""

    successes: int
    n: int

    @property
    def rate(self) -> float:
        return self.successes / self.n

    @property
    def spread(self) -> float:
        """How much the attempts differ: 1 if some succeeded and some failed."""
        return float(0 < self.successes < self.n)


class CaseDivergence(Frozen):
    """A case that succeeds in one mode more often than in the other."""

    case_id: str
    category: str
    mocked: Attempts
    live: Attempts
    cause: Cause
    because: str
    """A description of the evidence for the cause."""
    tools: tuple[str, ...] = ()
    """Tools that drifted in this case, confirmed or not."""


class RunDivergence(Frozen):
    """A live run compared with a replayed run of the same agent."""

    mocked_run: str
    live_run: str
    success: MetricChange
    """The change from replayed to live over the cases of both runs, by their share of successful attempts."""
    cases: tuple[CaseDivergence, ...]
    """The cases whose share differs."""
    answers_compared: bool
    """Whether the live run's answers were compared with the recordings."""

    def count(self, cause: Cause) -> int:
        return sum(one.cause == cause for one in self.cases)


Side = tuple[RunManifest, Sequence[Scorecard]]


@dataclass(frozen=True)
class _KnownSuccess:
    run: str
    drift: DriftReport | None


def divergence(one: Side, other: Side, drift: DriftReport | None) -> RunDivergence | None:
    """The divergence of two runs. `drift` is the drift report of the live run, None where there is none.

    None unless one of the runs is mocked and the other one live, both with the same agent: its code, prompt and
    declared model. A difference between agents is not a difference between the modes.
    """
    sides = sorted((one, other), key=lambda side: side[0].tool_mode in LIVE)
    (mocked, mocked_cards), (live, live_cards) = sides
    if mocked.tool_mode not in MOCKED or live.tool_mode not in LIVE or mocked.agent_digest != live.agent_digest:
        return None
    before, after = _by_case(mocked_cards), _by_case(live_cards)
    categories = {card.case_id: card.category for card in live_cards}
    both = [case for case in after if case in before]
    return RunDivergence(
        mocked_run=mocked.run,
        live_run=live.run,
        success=change("task_success", [(case, before[case].rate, after[case].rate) for case in both]),
        cases=tuple(
            _case(case, categories[case], (before[case], after[case]), _KnownSuccess(live.run, drift))
            for case in both
            if abs(before[case].rate - after[case].rate) > _SAME
        ),
        answers_compared=drift is not None,
    )


def _by_case(cards: Sequence[Scorecard]) -> Mapping[str, Attempts]:
    found: dict[str, list[bool]] = {}
    for card in cards:
        if card.success is not None:
            found.setdefault(card.case_id, []).append(card.success)
    return {case: Attempts(successes=sum(own), n=len(own)) for case, own in found.items()}


def _case(case: str, category: str, sides: tuple[Attempts, Attempts], known: _KnownSuccess) -> CaseDivergence:
    drift = known.drift
    cause, because = _by_tool(case, drift) or _by_attempts(sides) or _otherwise(case, sides, known)
    findings = () if drift is None else (*drift.findings, *drift.unconfirmed)
    return CaseDivergence(
        case_id=case,
        category=category,
        mocked=sides[0],
        live=sides[1],
        cause=cause,
        because=because,
        tools=tuple(sorted({one.tool for one in findings if case in one.cases})),
    )


Explained = tuple[Cause, str]


def _by_tool(case: str, drift: DriftReport | None) -> Explained | None:
    flipping = [one for one in drift.findings if case in one.flips] if drift is not None else []
    if not flipping:
        return None
    what = "; ".join(f"{one.operation} {one.path}".strip() + f": {one.old_kind} → {one.new_kind}" for one in flipping)
    return "tool", f"the recorded answer restores the verdict: {what}"


def _by_attempts(sides: tuple[Attempts, Attempts]) -> Explained | None:
    mocked, live = sides
    apart = abs(mocked.rate - live.rate)
    for mode, own in (("mocked", mocked), ("live", live)):
        if own.spread >= apart - _SAME:
            return "chance", f"{own.successes} of {own.n} {mode} attempts succeed: attempts in one mode differ as much"
    return None


def _otherwise(case: str, sides: tuple[Attempts, Attempts], known: _KnownSuccess) -> Explained:
    drift = known.drift
    if drift is None:
        return "cannot_tell", f"drift was not checked in the live run: harness drift compare {known.run}"
    drifted = [one for one in drift.findings if case in one.cases]
    if drifted:
        tools = ", ".join(sorted({one.tool for one in drifted}))
        return "cannot_tell", f"{tools} drifted, but it is unknown whether the recorded answer restores the verdict"
    doubtful = [one for one in drift.unconfirmed if case in one.cases]
    if doubtful:
        return "cannot_tell", f"{doubtful[0].tool} may have drifted, but this is not confirmed: {doubtful[0].doubt}"
    if all(own.n < 2 for own in sides):
        return (
            "cannot_tell",
            "no tool drifted; there is one attempt in each mode, so it may be chance: repeat with --trials",
        )
    return "agent", "no tool drifted in this case, and the attempts in each mode agree"
