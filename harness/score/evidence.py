"""The evidence of a trial, and the verdicts that join it."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self, TypeVar

from pydantic import Field, PrivateAttr

from harness.case import Case, ToolSpec
from harness.errors import OutOfTime
from harness.score.reference_state import ReferenceState
from harness.trace import ToolCall, Trajectory, Trial, observed_only, reports_itself, without_claims_about
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


class JudgedCriterion(Frozen):
    """A judge's stored answer about the trial."""

    rubric: str
    criterion: str
    passed: bool | None
    """None: not eligible, or the judge failed."""
    reason: str = ""
    judge: str = ""


class Evidence(Frozen):
    """The data that a verifier or a metric may read. It contains no live objects."""

    case: Case
    trial: Trial
    tools: tuple[ToolSpec, ...]
    """All tools of the suite, the case's allowed ones among them."""
    end_state_archive: Path | None = Field(default=None, exclude=True)
    """The content of the files that the trial changed; None where it was not stored."""
    reference_state: ReferenceState | None = Field(default=None, exclude=True)
    """The state that the case's reference leaves; None where no check compares with it, or none is stored."""
    judged: tuple[JudgedCriterion, ...] = Field(default=(), exclude=True)
    """Judgements of this trajectory, oldest first; empty while a trial is scored for the first time."""
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
        # bypasses pydantic's lookup, slow for private attributes
        kept: dict[object, Any] = (self.__pydantic_private__ or {})["_once"]
        if work not in kept:
            try:
                kept[work] = work(self)
            except OutOfTime as error:
                kept[work] = error.with_traceback(None)
        found: T = kept[work]
        if isinstance(found, OutOfTime):
            raise OutOfTime(found.message, remedy=found.remedy)
        return found

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
