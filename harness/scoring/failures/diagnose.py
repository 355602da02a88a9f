"""All detectors over one trial."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, cast, get_args

from harness.errors import OutOfTime, UsageError
from harness.plugins import Registry, described
from harness.scoring.alignment import Deviation, DeviationKind, deviations_from_reference
from harness.scoring.evidence import Evidence, calls_of, content_words, fed_calls, step_of_call
from harness.scoring.failures.lookups import is_answer
from harness.scoring.failures.ranking import Fitted, by_cause, fitted
from harness.scoring.failures.reading import has_failed
from harness.scoring.scorecard import DETECTOR_FAILED, Detector, Diagnosis, Failure, Kind
from harness.suite.cases import UNTOLD_TASK
from harness.traces.trajectory import Content

# The detectors by name: the built-in ones, applied to every trial, and those that a suite names itself.

OTHER: Final = "other"
OTHER_VERSION: Final = "2"
"""Of the finding that stands where a trial is known to have failed and no detector found anything."""

DETECTORS: Final = Registry(
    seam="metric",
    built_in={
        "loop_trap": "harness.scoring.failures.loops:LoopTrap",
        "stuck": "harness.scoring.failures.loops:Stuck",
        "barren": "harness.scoring.failures.loops:UninformativeRepeats",
        "tool_hallucination": "harness.scoring.failures.hallucination:ToolHallucination",
        "claims": "harness.scoring.failures.claims:Claims",
        "assumptions": "harness.scoring.failures.hallucination:Assumptions",
        "unsupported": "harness.scoring.failures.lookups:Unsupported",
        "goal_drift": "harness.scoring.failures.goal_drift:GoalDrift",
        "objective": "harness.scoring.failures.goal_drift:Objective",
        "premature_commitment": "harness.scoring.failures.commitment:PrematureCommitment",
        "wrong_outcome": "harness.scoring.failures.wrong_outcome:WrongOutcome",
        "first_change": "harness.scoring.failures.commitment:FirstChange",
        "cascading_error": "harness.scoring.failures.cascading_error:CascadingError",
        "conversation": "harness.scoring.failures.conversation:BrokenConversation",
        "figures": "harness.scoring.failures.conversation:UngroundedFigures",
        "listed_items": "harness.scoring.failures.commitment:ListedItems",
        "claimed_checks": "harness.scoring.failures.hallucination:ClaimedChecks",
        "lookups": "harness.scoring.failures.lookups:Lookups",
        "wrong_sources": "harness.scoring.failures.cascading_error:WrongSources",
        "premises": "harness.scoring.failures.lookups:Premises",
    },
)
"""A new detector is its own file and one line here."""


def built_in_detectors() -> tuple[Detector, ...]:
    """All of them, in the order of the registry."""
    return tuple(cast(Detector, kind()) for kind in _built_in())


@cache
def _built_in() -> tuple[type[Any], ...]:
    return tuple(_detector_class(name, None) for name in DETECTORS.built_in)


def _detector_class(name: str, folder: Path | None) -> type[Any]:
    found = DETECTORS.find(name, folder)
    if not isinstance(found, type):
        raise UsageError(f"detector {name!r}: expected a class, found {type(found).__name__}")
    for needed in ("name", "version", "find"):
        if not hasattr(found, needed):
            raise UsageError(f"detector {name!r}: the class {found.__name__} has no `{needed}`")
    return found


def built_in_versions() -> Mapping[str, str]:
    """Detector -> its version; unlike ones do not compare."""
    return MappingProxyType({one.name: one.version for one in built_in_detectors()} | {OTHER: OTHER_VERSION})


# What each kind of finding reads of a trajectory: where spans do not carry it, the kind is not searched for.
#
# Instrumentations leave out content unless they are told to capture it. A loop can be seen in calls and results
# without a
# word of what was said, a tool that does not exist by its name alone.

_ALL: Final[frozenset[Content]] = frozenset(get_args(Content))
_CALLS: Final[frozenset[Content]] = frozenset({"arguments"})
_TRAFFIC: Final[frozenset[Content]] = frozenset({"arguments", "results"})
_WORDS: Final[frozenset[Content]] = frozenset({"answer", "messages"})

KINDS: Final[Mapping[Failure, Mapping[Kind, frozenset[Content]]]] = MappingProxyType(
    {
        "loop_trap": {
            "repeated_call": _TRAFFIC,
            "repeated_cycle": _TRAFFIC,
            "stuck_on_error": _TRAFFIC,
            "barren_calls": _TRAFFIC,
            "echoed_call": _ALL,
        },
        "goal_drift": {
            "foreign_task": _ALL,
            "plan_for_another_task": _WORDS,
            "plan_not_carried_out": _ALL,
            "goal_left_out": _WORDS | _CALLS,
            "objective_switched": _WORDS | _CALLS,
            "answer_off_goal": _WORDS | _CALLS,
        },
        "tool_hallucination": {
            "invented_tool": frozenset(),
            "invented_parameter": _CALLS,
            "made_up_data": _WORDS,
            "claimed_call": _WORDS | _CALLS,
            "fabricated_result": _ALL,
            "unsupported_answer": _ALL,
        },
        "premature_commitment": {
            "guessed_argument": _ALL,
            "unseen_target": _ALL,
            "missing_reads": _TRAFFIC,
            "stopped_early": _CALLS | _WORDS,
            "unwarranted_write": _TRAFFIC,
            "assumed_data": _WORDS,
            "stated_assumption": _WORDS,
            "recalled_figures": _ALL,
            "unchecked_answer": _ALL,
            "claimed_check": _WORDS,
            "ambiguous_match": _ALL,
            "unread_items": _ALL,
        },
        "cascading_error": {
            "miscopied_value": _ALL,
            "invented_value": _ALL,
            "carried_premise": _ALL,
            "unsourced_figures_carried": _ALL,
            "first_result_carried": _WORDS,
            "failed_code_carried": _WORDS,
            "first_answer_carried": _WORDS,
            "worker_result_carried": _WORDS,
            "hidden_error_carried": _ALL,
            "injected_answer_carried": _ALL,
            "contradicted_answer_carried": _ALL,
            "contradicted_user_carried": _ALL,
        },
        "wrong_outcome": {
            "wrong_target": _CALLS,
            "wrong_argument": _CALLS,
            "wrong_encoding": _CALLS,
            "missing_write": _CALLS,
            "needless_write": _CALLS,
            "wrong_order": _CALLS,
            "wrong_words": _WORDS,
            "left_to_the_user": _CALLS | _WORDS,
            "refused": _CALLS | _WORDS,
            "first_change": _CALLS,
        },
        "other": {
            "wrong_tool": _CALLS,
            "missing_call": _CALLS,
            "wrong_answer": _CALLS,
            "failed_without_a_known_mode": _ALL,
            "judged": frozenset(),
        },
    }
)
"""Mode -> its kinds -> the content that they read. A judge's findings name what was judged, of any mode."""
_READS: Final[Mapping[str, frozenset[Content]]] = MappingProxyType(
    {str(kind): read for kinds in KINDS.values() for kind, read in kinds.items()}
)


