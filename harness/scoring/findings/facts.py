"""All facts of one trial, the suite's own detectors, and the steps at which a trial may have gone wrong."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, cast, get_args

from harness.errors import OutOfTime
from harness.plugins import described
from harness.scoring.evidence import Evidence
from harness.scoring.findings.calls import facts_of_calls
from harness.scoring.findings.loops import loops
from harness.scoring.findings.outcome import facts_of_outcome, has_failed, place_to_look
from harness.scoring.findings.reading import Act, read
from harness.scoring.rules.learned import RuleResult, broken
from harness.scoring.scorecard import DETECTOR_FAILED, FACTS_VERSION, Detector, Diagnosis, Failure, Kind, OwnKind
from harness.traces.trajectory import Content, Trajectory
from harness.values import Frozen


class Definition(NamedTuple):
    """What a kind of fact says, and what it reads."""

    modes: tuple[Failure, ...]
    """The second one if later calls depend on its value."""
    says: str
    reads: frozenset[Content]
    """If the spans do not carry it, the kind is not searched for."""


_NOTHING: Final[frozenset[Content]] = frozenset()
_CALLS: Final[frozenset[Content]] = frozenset({"arguments"})
_TRAFFIC: Final[frozenset[Content]] = frozenset({"arguments", "results"})
_ALL: Final[frozenset[Content]] = frozenset(get_args(Content))

FACTS: Final[Mapping[Kind, Definition]] = MappingProxyType(
    {
        "repeated_call": Definition(
            ("loop_trap",),
            "A call, or a cycle of up to four calls, was made three times running and answered the same each time; or a"
            " read was made four times with the same answer while the user said nothing and nothing was written; or a"
            " query was asked three more times in other words, in whatever arguments, and told no new word. A query"
            " with another number, or with other words in one place only, asks for something else: a sweep is no"
            " repetition. Not if the reference repeats the call.",
            _TRAFFIC,
        ),
        "unchanged_retry": Definition(
            ("loop_trap",),
            "A call failed and was made again with equal arguments while the user said nothing and nothing was written"
            " (of an error that can pass, as a timeout, twice again); or"
            " five calls of one tool failed running with the same error. An error without words, as of a search"
            " without a match, is none.",
            _TRAFFIC,
        ),
        "invented_tool": Definition(
            ("tool_hallucination",),
            "A call of a tool that is not declared, or that whoever ran the tools did not know.",
            _NOTHING,
        ),
        "invalid_parameter": Definition(
            ("tool_hallucination",),
            "An argument that the tool's closed schema does not have, also one with an empty name; or arguments that"
            " are no JSON object.",
            _CALLS,
        ),
        "forbidden_call": Definition(
            ("goal_drift",), "A call of a declared tool that the case forbids or does not offer.", _NOTHING
        ),
        "needless_write": Definition(
            ("goal_drift",), "A write that answers none of the reference's, in a failed trial.", _CALLS
        ),
        "limit_reached": Definition(("goal_drift",), "The trial ended at a limit.", _NOTHING),
        "wrong_write": Definition(
            ("premature_commitment",),
            "A write of the reference that was made with other arguments, or before what the reference makes before it,"
            " in a failed trial.",
            _CALLS,
        ),
        "missing_write": Definition(
            ("premature_commitment", "cascading_error"),
            "A write of the reference that was not made, in a failed trial. If the tool refused it after the agent's"
            " own write to the same object, it began there, and is a cascade.",
            _CALLS,
        ),
        "stopped_early": Definition(
            ("premature_commitment",),
            "A failed trial in which the agent ended by itself without a required tool, without a tool of the"
            " reference, or without an answer.",
            _CALLS | {"answer"},
        ),
        "handed_over": Definition(
            ("premature_commitment",),
            "The agent handed over to a person and left a write undone, though the reference does not hand over.",
            _CALLS,
        ),
        "unfounded_value": Definition(
            ("premature_commitment", "cascading_error"),
            "An identifier in a call that stands nowhere in what the agent had been given, if the call failed, wrote,"
            " or later calls depend on it and no answer confirmed it.",
            _ALL,
        ),
        "miscopied_value": Definition(
            ("premature_commitment", "cascading_error"),
            "As `unfounded_value`, if the value differs in one or two characters from one that had been given.",
            _ALL,
        ),
        "ignored_error": Definition(
            ("cascading_error",),
            "A write failed and was not made again, and a later write went on with its identifiers.",
            _TRAFFIC,
        ),
    }
)
"""Every kind of fact."""

BUILT_IN: Final = "facts"
"""The name of the harness's own facts among detectors."""


def outdated(scored_by: Mapping[str, str], current: Mapping[str, str] | None = None) -> tuple[str, ...]:
    """`detector:facts 1, now 2` for each name of `current` (default: the facts) that differs in stored results."""
    current = {f"detector:{BUILT_IN}": FACTS_VERSION} if current is None else current
    return tuple(
        f"{name} {scored_by.get(name, 'absent')}, now {version}"
        for name, version in sorted(current.items())
        if scored_by.get(name) != version
    )


# Findings.

