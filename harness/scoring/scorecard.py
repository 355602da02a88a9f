"""What scoring gives for one trial: scores, findings, the use of tools, and the interfaces of what decides,
measures and diagnoses.
"""

import math
import re
from collections.abc import Iterator, Sequence
from typing import Annotated, ClassVar, Final, Literal, Protocol, get_args

from pydantic import Field

from harness.errors import UsageError
from harness.scoring.evidence import Evidence, Verdict
from harness.scoring.rules.learned import RuleResult
from harness.traces.outcomes import MEASURED, Cause, Outcome
from harness.values import Frozen, JsonObject

Failure = Literal["loop_trap", "goal_drift", "tool_hallucination", "premature_commitment", "cascading_error", "other"]
"""The five modes of the taxonomy; `other` is a failure without a fact, and a detector of a suite that raised."""

MODES: Final[frozenset[Failure]] = frozenset(get_args(Failure)) - {"other"}

Severity = Literal["error", "warning"]
"""`error`: the call, its absence or the end is wrong by a schema, the case or its reference. `warning`: it can be
harmless.
"""

Kind = Literal[
    "invented_tool",
    "invalid_parameter",
    "forbidden_call",
    "wrong_write",
    "missing_write",
    "needless_write",
    "repeated_call",
    "unchanged_retry",
    "ignored_error",
    "unfounded_value",
    "miscopied_value",
    "stopped_early",
    "limit_reached",
    "handed_over",
    "judged",
    "unexplained",
]
"""The kinds of facts, a closed list, which `harness.scoring.findings.facts` describes; `judged`: a judge's finding;
`unexplained`: a failed trial in which no fact was found.
"""
_WARNINGS: Final[frozenset[Kind]] = frozenset(
    {"repeated_call", "unchanged_retry", "ignored_error", "unfounded_value", "miscopied_value"}
)

OwnKind = Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+:[a-z0-9_]+$")]
"""A kind of a detector that is not built in: `<name of the detector>:<kind>`."""


class Diagnosis(Frozen):
    """One finding. A trial may have several, of the same failure too if the origins differ."""

    failure: Failure
    kind: Kind | OwnKind
    origin_step: int | None
    """Index of the step in which it began; None: not known."""
    dependent_steps: tuple[int, ...] = ()
    """Later steps that repeat it or rest on it, ascending."""
    evidence: str
    """What the calls, schemas, answers, reference or end state show."""
    severity: Severity = "error"
    confidence: float = Field(default=1.0, ge=0, le=1)
    """1 for a fact; of a judge's finding, how often the judge agrees with people."""
    version: str
    """The detector's, changed whenever the same evidence could give another finding."""


FACTS_VERSION: Final = "1"


def fact(mode: Failure, kind: Kind, step: int, evidence: str, *, later: Sequence[int] = ()) -> Diagnosis:
    """A finding of the harness's own. `later`: the steps that repeat it or depend on it, ascending."""
    return Diagnosis(
        failure=mode,
        kind=kind,
        origin_step=step,
        dependent_steps=tuple(later),
        evidence=evidence,
        severity="warning" if kind in _WARNINGS else "error",
        version=FACTS_VERSION,
    )


class Score(Frozen):
    """One metric's value. None if it does not apply or is not known; None is never averaged as 0."""

    metric: str
    version: str
    value: float | None = Field(allow_inf_nan=False)
    explanation: str = ""
    lower_is_better: bool = False


ParameterFault = Literal["unparsed", "unknown", "missing", "wrong_type", "out_of_range", "other"]
"""What is wrong with a call's arguments: no JSON object; a parameter that the tool does not have; a required one left
out; another JSON type than declared; a value outside what the schema allows (enum, bounds, pattern, length); else."""


class ToolUse(Frozen):
    """How one tool was used in a trial, by the model that called it."""

    tool: str
    undeclared: bool = False
    """The suite does not declare the tool: the agent chose its name."""
    others: int = 0
    """If not 0: the calls of so many undeclared names together, which have no row of their own."""
    model: str | None = None
    """None: no model traffic was seen."""
    calls: int
    wrong: int = 0
    """Calls that `tool_selection` counts as wrong."""
    invalid: dict[ParameterFault, int] = {}
    """Calls by what is wrong with their arguments, each under its first fault in the order of the kinds."""
    errors: int = 0
    """Answered with an error; misses and refusals by the step limit are not among them."""
    recovered: int = 0
    """Of the errors; see the metric `recovery`."""
    faults: int = 0
    """Met a fault that was injected on purpose."""
    misses: int = 0
    cost_usd: float | None = Field(default=None, allow_inf_nan=False)
    """The cost of the model replies that decided the calls, each divided evenly among its calls; None if it is not
    known.
    """


