"""The evidence of a trial, the verdicts that join it, and what could not be measured."""

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, Literal, Self, TypeVar

from pydantic import Field, JsonValue, PrivateAttr

from harness.errors import OutOfTime
from harness.suite.cases import Case, StateProbe
from harness.suite.interventions import FedCall
from harness.suite.suites import Suite
from harness.suite.tools import ToolSpec
from harness.traces.trajectory import (
    Content,
    ToolCall,
    Trajectory,
    observed_only,
    reports_itself,
    without_claims_about,
)
from harness.traces.trial import EndState, Trial
from harness.values import Frozen, JsonObject, digest_of

# The state that a case's reference calls leave: what the verifier `reference_state` compares a trial's end state with.
#
# It is obtained before the trials of a run, stored with the run, and read back by every later scoring.


class ReferenceState(Frozen):
    """What the probes read, and which files had changed, after the reference calls of a case."""

    case_id: str
    asked_digest: str
    """Of the reference calls and of all that the suite and the case declare about the state; see `asked_digest`."""
    digest: str
    """Of all that decides the state: the above, the snapshot, the images of sandbox and services, the harness."""
    probes: tuple[StateProbe, ...] = ()
    """The probes of suite and case, as they were read."""
    states: dict[str, JsonValue] = {}
    """Probe name -> what it read."""
    end_state: EndState | None = None
    """The changed files; None: none were read back."""
    states_again: dict[str, JsonValue] = {}
    """What the probes read after the reference was played a second time: what differs is not the reference's doing."""
    end_state_again: EndState | None = None
    """Likewise the changed files."""


def is_state_of(state: ReferenceState, suite: Suite, case: Case) -> bool:
    """Whether a state that was read back is of this case as it is declared now, with all of its probes."""
    probes = (*suite.probes, *case.probes)
    return (state.case_id, state.asked_digest, state.probes) == (case.id, asked_digest(suite, case), probes)


def asked_digest(suite: Suite, case: Case) -> str:
    """Sha-256 over what a suite and a case declare that decides the state. Checks, descriptions and limits do not.

    Fields that have their default are left out, so that a later version with more fields gives the same digest.
    """
    return digest_of(
        {
            "case": case.id,
            "reference": [_declared_value(call, "after", "any_of") for call in case.reference or ()],
            "allowed": case.tools,
            "forbidden": case.forbidden_tools,
            "clock": case.clock,
            "packs": [_declared_value(suite.packs[name]) for name in case.fixtures if name in suite.packs],
            "probes": [_declared_value(probe) for probe in (*suite.probes, *case.probes)],
            "tools": [_declared_value(tool, "description") for tool in suite.tools],
            "servers": {name: _declared_value(server) for name, server in suite.servers.items()},
            "hosts": [_declared_value(host) for host in suite.hosts],
            "snapshot": [suite.environment, case.snapshot or suite.snapshot],
        }
    )


def _declared_value(value: Frozen, *left_out: str) -> JsonValue:
    found: JsonValue = value.model_dump(mode="json", exclude_defaults=True, exclude={*left_out})
    return found


T = TypeVar("T")


class Verdict(Frozen):
    """The answer of one check. `passed` is None if the check is undecided, which is neither a pass nor a fail."""

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
    uncertified: str | None = None
    """Why the answer can be shown and decides no check; None: it can decide one."""


