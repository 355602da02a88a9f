"""One ranked answer: the step at which a trial most probably went wrong, the runners-up below.

A probability is stated of the first step alone, where it names a wrong write: it held on benchmarks that were left out
(`Fitted.probability`). The order is by weight. A kind's weight is how often its origin was the step that people named
as the decisive mistake, where it stood first: hits and cases of labelled failed runs (`Fitted.steps`), drawn towards
their common mean as if `_WEIGHT` further cases had it. These counts stand with the step; each kind has them from one
source, so that nothing says how far they hold on another. Kinds that no labelled set has are placed by the order in
which causes come before their consequences. A judge's finding (`judged`) and one of a suite's own detector have no
place in that order: theirs is the finding's own confidence times `_CITED` or `_OTHERWISE`. Where the first does not
reach the weight `Fitted.certain`, the answer is "cannot tell".
"""

import importlib.resources
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from math import prod
from types import MappingProxyType
from typing import Final, Literal

from harness.scoring.scorecard import Diagnosis, Failure, Kind, OwnKind
from harness.scoring.statistics.intervals import wilson
from harness.traces.trajectory import Trajectory
from harness.values import Frozen

# What was counted on labelled runs: how often people gave a run the mode of a kind, and how often it named the step.
#
# The numbers stand in `fitted.json`, which `python qa/scorer_eval/run.py --only fit` writes from the runs in
# HARNESS_REAL_DATA. Everything that a detector or the ranking takes from data is in it and nowhere else, so that the
# evaluation can count each number anew without the source it is shown for.
#
# One rule says what is a finding, and nothing is listed by hand. On a source on which a kind stands in `FEWEST` runs
# it
# beats the floors where people gave its mode to more of these runs than to the runs of that source at large (lower
# bound
# of Wilson's interval at 95 %; the floor "always yes"), and to more of them than of as many of the longest runs (the
# floor "length"). An inferred kind is a hint until two sources confirm it: it beats the floors there, and is right in
# more than half of its runs. Any other kind follows from its definition, which a reader can check in the trajectory,
# and
# is a finding until one source on which it could have beaten the floors shows that it does not. Without a source's
# counts
# both follow from the others.

INFERRED: Final[dict[Kind, Failure]] = {
    "echoed_call": "loop_trap",
    "goal_left_out": "goal_drift",
    "objective_switched": "goal_drift",
    "answer_off_goal": "goal_drift",
    "assumed_data": "premature_commitment",
    "worker_result_carried": "cascading_error",
    "first_result_carried": "cascading_error",
    "failed_code_carried": "cascading_error",
    "first_answer_carried": "cascading_error",
    "first_change": "wrong_outcome",
}
"""Kinds that are inferred from words and shapes: nothing that the trajectory itself shows makes them true."""
FEWEST: Final = 5
"""Runs of a source from which on it says something of a kind."""
SOURCES: Final = 2
"""Sources that have to confirm an inferred kind, so that it stands whichever of them is left out."""


class Counted(Frozen):
    """How often something was right, of how many cases."""

    right: int
    cases: int


class Seen(Counted):
    """Runs of one source in which a kind stands: `right` of `cases` have its mode by people's labels."""

    labelled: int
    """Runs of the source that people gave the mode."""
    runs: int
    """All runs of the source that have a label of the mode, yes or no."""

    longest: int = 0
    """Of the `cases` longest runs of the source: how many people gave the mode."""

    @property
    def beats_floors(self) -> bool:
        return self._low(self.right) > self.labelled / self.runs and self.right > self.longest

    @property
    def confirms(self) -> bool:
        return self.cases >= FEWEST and self.beats_floors and 2 * self.right > self.cases

    @property
    def refutes(self) -> bool:
        """Whether the kind does not beat the floors where it could have: a few runs of a mode that most runs have
        cannot tell.
        """
        told = self.cases >= FEWEST and self._low(self.cases) > self.labelled / self.runs and self.longest < self.cases
        return told and not self.beats_floors

    def _low(self, right: int) -> float:
        interval = wilson(right / self.cases, self.cases) if self.cases else None
        return 0.0 if interval is None else interval.low


