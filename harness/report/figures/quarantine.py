"""Quarantine of flaky cases: found in the stored runs, listed separately, and released again.

A state is all that a run's result can depend on: digests of suite, agent, snapshot, packages and tools, the modes, the
sandbox and the scorers. A case flips where it succeeds and fails in one state, in one run or on different nights. It
is in quarantine from its first flip on, and leaves once its trials have ended alike n times in a row, where a case that
ends unlike as often as this one did would have done so with 95 %: n = log 0.05 / log(1 - r), r being the share of its
rarer result up to the last flip. Nothing is stored for it but the runs, so that it leaves by itself.

A case in quarantine is tried so often that a loss can be told from a flip. It is lost where it failed in every attempt,
or more often than before by Fisher's exact test, at 5 % for all cases in quarantine together. "Before" are the states
in which it flipped; a state in which it failed more than the earlier ones explain is left out, so that a loss that
went on does not become what is expected.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from harness.report.figures.paired_trials import counted_success
from harness.results import PlannedTrial, Quarantine, QuarantinedCase, RunFolder, RunManifest, quarantine_of
from harness.score import Scorecard
from harness.stats import LEVEL, fisher_greater
from harness.values import Frozen, canonical_json

_MOST_ATTEMPTS = 20
_STATE = (
    "suite_digest",
    "run_suite_digest",
    "agent_digest",
    "snapshot_digest",
    "packages_digest",
    "tools_digest",
    "tool_mode",
    "model_mode",
    "users",
    "replay",
    "provider",
    "pins",
    "scorer_versions",
)


class QuarantineResult(Frozen):
    """One case in quarantine, in the run that is reported."""

    case_id: str
    failures_before: int
    trials_before: int
    failures: int
    """Trials of this run that failed, or whose success the agent left unknown."""
    trials: int
    """Trials of this run that were measured."""
    lost: bool
    """Whether it fails more than its flips explain; it then stands in all figures, and gates fail."""
    leaves_after: int
    """Maximum number of further consecutive trials with the same result until the case leaves quarantine."""


def find_quarantine(runs: Iterable[RunFolder], suite: str, agent: str, attempts: int) -> Quarantine:
    """The cases in quarantine after all stored runs of the suite with this agent; `attempts` at the others."""
    histories: dict[str, _History] = {}
    own = [run for run in runs if (run.manifest.suite, run.manifest.agent) == (suite, agent)]
    for run in sorted(own, key=lambda run: (run.manifest.created, run.manifest.run)):
        state = _state(run.manifest)
        for card in sorted(run.scorecards(), key=lambda card: card.attempt):
            success = counted_success(card)
            if success is not None:
                histories.setdefault(card.case_id, _History()).add(state, success)
    inside = {case_id: history for case_id, history in histories.items() if history.leaves_after}
    level = LEVEL / max(len(inside), 1)
    cases = tuple(
        _case(case_id, history, attempts, level) for case_id, history in sorted(inside.items(), key=lambda one: one[0])
    )
    return Quarantine(usual_attempts=attempts, cases=cases)


def quarantine_results(quarantine: Quarantine, cards: Sequence[Scorecard]) -> tuple[QuarantineResult, ...]:
    """The result of each case in quarantine; cases without a trial in the run are left out."""
    found: list[QuarantineResult] = []
    for one in quarantine.cases:
        known = [ok for card in cards if card.case_id == one.case_id and (ok := counted_success(card)) is not None]
        if known:
            found.append(_result(one, known))
    return tuple(found)


@dataclass(frozen=True, kw_only=True)
class CountedTrials:
    """The trials that the figures of a run are computed from."""

    manifest: RunManifest
    """With the trials planned that count."""
    cards: tuple[Scorecard, ...]
    apart: tuple[QuarantineResult, ...] = ()
    """The cases in quarantine; those that are lost count too, by as many attempts as other cases have."""


def counted_cards(folder: RunFolder) -> tuple[Scorecard, ...]:
    """The latest scorecards of a run that its figures, comparisons and trends are computed from."""
    return counted_trials(folder, folder.scorecards()).cards


def counted_trials(folder: RunFolder, cards: tuple[Scorecard, ...]) -> CountedTrials:
    """All trials except those of cases in quarantine that are not lost."""
    quarantine = quarantine_of(folder)
    if quarantine is None:
        return CountedTrials(manifest=folder.manifest, cards=cards)
    results = quarantine_results(quarantine, cards)
    most = {one.case_id: quarantine.usual_attempts if one.lost else 0 for one in results}

    def counts(one: PlannedTrial | Scorecard) -> bool:
        return one.attempt <= most.get(one.case_id, one.attempt)

    planned = tuple(one for one in folder.manifest.planned if counts(one))
    return CountedTrials(
        manifest=folder.manifest.model_copy(update={"planned": planned}),
        cards=tuple(card for card in cards if counts(card)),
        apart=results,
    )


@dataclass
class _Count:
    failures: int = 0
    successes: int = 0

    @property
    def trials(self) -> int:
        return self.failures + self.successes


@dataclass
class _History:
    """The trials of one case since it last left quarantine, oldest first."""

    states: dict[str, _Count] = field(default_factory=dict)
    leaves_after: int = 0
    """The required number of equal results; 0: the case is not in quarantine."""
    agreeing: int = 0
    _last: tuple[str, bool] | None = None

    def add(self, state: str, success: bool) -> None:
        count = self.states.setdefault(state, _Count())
        was_unlike = self._last is not None and self._last[1] != success
        count.successes += success
        count.failures += not success
        self.agreeing = 1 if was_unlike else self.agreeing + 1
        if count.failures and count.successes and (was_unlike or not self.leaves_after):
            self.leaves_after = self._needed()
        self._last = (state, success)
        if self.leaves_after and self.agreeing >= self.leaves_after:
            self.states, self.leaves_after = {}, 0

    def before(self) -> _Count:
        """The earlier trials that a loss is tested against."""
        pooled = _Count()
        for one in self._flipped():
            more = fisher_greater(one.failures, one.successes, pooled.failures, pooled.successes)
            if not pooled.trials or more > LEVEL:
                pooled = replace(
                    pooled, failures=pooled.failures + one.failures, successes=pooled.successes + one.successes
                )
        return pooled

    def _flipped(self) -> Iterator[_Count]:
        return (one for one in self.states.values() if one.failures and one.successes)

    def _needed(self) -> int:
        before = self.before()
        rarer = min(before.failures, before.successes) / before.trials
        return math.ceil(math.log(LEVEL) / math.log(1 - rarer))


def _state(manifest: RunManifest) -> str:
    return canonical_json(manifest.model_dump(mode="json", include=set(_STATE)))


def _case(case_id: str, history: _History, attempts: int, level: float) -> QuarantinedCase:
    before = history.before()
    enough = next(
        (n for n in range(1, _MOST_ATTEMPTS) if fisher_greater(n, 0, before.failures, before.successes) <= level),
        _MOST_ATTEMPTS,
    )
    return QuarantinedCase(
        case_id=case_id,
        failures=before.failures,
        trials=before.trials,
        agreeing=history.agreeing,
        leaves_after=history.leaves_after,
        attempts=max(attempts, enough),
        level=level,
    )


def _result(one: QuarantinedCase, known: Sequence[bool]) -> QuarantineResult:
    successes = sum(known)
    failures = len(known) - successes
    p = fisher_greater(failures, successes, one.failures, one.trials - one.failures)
    return QuarantineResult(
        case_id=one.case_id,
        failures_before=one.failures,
        trials_before=one.trials,
        failures=failures,
        trials=len(known),
        lost=not successes or p <= one.level,
        leaves_after=one.leaves_after if 0 < successes < len(known) else max(0, one.leaves_after - len(known)),
    )