def can_be_told(kind: str, uncaptured: Collection[Content]) -> bool:
    """Whether what a kind reads was captured; one of a suite's own detectors reads everything."""
    return not uncaptured or _READS.get(kind, _ALL).isdisjoint(uncaptured)


def not_searched_for(uncaptured: Collection[Content]) -> dict[Failure, str]:
    """Mode -> which of its kinds are still searched for, if any, and what the spans lack; empty where nothing lacks."""
    found: dict[Failure, str] = {}
    for mode, kinds in KINDS.items():
        lost = [read for read in kinds.values() if not read.isdisjoint(uncaptured)]
        if not lost:
            continue
        lacking = [one for one in uncaptured if any(one in read for read in lost)]
        left = [kind.replace("_", " ") for kind, read in kinds.items() if read.isdisjoint(uncaptured)]
        known = f"only these are searched for: {', '.join(left)}; " if left and mode != "other" else ""
        found[mode] = f"{known}the spans do not carry {content_words(lacking)}"
    return found


def diagnose(evidence: Evidence, own: Sequence[Detector] = ()) -> tuple[Diagnosis, ...]:
    """Every finding of the built-in detectors and of `own`, by origin step.

    Pure and deterministic; the built-in ones take time linear in the trajectory. Successful trials are examined too: a
    loop that was left again was a loop. `other` stands alone, where the trial is known to have failed and
    no detector found anything: its kind is the first place where the calls differ from the reference, or else
    `failed_without_a_known_mode`. What raises in one of `own` is a finding of `other` at confidence 0.
    """
    return findings(evidence, own=own)[0]


def findings(
    evidence: Evidence, numbers: Fitted | None = None, *, own: Sequence[Detector] = ()
) -> tuple[tuple[Diagnosis, ...], tuple[Diagnosis, ...]]:
    """(findings, hints). `numbers`: what was counted on labelled runs; None: what the package brings.

    A hint is of a kind that is inferred and that two labelled sources did not confirm (see `Fitted.is_finding`): it is
    not a fact, and is shown only on request. A kind that reads what the spans do not carry is neither.
    """
    numbers = fitted() if numbers is None else numbers
    found = [one for detector in built_in_detectors() for one in detector.find(evidence)]
    found += [one for detector in own for one in _found_by(detector, evidence)]
    uncaptured = evidence.trial.trajectory.uncaptured
    if uncaptured:
        found = [one for one in found if can_be_told(one.kind, uncaptured)]
    ordered = sorted(by_cause(found), key=_order)
    facts = tuple(one for one in ordered if numbers.is_finding(one.kind))
    hints = tuple(one for one in ordered if not numbers.is_finding(one.kind))
    unnamed = has_failed(evidence) and not uncaptured  # a mode that is not searched for may be the reason
    return (facts or ((_other(evidence),) if unnamed else ()), hints)