class Fitted(Frozen):
    """What labelled runs say."""

    findings: dict[Kind, dict[str, Seen]] = {}
    """Kind -> source -> what people gave the runs in which it stands."""
    steps: dict[Kind, Counted] = {}
    """Kinds whose origin was the step that people named as the decisive mistake, of the failed runs that have it."""
    writes: dict[Kind, dict[str, Counted]] = {}
    """Kind -> source -> failed runs of benchmarks in which it was named first: whether its step is the first write that
    the reference does not have. `first_change` is counted with the references hidden.
    """
    without: str | None = None
    """The source that is left out of the numbers; None: none is."""
    certain: float = 0.2
    """A step's weight (see `ranking`) below which the answer is "cannot tell"."""

    def probability(self, kind: str) -> float | None:
        """That a step named first for a change is the first wrong write.

        The common share of the sources, drawn towards one half by two cases. None where fewer than two sources tell,
        or where what the others state of one of them lies outside of its own interval (Wilson, 95 %).
        """
        counts = self.writes_of(kind)
        large = {source: one for source, one in counts.items() if one.cases >= FEWEST}
        if len(large) < (SOURCES if self.without is None else SOURCES - 1):
            return None
        for source, one in large.items():
            others = [other for name, other in counts.items() if name != source]
            own = wilson(one.right / one.cases, one.cases)
            if sum(other.cases for other in others) >= FEWEST and (
                own is None or not own.low <= _stated(others) <= own.high
            ):
                return None
        return _stated(counts.values())

    def writes_of(self, kind: str) -> Mapping[str, Counted]:
        """Source -> how often the kind's step, named first, was the first wrong write."""
        return {str(name): some for name, some in self.writes.items()}.get(kind, {})

    def is_finding(self, kind: str) -> bool:
        """Whether a diagnosis of this kind is reported as a finding; otherwise it is a hint."""
        return self.reason_for_hint(kind) is None

    def reason_for_hint(self, kind: str) -> str | None:
        """Why a kind is not a finding, by the counts; None: it is one."""
        seen = self._by_source(kind)
        if kind in INFERRED:
            needed = SOURCES if self.without is None else SOURCES - 1
            confirmed = sorted(source for source, one in seen.items() if one.confirms)
            if len(confirmed) >= needed:
                return None
            by = f" ({', '.join(confirmed)})" if confirmed else ""
            return f"{_words(kind)} is inferred, and {len(confirmed)} of {needed} labelled sources{by} confirm it"
        refuting = sorted(source for source, one in seen.items() if one.refutes)
        if not refuting:
            return None
        one = seen[refuting[0]]
        return (
            f"{_words(kind)} is right in {one.right} of {one.cases} labelled runs of {refuting[0]}, which is no better "
            f"than to flag them all ({one.labelled} of {one.runs}) or the longest ({one.longest} of {one.cases})"
        )

    def _by_source(self, kind: str) -> Mapping[str, Seen]:
        return {str(name): some for name, some in self.findings.items()}.get(kind, {})


def _stated(counts: Iterable[Counted]) -> float:
    known = list(counts)
    return (sum(one.right for one in known) + 1) / (sum(one.cases for one in known) + 2)


def _words(kind: str) -> str:
    return kind.replace("_", " ")


@cache
def fitted() -> Fitted:
    """The numbers that the package brings."""
    text = importlib.resources.files("harness.scoring.failures").joinpath("fitted.json").read_text(encoding="utf-8")
    return Fitted.model_validate_json(text)


_WEIGHT: Final = 10
_ASSUMED: Mapping[str, float] = MappingProxyType(
    {
        "plan_for_another_task": 0.5,
        "plan_not_carried_out": 0.45,
        "objective_switched": 0.25,
        "goal_left_out": 0.25,
        "answer_off_goal": 0.25,
        "unchecked_answer": 0.4,
        "claimed_check": 0.42,
        "first_result_carried": 0.45,
        "assumed_data": 0.4,
        "worker_result_carried": 0.3,
        "failed_code_carried": 0.35,
        "first_answer_carried": 0.25,
        "unsourced_figures_carried": 0.45,
        "recalled_figures": 0.4,
        "carried_premise": 0.42,
        "contradicted_user_carried": 0.55,
        "injected_answer_carried": 0.5,
        "hidden_error_carried": 0.45,
        "contradicted_answer_carried": 0.45,
        "miscopied_value": 0.55,
        "invented_tool": 0.35,
        "guessed_argument": 0.4,
        "ambiguous_match": 0.4,
        "unread_items": 0.4,
        "foreign_task": 0.4,
        "wrong_target": 0.5,
        "wrong_argument": 0.5,
        "wrong_encoding": 0.5,
        "unwarranted_write": 0.5,
        "needless_write": 0.4,
        "missing_reads": 0.4,
        "unsupported_answer": 0.4,
        "first_change": 0.42,
        "refused": 0.4,
        "stuck_on_error": 0.3,
        "echoed_call": 0.3,
        "barren_calls": 0.3,
        "repeated_call": 0.3,
        "repeated_cycle": 0.3,
        "missing_write": 0.25,
        "stopped_early": 0.25,
        "claimed_call": 0.21,
        "fabricated_result": 0.21,
    }
)
_OTHERWISE: Final = 0.15
_JUDGED: Final = "judged"
_CITED: Final = 0.6
"""How often the first step that a judge cites is taken to be the decisive one, where the mode is really there."""
_TOOLS: Final[frozenset[str]] = frozenset(
    {"hidden_error_carried", "injected_answer_carried", "contradicted_answer_carried"}
)
"""Kinds that begin in a tool's answer, which stands in the step of the agent's call."""