class Evidence(Frozen):
    """The data that a verifier or a metric may read. It contains no live objects."""

    case: Case
    trial: Trial
    tools: tuple[ToolSpec, ...]
    """All tools of the suite, the case's allowed ones among them."""
    end_state_archive: Path | None = Field(default=None, exclude=True)
    """The content of the files that the trial changed; None if it was not stored."""
    reference_state: ReferenceState | None = Field(default=None, exclude=True)
    """The state that the case's reference leaves; None if no check compares with it, or none is stored."""
    judged: tuple[JudgedCriterion, ...] = Field(default=(), exclude=True)
    """Judgements of this trajectory, oldest first; empty while a trial is scored for the first time."""
    verdicts: tuple[Verdict, ...] = ()
    """The verdicts of the checks: available to metrics, empty while the checks themselves run."""
    _once: dict[object, object] = PrivateAttr(default_factory=dict)

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
        """A copy; cached results are kept only if nothing except the verdicts is replaced."""
        copied = super().model_copy(update=update, deep=deep)
        if not set(update or ()) <= {"verdicts"}:
            copied._once = {}
        return copied

    @property
    def self_reports(self) -> bool:
        """Whether the trajectory holds something that is only the agent's word."""
        return _self_reports(self)

    @property
    def observed(self) -> "Evidence":
        """The same with only what the gateway observed: what a check must pass on."""
        return _only_observed(self) if self.self_reports else self

    @property
    def counted(self) -> "Evidence":
        """The same without self-reported user messages and self-reported calls of the suite's tools: see metrics."""
        return _without_claims(self) if self.self_reports else self

    @property
    def credited(self) -> "Evidence":
        """`observed` if the gateway observed any call, else `counted`.

        For figures that further calls could improve: an agent whose calls are partly observed gains nothing by adding
        claims to them.
        """
        return self.observed if _has_observed_calls(self) else self.counted

    @property
    def success(self) -> bool | None:
        """True if every check passed; None if one is undecided and none failed, or if there is no check."""
        answers = [verdict.passed for verdict in self.verdicts]
        if False in answers:
            return False
        return None if not answers or None in answers else True

    @property
    def allowed(self) -> frozenset[str]:
        """Names of the tools that exist and that the case allows; forbidden ones are not among them."""
        return _allowed_tools(self)

    @property
    def made_calls(self) -> tuple[ToolCall, ...]:
        """The calls of tools, without those that the step limit refused: nothing could come of them."""
        return _made_calls(self)

    @property
    def answered(self) -> bool:
        """There is a final answer, and it is not blank."""
        final = self.trial.trajectory.final_output
        return final is not None and not (isinstance(final, str) and not final.strip())


def once(work: Callable[[Evidence], T]) -> Callable[[Evidence], T]:
    """A function of the evidence whose result is computed at most once for the same one; it must not read the verdicts.

    An OutOfTime is stored and raised again, so that the time limit is not spent once for every figure.
    """

    @wraps(work)
    def kept(evidence: Evidence) -> T:
        # bypasses pydantic's lookup, slow for private attributes
        results: dict[object, Any] = (evidence.__pydantic_private__ or {})["_once"]
        if work not in results:
            try:
                results[work] = work(evidence)
            except OutOfTime as error:
                results[work] = error.with_traceback(None)
        found: T = results[work]
        if isinstance(found, OutOfTime):
            raise OutOfTime(found.message, remedy=found.remedy)
        return found

    return kept


@once
def calls_of(evidence: Evidence) -> tuple[ToolCall, ...]:
    """Every call of the trajectory, in order."""
    return evidence.trial.trajectory.calls


@once
def _self_reports(evidence: Evidence) -> bool:
    return reports_itself(evidence.trial.trajectory)


@once
def _has_observed_calls(evidence: Evidence) -> bool:
    return any(call.evidence == "observed" for call in calls_of(evidence))


@once
def _only_observed(evidence: Evidence) -> Evidence:
    return _with_trajectory(evidence, observed_only(evidence.trial.trajectory))


@once
def _without_claims(evidence: Evidence) -> Evidence:
    declared = {tool.name for tool in evidence.tools}
    return _with_trajectory(evidence, without_claims_about(evidence.trial.trajectory, declared))


def _with_trajectory(evidence: Evidence, trajectory: Trajectory) -> Evidence:
    trial = evidence.trial.model_copy(update={"trajectory": trajectory})
    return evidence.model_copy(update={"trial": trial})


@once
def _allowed_tools(evidence: Evidence) -> frozenset[str]:
    names = {tool.name for tool in evidence.tools}
    offered = names if evidence.case.tools is None else names & set(evidence.case.tools)
    return frozenset(offered - set(evidence.case.forbidden_tools))


