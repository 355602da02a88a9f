"""What scoring takes and gives, and its two seams."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, Literal, Protocol, Self, TypeVar, cast

from pydantic import Field, PrivateAttr

from harness.case import Case, ToolSpec
from harness.errors import OutOfTime
from harness.score.diagnosis import Diagnosis, Failure
from harness.trace import (
    MEASURED,
    Outcome,
    ToolCall,
    Trajectory,
    Trial,
    observed_only,
    reports_itself,
    without_claims_about,
)
from harness.values import Frozen, JsonObject

T = TypeVar("T")


class Verdict(Frozen):
    """The answer of one check. `passed` is None where the check is undecided, which is neither a pass nor a fail."""

    check: str
    verifier: str
    version: str
    passed: bool | None
    reason: str
    evidence: JsonObject = {}


class Evidence(Frozen):
    """The data that a verifier or a metric may read. It contains no live objects."""

    case: Case
    trial: Trial
    tools: tuple[ToolSpec, ...]
    """All tools of the suite, the case's allowed ones among them."""
    end_state_archive: Path | None = Field(default=None, exclude=True)
    """The content of the files that the trial changed; None where it was not stored."""
    verdicts: tuple[Verdict, ...] = ()
    """The verdicts of the checks: available to metrics, empty while the checks themselves run."""
    best_known_steps: int | None = None
    """The fewest steps of any known success at this case; None where no success is known, or where none was searched
    for.
    """
    _once: dict[object, object] = PrivateAttr(default_factory=dict)

    def once(self, work: "Callable[[Evidence], T]") -> T:
        """The result of `work` for this evidence, computed at most once; it must not read the verdicts.

        An OutOfTime is stored and raised again, so that the time limit is not spent once for every figure.
        """
        kept = (self.__pydantic_private__ or {})["_once"]  # bypasses pydantic's lookup, slow for private attributes
        if work not in kept:
            try:
                kept[work] = work(self)
            except OutOfTime as error:
                kept[work] = error.with_traceback(None)
        found = kept[work]
        if isinstance(found, OutOfTime):
            raise OutOfTime(found.message, remedy=found.remedy)
        return cast(T, found)

    def forget(self) -> None:
        """Drops cached results: they may refer to the evidence, and would keep it in memory until a garbage
        collection.
        """
        kept = tuple(self._once.values())
        self._once.clear()
        for view in kept:
            if isinstance(view, Evidence) and view is not self:
                view.forget()

    def model_copy(self, *, update: Mapping[str, Any] | None = None, deep: bool = False) -> Self:
        """A copy; cached results are kept only where nothing except the verdicts is replaced."""
        copied = super().model_copy(update=update, deep=deep)
        if not set(update or ()) <= {"verdicts"}:
            copied._once = {}
        return copied

    @property
    def self_reports(self) -> bool:
        """Whether the trajectory holds something that is only the agent's word."""
        return self.once(_self_reports)

    @property
    def observed(self) -> "Evidence":
        """The same with only what the gateway observed: what a check must pass on."""
        return self.once(_observed) if self.self_reports else self

    @property
    def counted(self) -> "Evidence":
        """The same without self-reported user messages and self-reported calls of the suite's tools: see metrics."""
        return self.once(_counted) if self.self_reports else self

    @property
    def credited(self) -> "Evidence":
        """`observed` where the gateway observed any call, else `counted`.

        For figures that further calls could improve: an agent whose calls are partly observed gains nothing by adding
        claims to them.
        """
        has_observed = any(call.evidence == "observed" for call in self.trial.trajectory.calls)
        return self.observed if has_observed else self.counted

    @property
    def success(self) -> bool | None:
        """True where every check passed; None where one is undecided and none failed, or where there is no check."""
        answers = [verdict.passed for verdict in self.verdicts]
        if False in answers:
            return False
        return None if not answers or None in answers else True

    @property
    def allowed(self) -> frozenset[str]:
        """Names of the tools that exist and that the case allows; forbidden ones are not among them."""
        return self.once(_allowed)

    @property
    def made_calls(self) -> tuple[ToolCall, ...]:
        """The calls of tools, without those that the step limit refused: nothing could come of them."""
        return self.once(_made_calls)

    @property
    def answered(self) -> bool:
        """There is a final answer, and it is not blank."""
        final = self.trial.trajectory.final_output
        return final is not None and not (isinstance(final, str) and not final.strip())


def _self_reports(evidence: Evidence) -> bool:
    return reports_itself(evidence.trial.trajectory)


def _observed(evidence: Evidence) -> Evidence:
    return _with_trajectory(evidence, observed_only(evidence.trial.trajectory))


def _counted(evidence: Evidence) -> Evidence:
    declared = {tool.name for tool in evidence.tools}
    return _with_trajectory(evidence, without_claims_about(evidence.trial.trajectory, declared))