class Suspect(Frozen):
    """A step that may have decided the trial."""

    step: int
    agent: str | None
    """Whose step it is; None: the user's, or a tool's answer in it."""
    source: Literal["agent", "user", "system", "tool"]
    """Whose message it began in."""
    failure: Failure
    kind: Kind | OwnKind
    reason: str
    prevention: str | None
    """What would have stopped it; None: not told."""
    probability: float | None = None
    """That the step is the first wrong write, for a kind that is about one and that several benchmarks were counted
    for (`Fitted.probability`); None: nothing holds that could be stated.
    """
    writes: Counted | None = None
    """Of the benchmarks' failed runs in which its kind was named first: how often its step was the first wrong write;
    None: the kind is not about a change, or not the first one named.
    """
    counted: Counted | None
    """Of the labelled runs in which its kind stood first: how often people named its step; None: not counted."""


def suspects(
    diagnoses: Sequence[Diagnosis],
    trajectory: Trajectory,
    *,
    success: bool | None,
    numbers: Fitted | None = None,
) -> tuple[Suspect, ...]:
    """Steps by falling weight, the earlier first of equals; empty for a success, and where nobody can tell.

    `diagnoses`: findings and hints. The step may be the user's or a tool's: then its agent is None.
    """
    if success:
        return ()
    weights = _Weights(fitted() if numbers is None else numbers)
    by_step: dict[int, Diagnosis] = {}
    for one in diagnoses:
        step = one.origin_step
        if step is None or one.failure == "other":
            continue
        known = by_step.get(step)
        if known is None or weights.of(one) > weights.of(known):
            by_step[step] = one
    steps = {step.index: step for step in trajectory.steps}
    ranked: list[Suspect] = []
    for step, one in sorted(by_step.items(), key=lambda pair: (-weights.of(pair[1]), pair[0])):
        if not ranked and weights.of(one) < weights.certain:
            return ()
        at = steps.get(step)
        chance = None if ranked else weights.probability(one.kind)
        source = "tool" if one.kind in _TOOLS else "agent" if at is None else at.source
        ranked.append(
            Suspect(
                step=step,
                agent=(at.agent or trajectory.agent) if at is not None and source == "agent" else None,
                source=source,
                failure=one.failure,
                kind=one.kind,
                reason=one.evidence,
                prevention=one.prevention,
                probability=None if chance is None else round(chance, 2),
                counted=weights.counted.get(one.kind),
                writes=None if ranked else weights.writes.get(one.kind),
            )
        )
    return tuple(ranked)


class _Weights:
    def __init__(self, numbers: Fitted) -> None:
        self.certain = numbers.certain
        self.probability = numbers.probability
        self.counted: Mapping[str, Counted] = {str(kind): counted for kind, counted in numbers.steps.items()}
        self.writes = {
            str(kind): Counted(
                right=sum(one.right for one in some.values()), cases=sum(one.cases for one in some.values())
            )
            for kind, some in numbers.writes.items()
        }
        cases = sum(one.cases for one in numbers.steps.values())
        self._mean = sum(one.right for one in numbers.steps.values()) / cases if cases else 0.0

    def of(self, one: Diagnosis) -> float:
        counted = self.counted.get(one.kind)
        if counted is not None:
            return (counted.right + self._mean * _WEIGHT) / (counted.cases + _WEIGHT)
        if one.kind == _JUDGED:
            return _CITED * one.confidence
        known = _ASSUMED.get(one.kind)
        return _OTHERWISE * one.confidence if known is None and ":" in one.kind else known or _OTHERWISE