class Scorecard(Frozen):
    """All verdicts and scores of one trial. Holds no time, id or machine: equal trials give equal bytes."""

    case_id: str
    attempt: int
    category: str
    tags: tuple[str, ...] = ()
    outcome: Outcome
    reason: str | None = None
    cause: Cause | None = None
    """See `Trial.cause`."""
    success: bool | None
    """True if every verdict passed; None if the outcome is "not measured", when no check failed and one is
    undecided, or when the case has no check.
    """
    verdicts: tuple[Verdict, ...] = ()
    scores: tuple[Score, ...] = ()
    diagnoses: tuple[Diagnosis, ...] = ()
    """The facts that were found, by origin step; also in trials that succeeded."""
    rules: tuple[RuleResult, ...] = ()
    """What the trial did with each learned rule of its case, its category and the suite. A broken one is a change of
    behaviour, and no failure by itself.
    """
    tool_use: tuple[ToolUse, ...] = ()
    """By tool and model, in the order of their first call."""
    models: tuple[str, ...] = ()
    """The models that were seen to answer."""
    prompt: str | None = None
    """The prompts that spans name (`name@version`), else the digest of the system messages seen; None: neither was."""
    digest: str
    """The trajectory's."""

    @property
    def may_hide_failure(self) -> bool:
        """Whether it was not measured, and the agent may be the cause: a gate that allows it counts it as failed."""
        return self.outcome == "inconclusive" or (self.cause is not None and self.cause.counts_as_failed)

    @property
    def undecided(self) -> bool:
        """Whether the trial was measured and has checks, and yet it is not known whether it succeeded."""
        return self.success is None and bool(self.verdicts) and self.outcome in MEASURED

    def value(self, metric: str) -> float | None:
        """The value of a metric by name; None if it is absent or not known."""
        return next((score.value for score in self.scores if score.metric == metric), None)


class Verifier(Protocol):
    """A check. Implementations are Frozen models whose fields are the check's `with:` parameters.

    A class attribute `reads` names the content that it reads (`harness.traces.trajectory.Content`); a check without one
    is not asked if the spans of another program leave out any.
    """

    version: ClassVar[str]
    """Changed whenever the same evidence could give another verdict."""

    def verify(self, evidence: Evidence) -> tuple[bool | None, str, JsonObject]:
        """Returns (passed, description of the reason, observed data). Never raises for actions of the agent."""
        ...


class Metric(Protocol):
    """A figure about one trial. Higher is better, unless the class sets `lower_is_better = True`."""

    name: ClassVar[str]
    version: ClassVar[str]

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        """(value or None, explanation in words). Never raises for what the agent did."""
        ...


class Detector(Protocol):
    """Finds one way in which a trial went wrong, and where it began."""

    name: ClassVar[str]
    version: ClassVar[str]
    """Changed whenever the same evidence could give another finding."""

    def find(self, evidence: Evidence) -> Sequence[Diagnosis]:
        """Every finding, in any order. Pure: reads only the evidence. Never raises for what the agent did.

        A detector of a third party gives its kinds as `<name of the detector>:<kind>`.
        """
        ...


# A metric, check or detector whose own code raised: its value is not known, and the reason says so.

METRIC_FAILED = "the metric itself failed: "
CHECK_FAILED = "the check itself failed: "
DETECTOR_FAILED = "the detector itself failed: "
"""With these the reason begins; what was raised follows. They are in stored scorecards."""


def raised_by(one: Score | Verdict | Diagnosis) -> str | None:
    """What the code raised, and where; None: it did not raise."""
    if isinstance(one, Score):
        return _text_after(METRIC_FAILED, one.explanation if one.value is None else "")
    if isinstance(one, Verdict):
        return _text_after(CHECK_FAILED, one.reason if one.passed is None else "")
    return _text_after(DETECTOR_FAILED, one.evidence)


def _text_after(beginning: str, reason: str) -> str | None:
    return reason.removeprefix(beginning) if reason.startswith(beginning) else None


# The learned rules as one figure, so that gates, comparisons, trends and production follow it like any other.

RULES_HELD: Final = "rules_held"


def rules_held(rules: Sequence[RuleResult]) -> tuple[Score, ...]:
    """Learned rules that held / learned rules with an occasion, from 0 to 1. No figure if the trial has no rules; None
    if none had an occasion.
    """
    if not rules:
        return ()
    broken = [one.rule for one in rules if one.state == "broken"]
    held = sum(one.state == "held" for one in rules)
    many = held + len(broken)
    words = f"{held} of {many} learned rules held" + (f"; broken: {'; '.join(broken[:5])}" if broken else "")
    return (Score(metric=RULES_HELD, version="1", value=held / many if many else None, explanation=words),)


# A scorecard as named values, for systems that keep scores one by one. What is not known has none.
#
# success               whether every check passed
# <metric>              a number
# check.<name>          whether it passed, with the verifier's reason
# failure.<mode>        True if a fact shows it; none if no fact does, which is no proof of its absence


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
        if found:
            yield f"failure.{mode}", True, "; ".join(f"{one.kind}: {one.evidence}" for one in found)


# Floors of figures, by which a run is good enough.

SUCCESS: Final = "task_success"
"""The share of measured trials whose checks all passed."""
_FLOOR: Final = re.compile(r"\s*([A-Za-z_][\w.-]*)\s*=\s*(\S+)\s*")


def floor_of(floor: str) -> tuple[str, float]:
    """Metric and value of `METRIC=VALUE`. Raises UsageError for anything else."""
    found = _FLOOR.fullmatch(floor)
    if found is None:
        raise UsageError(
            f"invalid floor {floor!r}: expected METRIC=VALUE", remedy="for example --fail-under task_success=0.9"
        )
    metric, text = found.groups()
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise UsageError(
            f"invalid floor {floor!r}: expected a number after `=`, found {text!r}",
            remedy="for example task_success=0.9",
        )
    return metric, value