def _found_by(detector: Detector, evidence: Evidence) -> Iterator[Diagnosis]:
    try:
        for one in detector.find(evidence):
            yield one if one.version == detector.version else one.model_copy(update={"version": detector.version})
    except OutOfTime:
        raise
    except Exception as error:  # noqa: BLE001 - a plug-in's own code: its fault must cost no other finding of the trial
        yield Diagnosis(
            failure="other",
            kind=f"{detector.name}:detector_failed",
            origin_step=None,
            evidence=f"{DETECTOR_FAILED}{described(error)}",
            confidence=0.0,
            version=detector.version,
        )


def _order(one: Diagnosis) -> tuple[int, str, str, str]:
    return (-1 if one.origin_step is None else one.origin_step, one.failure, one.kind, one.evidence)


def _other(evidence: Evidence) -> Diagnosis:
    """The failure that no detector names: by the first place where the calls differ from the reference, if any does."""
    reasons = [f"{verdict.check}: {verdict.reason}" for verdict in evidence.verdicts if verdict.passed is False]
    if evidence.trial.reason is not None:
        reasons.append(evidence.trial.reason)
    reason = "; ".join(reasons) or evidence.trial.outcome
    place = _unlike_reference(evidence)
    return Diagnosis(
        failure="other",
        kind="failed_without_a_known_mode" if place is None else _KINDS[place[0].kind],
        origin_step=None if place is None else place[1],
        evidence=reason if place is None else f"{place[0].words}; {reason}",
        confidence=1.0 if place is None else _BY_REFERENCE,
        version=OTHER_VERSION,
    )


_BY_REFERENCE = 0.5
"""Of a kind that the reference tells: another way than its may be right too."""
_KINDS: Mapping[DeviationKind, Kind] = MappingProxyType(
    {
        "wrong_tool": "wrong_tool",
        "wrong_arguments": "wrong_argument",
        "missing_call": "missing_call",
        "needless_write": "needless_write",
        "wrong_order": "wrong_order",
        "wrong_answer": "wrong_answer",
    }
)


def _unlike_reference(evidence: Evidence) -> tuple[Deviation, int] | None:
    """The first deviation that is not a needless read, and its step; a wrong answer where the calls are right.

    None without a reference, and for a trial that did not finish: what its calls lack tells nothing.
    """
    if evidence.case.reference is None or evidence.trial.outcome != "finished" or evidence.success is not False:
        return None
    calls = fed_calls(evidence.trial)
    found = deviations_from_reference(calls, evidence.case.reference, evidence.tools)
    first = next((one for one in found if one.kind != "needless_read"), None)
    if first is None:
        first = Deviation(kind="wrong_answer", at=len(calls))
    return first, step_of_call(calls, evidence.trial, first.at)


# Which modes are not measured in a trial, and why: silence about these is not a finding of health.
#
# The trial gives nothing to measure by, or what points at the mode is of a kind that is not reported as a finding.


def not_measured(
    evidence: Evidence, facts: Sequence[Diagnosis] = (), hints: Sequence[Diagnosis] = ()
) -> dict[Failure, str]:
    """Mode -> reason. A mode that is not in it was searched for. `facts` and `hints`: what was found in the trial."""
    uncaptured = not_searched_for(evidence.trial.trajectory.uncaptured)
    return {**_only_hinted_at(facts, hints), **_nothing_to_measure_by(evidence), **uncaptured}


def _only_hinted_at(facts: Sequence[Diagnosis], hints: Sequence[Diagnosis]) -> dict[Failure, str]:
    """The modes that hints alone point at, with the counts that keep the first of them from being a finding."""
    known = {one.failure for one in facts}
    found: dict[Failure, str] = {}
    for one in hints:
        reason = None if one.failure in known else fitted().reason_for_hint(one.kind)
        if reason is not None:
            found.setdefault(one.failure, f"hints alone point at it: {reason}")
    return found


def _nothing_to_measure_by(evidence: Evidence) -> dict[Failure, str]:
    found: dict[Failure, str] = {}
    calls = calls_of(evidence)
    if not calls and not evidence.tools:
        found["loop_trap"] = "no calls are recorded"
        found["tool_hallucination"] = "no calls are recorded: only data that the agent says it made up are searched for"
    if evidence.case.task == UNTOLD_TASK:
        found["goal_drift"] = "no goal text is told"
    elif calls and not any(map(is_answer, calls)):
        found["goal_drift"] = "no answer is handed in by a call: only work on foreign cases is searched for"
    if not calls:
        found["premature_commitment"] = (
            "no calls are recorded: only assumptions that the agent states itself are searched for"
        )
        found["cascading_error"] = "no calls are recorded: what words alone say of it is a hint"
    if evidence.case.reference is None:
        found["wrong_outcome"] = "the case has no reference"
    elif evidence.success is None:
        found["wrong_outcome"] = "whether the trial succeeded is not known"
    return found


# What stored results were evaluated by in another version than the one that is installed.


def outdated(scored_by: Mapping[str, str], current: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """`detector:loop_trap 3, now 4` for each name of `current` (default: the built-in detectors) that differs."""
    if current is None:
        current = {f"detector:{name}": version for name, version in built_in_versions().items()}
    return tuple(
        f"{name} {scored_by.get(name, 'absent')}, now {version}"
        for name, version in sorted(current.items())
        if scored_by.get(name) != version
    )