# The failure modes that a trial's findings and hints point at, the likeliest first, without a probability.
#
# No probability is stated, because none held on a source that was left out: how often people give a mode differs
# between
# sources more than it does between kinds. What was counted on labelled runs stands with each mode instead.
#
# The order is by a noisy-or. Of each kind it is counted how many of the runs in which it stood people gave its mode
# (`Fitted.findings`): a source's share, drawn towards the mode's rate at large in these sources as if `_WEIGHT`
# further
# runs had that rate `b`. With p_k the share of a kind, a mode's weight is 1 - (1 - b) * prod((1 - p_k) / (1 - b)),
# over
# the kinds with p_k > b. A kind that no labelled source has, and a judge's finding, joins them with its own
# confidence.


class RankedMode(Frozen):
    """One mode of one trial."""

    failure: Failure
    weight: float
    """What the order is by, from 0 to 1: how strongly the trial points at the mode, as a rank. It is not a
    probability. A mode that is not listed has 0.
    """
    kinds: tuple[Kind | OwnKind, ...]
    """The kinds of its findings and hints."""
    counted: dict[str, dict[str, Seen]] = {}
    """Kind -> source -> what people gave the labelled runs in which it stands; a missing kind stands in none."""


def ranked_modes(diagnoses: Sequence[Diagnosis], numbers: Fitted | None = None) -> tuple[RankedMode, ...]:
    """The modes of which something was found, the likeliest first. `diagnoses`: findings and hints."""
    numbers = fitted() if numbers is None else numbers
    counts = {str(kind): seen for kind, seen in numbers.findings.items()}
    by_mode: dict[Failure, list[Diagnosis]] = {}
    for one in diagnoses:
        if one.failure not in ("other", "wrong_outcome"):
            by_mode.setdefault(one.failure, []).append(one)
    weights = {mode: _weight(some, counts) for mode, some in by_mode.items()}
    return tuple(
        RankedMode(
            failure=mode,
            weight=round(weights[mode], 4),
            kinds=kinds,
            counted={kind: counts[kind] for kind in kinds if kind in counts},
        )
        for mode in sorted(weights, key=lambda mode: (-weights[mode], mode))
        for kinds in [tuple(sorted({one.kind for one in by_mode[mode]}))]
    )


def _weight(found: Sequence[Diagnosis], counts: Mapping[str, Mapping[str, Seen]]) -> float:
    kinds = {one.kind: one.confidence for one in sorted(found, key=lambda one: one.confidence)}
    counted = [counts[kind] for kind in kinds if kind in counts]
    none = prod(1 - confidence for kind, confidence in kinds.items() if kind not in counts)
    if counted:
        rate = _rate(counted)
        shares = [_share(seen.values(), rate) for seen in counted]
        none *= (1 - rate) * prod((1 - share) / (1 - rate) for share in shares if share > rate)
    return 1 - none


def _rate(known: Iterable[Mapping[str, Seen]]) -> float:
    """The mode's rate among all labelled runs of the sources in which one of the kinds stands."""
    sources = {source: one for seen in known for source, one in seen.items()}
    labelled = sum(one.labelled for one in sources.values())
    return (labelled + 1) / (sum(one.runs for one in sources.values()) + 2)


def _share(seen: Iterable[Seen], rate: float) -> float:
    counted = list(seen)
    right = sum(one.right for one in counted)
    return (right + rate * _WEIGHT) / (sum(one.cases for one in counted) + _WEIGHT)


# One finding a cause: what began at one step in one way is one finding, whatever number of values it shows in.

_HABITS: Final[frozenset[Kind]] = frozenset({"guessed_argument", "unseen_target", "fabricated_result"})
"""What an agent that does it once does again: one finding from the first on."""


def by_cause(found: Iterable[Diagnosis]) -> tuple[Diagnosis, ...]:
    """Findings of one kind that began at one step as one, and those of a habit as one from its first step on.

    The evidence is the first one's, with the number of the others; the confidence is the highest.
    """
    groups: dict[tuple[str, str, int | None], list[Diagnosis]] = {}
    for one in found:
        step = None if one.kind in _HABITS else one.origin_step
        groups.setdefault((one.failure, one.kind, step), []).append(one)
    return tuple(_joined(group) for group in groups.values())


def _joined(group: Sequence[Diagnosis]) -> Diagnosis:
    if len(group) == 1:
        return group[0]
    first = min(group, key=lambda one: -1 if one.origin_step is None else one.origin_step)
    steps = {step for one in group for step in (one.origin_step, *one.dependent_steps) if step is not None}
    more = len(group) - 1
    return first.model_copy(
        update={
            "dependent_steps": tuple(sorted(steps - {first.origin_step})),
            "evidence": f"{first.evidence}; and {more} more of the kind",
            "confidence": max(one.confidence for one in group),
        }
    )