_RANKS: Final[Mapping[str, int]] = MappingProxyType(
    {
        **dict.fromkeys(("judged", "wrong_write", "needless_write", "forbidden_call"), 0),
        **dict.fromkeys(("handed_over", "miscopied_value"), 1),
        **dict.fromkeys(("missing_write", "unfounded_value", "repeated_call"), 2),
        "unexplained": 4,
        **dict.fromkeys(("invented_tool", "invalid_parameter", "ignored_error", "unchanged_retry"), 6),
        "stopped_early": 7,
        "limit_reached": 8,
    }
)
"""By how much a kind explains a failure; lower comes first. What stands behind `unexplained` explains little by
itself: agents get over most errors, and an end has a cause.
"""
_RANK_OF_RULE: Final[Mapping[str, int]] = MappingProxyType({"case": 3, "category": 5, "suite": 5})
"""Of a broken rule, by its scope: a case's own rules know its calls; the others seldom name the cause of a failure."""
_OWN: Final = 2
"""Of a kind of a suite's own detector."""


def diagnose(evidence: Evidence, own: Sequence[Detector] = ()) -> tuple[Diagnosis, ...]:
    """Every fact, and every finding of `own`, by origin step.

    Pure and deterministic; time linear in the trajectory. Successful trials are examined too: a loop that was left
    again was a loop. `unexplained` is a failed trial of which no fact says why. What raises in one of `own` is a
    finding of `other` at confidence 0.
    """
    reading = read(evidence)
    found = [*loops(evidence), *facts_of_calls(reading), *facts_of_outcome(reading)]
    uncaptured = evidence.trial.trajectory.uncaptured
    if uncaptured:
        found = [one for one in found if FACTS[cast(Kind, one.kind)].reads.isdisjoint(uncaptured)]
    for detector in own:
        found.extend(_found_by(detector, evidence))
    if not uncaptured and has_failed(evidence) and not any(_explains(one) for one in found):
        place = place_to_look(reading)
        found += [_unexplained(evidence, place)] if place is not None or not found else []
    return tuple(sorted(found, key=by_origin)) if len(found) > 1 else tuple(found)


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


def by_origin(one: Diagnosis) -> tuple[int, str, str, str]:
    """The order in which findings are listed."""
    return (-1 if one.origin_step is None else one.origin_step, one.failure, one.kind, one.evidence)


def _explains(one: Diagnosis) -> bool:
    return _RANKS.get(one.kind, _OWN) < _RANKS["unexplained"]


def _unexplained(evidence: Evidence, place: Act | None) -> Diagnosis:
    reasons = [f"{verdict.check}: {verdict.reason}" for verdict in evidence.verdicts if verdict.passed is False]
    reasons += [] if evidence.trial.reason is None else [evidence.trial.reason]
    look = [] if place is None else [f"no fact explains it; a place to look first is {place.call.name}"]
    return Diagnosis(
        failure="other",
        kind="unexplained",
        origin_step=None if place is None else place.step,
        evidence="; ".join([*look, *reasons]) or evidence.trial.outcome,
        severity="warning",
        version=FACTS_VERSION,
    )


# The step at which a failed trial may have gone wrong.


class Suspect(Frozen):
    """A step at which a failed trial may have gone wrong."""

    step: int
    agent: str | None
    """Whose step it is; None: the user's."""
    source: Literal["agent", "user", "system"]
    failure: Failure
    kind: Kind | OwnKind | Literal["broken_rule"]
    """`unexplained`: no fact names the step; see `place_to_look`. `broken_rule`: a change of behaviour."""
    reason: str


def suspects(
    diagnoses: Sequence[Diagnosis],
    trajectory: Trajectory,
    *,
    success: bool | None,
    rules: Sequence[RuleResult] = (),
) -> tuple[Suspect, ...]:
    """Steps by rank of their facts, the earlier first of equals, and behind what explains the failure the learned rules
    that were broken, in the order of `harness.scoring.rules.learned.broken`. Empty for a success.
    """
    if success:
        return ()
    ranked: list[tuple[int, int, int, Failure, Kind | OwnKind | Literal["broken_rule"], str]] = [
        (_RANKS.get(one.kind, _OWN), one.origin_step, one.origin_step, one.failure, one.kind, one.evidence)
        for one in diagnoses
        if one.origin_step is not None
    ]
    ranked += [
        (_RANK_OF_RULE[one.scope], place, one.step, "other", "broken_rule", f"{one.rule}: {one.reason} ({one.support})")
        for place, one in enumerate(broken(rules))
        if one.step is not None
    ]
    steps = {step.index: step for step in trajectory.steps}
    found: dict[int, Suspect] = {}
    for _, _, number, failure, kind, reason in sorted(ranked, key=lambda one: one[:2]):
        step = steps.get(number)
        source = "agent" if step is None else step.source
        agent = (step.agent or trajectory.agent) if step is not None and source == "agent" else None
        suspect = Suspect(step=number, agent=agent, source=source, failure=failure, kind=kind, reason=reason)
        found.setdefault(number, suspect)
    return tuple(found.values())