@once
def _made_calls(evidence: Evidence) -> tuple[ToolCall, ...]:
    seen = evidence.trial.trajectory.observations
    refused = {key for key, value in seen.items() if value.error is not None and value.error.type == "limit_reached"}
    calls = calls_of(evidence)
    return tuple(call for call in calls if call.id not in refused and call.delegated_to is None)


def fed_calls(trial: Trial) -> tuple[FedCall, ...]:
    """Every call of the trial that the gateway saw, in the order in which it saw them, with its answer and the index of
    its step.
    """
    seen = trial.trajectory.observations
    return tuple(
        FedCall(
            tool=call.name,
            arguments=call.arguments,
            unparsed=call.unparsed,
            content=got.content,
            error=None if got.error is None else got.error.type,
            message="" if got.error is None else got.error.message,
            step=step.index,
        )
        for step in trial.trajectory.steps
        for call in step.calls
        if call.evidence != "self_reported" and (got := seen.get(call.id)) is not None
    )


def step_of_call(calls: Sequence[FedCall], trial: Trial, number: int) -> int:
    """The step of the call with this number; past the last call, the step of the agent's answer."""
    if number < len(calls):
        return calls[number].step
    steps = trial.trajectory.steps
    last = max((call.step for call in calls), default=-1)
    said = [step.index for step in steps if step.source == "agent" and step.index > last]
    return said[-1] if said else max(last, 0)


# The names of what instrumentations may leave out of spans, as they are shown to a reader.

_WORDS: Final[Mapping[Content, str]] = MappingProxyType(
    {
        "answer": "the final answer",
        "messages": "what was said",
        "arguments": "the arguments of calls",
        "results": "the results of calls",
    }
)


def content_words(missing: Sequence[Content]) -> str:
    """The names of some content in a sentence."""
    words = [_WORDS[one] for one in missing]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


# A verdict whose `passed` is None carries `{"unmeasured_by": "agent"}` in its evidence if what the agent left is the
# reason: a database that cannot be read within the limits, a file larger than is read back.

MADE_UNMEASURABLE: Final = "failed, because what the agent left cannot be checked"
"""The scorer turns such a verdict into a failure, with this before its reason."""
BY_AGENT: JsonObject = {"unmeasured_by": "agent"}
"""Evidence of a verdict that the agent has made impossible."""


def unmeasurable_state(state: JsonValue) -> str | None:
    """Why a probe could not read what the agent left; None for what it has read."""
    reason = state.get("unmeasurable") if isinstance(state, dict) and len(state) == 1 else None
    return reason if isinstance(reason, str) else None


ProbeKind = Literal["tool", "sql", "api"]


def probe_problem(suite: Suite, name: str, kind: ProbeKind | None = None) -> str | None:
    """Explains what is wrong with `with.probe`; None: a probe of the suite or of one of its cases has that name."""
    probes = (*suite.probes, *(probe for case in suite.cases for probe in case.probes))
    found = [probe for probe in probes if probe.name == name]
    if not found:
        known = ", ".join(sorted({probe.name for probe in probes})) or "none"
        return f"with.probe: {name!r} is none of the suite's probes ({known})"
    if kind is not None and any(getattr(probe, kind) is None for probe in found):
        return f"with.probe: the probe {name!r} has no `{kind}`"
    return None


# What an import keeps, in a case's `expected`, of the criteria by which a benchmark gave its rewards.
#
# The spellings are tau-bench's (`outputs`) and tau2's (`communicate_info`, `actions`, `reward_basis`).

_STATE: Final = "DB"
"""The part of a reward that compares the state after the run with the state after the reference."""


def judged_by_state(expected: JsonValue) -> bool:
    """False if the benchmark declares its criteria, and the state after the reference is not among them."""
    basis = _criteria(expected).get("reward_basis")
    return not (isinstance(basis, list) and basis and _STATE not in basis)


def _criteria(expected: JsonValue) -> Mapping[str, JsonValue]:
    return expected if isinstance(expected, dict) else {}