def _with_trajectory(evidence: Evidence, trajectory: Trajectory) -> Evidence:
    trial = evidence.trial.model_copy(update={"trajectory": trajectory})
    return evidence.model_copy(update={"trial": trial})


def _allowed(evidence: Evidence) -> frozenset[str]:
    names = {tool.name for tool in evidence.tools}
    offered = names if evidence.case.tools is None else names & set(evidence.case.tools)
    return frozenset(offered - set(evidence.case.forbidden_tools))


def _made_calls(evidence: Evidence) -> tuple[ToolCall, ...]:
    seen = evidence.trial.trajectory.observations
    refused = {key for key, value in seen.items() if value.error is not None and value.error.type == "limit_reached"}
    calls = evidence.trial.trajectory.calls
    return tuple(call for call in calls if call.id not in refused and call.delegated_to is None)


class Score(Frozen):
    """One metric's value. None where it does not apply or is not known; None is never averaged as 0."""

    metric: str
    version: str
    value: float | None
    explanation: str = ""
    lower_is_better: bool = False


ParameterFault = Literal["unparsed", "unknown", "missing", "wrong_type", "out_of_range", "other"]
"""What is wrong with a call's arguments: no JSON object; a parameter that the tool does not have; a required one left
out; another JSON type than declared; a value outside what the schema allows (enum, bounds, pattern, length); else."""


EncodingFault = Literal[
    "json_as_text", "value_as_text", "json_for_text", "value_for_text", "list_of_one", "one_without_list"
]
"""How an argument that is right in substance is written otherwise than declared: an object or a list as text; a number
or truth value as text; an object or a list where text is declared; a number or truth value there; a single value inside
a list; and a single value where a list is declared."""


class ToolUse(Frozen):
    """How one tool was used in a trial, by the model that called it."""

    tool: str
    model: str | None = None
    """None: no model traffic was seen."""
    calls: int
    wrong: int = 0
    """Calls that `tool_selection` takes for wrong ones."""
    invalid: dict[ParameterFault, int] = {}
    """Calls by what is wrong with their arguments, each under its first fault in the order of the kinds."""
    encodings: dict[EncodingFault, int] = {}
    """Calls by how an argument that is right in substance is written wrongly, each under the first; see `encodings`."""
    errors: int = 0
    """Answered with an error; misses and refusals by the step limit are not among them."""
    recovered: int = 0
    """Of the errors; see the metric `recovery`."""
    faults: int = 0
    """Met a fault that was injected on purpose."""
    misses: int = 0
    cost_usd: float | None = None
    """The cost of the model replies that decided the calls, each divided evenly among its calls; None where it is not
    known.
    """


class Scorecard(Frozen):
    """All verdicts and scores of one trial. Holds no time, id or machine: equal trials give equal bytes."""

    case_id: str
    attempt: int
    category: str
    difficulty: str
    tags: tuple[str, ...] = ()
    outcome: Outcome
    reason: str | None = None
    success: bool | None
    """True where every verdict passed; None where the outcome is "not measured", where no check failed and one is
    undecided, or where the case has no check.
    """
    verdicts: tuple[Verdict, ...] = ()
    scores: tuple[Score, ...] = ()
    diagnoses: tuple[Diagnosis, ...] = ()
    """What the failure detectors found, by origin step; also in trials that succeeded."""
    hints: tuple[Diagnosis, ...] = ()
    """What points at a failure mode, but no better than simple rules do on runs of unseen sources: no findings, and in
    no figure; the ranking of steps looks at them."""
    modes_not_measured: dict[Failure, str] = {}
    """Maps failure modes that this trial has no data to measure to the reason. The absence of a finding of these has no
    meaning.
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
    def undecided(self) -> bool:
        """Whether the trial was measured and has checks, and yet it is not known whether it succeeded."""
        return self.success is None and bool(self.verdicts) and self.outcome in MEASURED

    def value(self, metric: str) -> float | None:
        """The value of a metric by name; None where it is absent or not known."""
        return next((score.value for score in self.scores if score.metric == metric), None)


class Verifier(Protocol):
    """A check. Implementations are Frozen models whose fields are the check's `with:` parameters."""

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
        """Every finding, in any order. Pure: looks at nothing but the evidence. Never raises for what the agent did.

        A detector of a third party gives its kinds as `<name of the detector>:<kind>`.
        """
        ...


class RunMetric(Protocol):
    """A figure over a whole run."""

    name: ClassVar[str]
    version: ClassVar[str]

    def measure(self, scorecards: Sequence[Scorecard]) -> tuple[float | None, str]:
        """(value or None, explanation), over the scorecards in their fixed order."""
        ...
