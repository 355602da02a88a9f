"""A fork: a stored trial played again up to a step, and from there with one change."""

from collections.abc import Callable
from dataclasses import dataclass, field

from pydantic import JsonValue

from harness.errors import UsageError
from harness.improve.subject import StoredSubject, refuse_unforkable, tool_mode
from harness.runs.determinism import prefix_difference
from harness.runs.execution.variants import VariantRequest, VariantResult, open_variants
from harness.runs.plan.plan import RunOptions
from harness.scoring.alignment import deviations_from_reference
from harness.scoring.evidence import fed_calls
from harness.scoring.scorecard import Scorecard
from harness.suite.cases import FaultSpec
from harness.suite.interventions import CallEdit, Intervention, Invocation, TrialVariant
from harness.suite.models import ToolMode
from harness.traces.trial import Trial
from harness.values import Frozen

_DIVERGED = "the replay differs"


@dataclass(frozen=True, kw_only=True)
class ForkChange:
    """What is changed at the step; several parts are applied together, none: the trial is only played again."""

    answer: tuple[JsonValue] | None = None
    """The answer that the tool's call is given; None: its own."""
    call: Invocation | None = None
    """The call that is made in its place."""
    tool: str | None = None
    """The tool that is called in its place, with the arguments of the step's own call."""
    oracle: bool = False
    """The reference's call is made in its place."""
    drop: bool = False
    """No call is made; the agent receives the recorded answer."""
    hint: str | None = None
    """A message of the user after the agent's next reply."""
    fault: FaultSpec | None = None
    """A fault at the step; its tool and its call are filled in."""

    @property
    def at_call(self) -> bool:
        """Whether the change needs a tool call at the step."""
        return bool(self.answer or self.call or self.tool or self.oracle or self.drop or self.fault)


@dataclass(frozen=True, kw_only=True)
class ForkRequest:
    """How a trial is forked."""

    step: int
    change: ForkChange = field(default_factory=ForkChange)
    options: RunOptions = field(default_factory=RunOptions)
    """Agent, sandbox, model mode and jobs; the trial decides suite and case."""
    tools: ToolMode | None = None
    repeats: int = 1
    name: str | None = None


class ForkedTrial(Frozen):
    """One fork, as it ended."""

    attempt: int
    outcome: str
    success: bool | None
    reason: str | None = None
    diverged: bool = False
    """Whether the agent, or a tool, did something else before the fork than in the parent."""
    same_end: bool
    """Whether its trajectory is the parent's, byte for byte."""


class ForkResult(Frozen):
    """All repeats of a fork."""

    parent: str
    step: int
    change: str
    tools: ToolMode
    parent_success: bool | None
    run: str
    """The run folder, as other verbs take it."""
    trials: tuple[ForkedTrial, ...]

    @property
    def failed(self) -> int:
        """Repeats that the harness could not run: they tell nothing about the agent."""
        return sum(one.outcome == "harness_failed" and not one.diverged for one in self.trials)

    @property
    def determinism(self) -> float | None:
        """The share of repeats whose steps before the fork were the parent's, of those that the harness could run; None
        if it could run none.
        """
        ran = len(self.trials) - self.failed
        return 1 - sum(one.diverged for one in self.trials) / ran if ran else None


def fork(subject: StoredSubject, request: ForkRequest, say: Callable[[str], None] = lambda _: None) -> ForkResult:
    """Runs the fork and stores it. Raises UsageError, before anything starts, for what cannot be forked."""
    variant = variant_at(subject, request.step, request.change)
    mode = tool_mode(subject, request.tools)
    if request.tools is None and mode == "live":
        mode = "sealed"
    same = request.options.agent is None
    refuse_unforkable(subject, mode, same_agent=same, until=request.step, say=say)
    plan = subject.plan(request.options.model_copy(update={"tools": mode, "trials": 1}))
    with open_variants(plan, say) as bench:
        results = bench.run([VariantRequest(case=subject.case, variant=variant)] * request.repeats)
        folder = bench.keep(results, request.name)
    words = [one.words for one in variant.interventions[len(subject.interventions) :]]
    return ForkResult(
        parent=subject.name,
        step=request.step,
        change="; ".join(words) or "none",
        tools=mode,
        parent_success=subject.card.success,
        run=f"{folder.path.parent.name}/{folder.path.name}",
        trials=tuple(
            forked_trial(number, subject.trial, request.step, one) for number, one in enumerate(results, start=1)
        ),
    )


def variant_at(subject: StoredSubject, step: int, change: ForkChange) -> TrialVariant:
    """The variant of a fork. Raises UsageError for a step that does not exist or cannot take the change."""
    if change.hint is not None and not change.hint.strip():
        raise UsageError("--hint is empty", remedy="give it a text, or leave it out")
    steps = [one.index for one in subject.trial.trajectory.steps]
    if step not in steps:
        raise UsageError(
            f"trial {subject.name} has no step {step}",
            remedy=f"it has {min(steps, default=0)} to {max(steps, default=0)}:"
            f" harness explain {subject.manifest.run} {subject.case.id}",
        )
    calls = fed_calls(subject.trial)
    first = next((number for number, one in enumerate(calls) if one.step >= step), len(calls))
    fed = calls[:first]
    here = next((one for one in calls[first:] if one.step == step), None)
    if change.at_call and here is None:
        known = ", ".join(str(one.step) for one in calls) or "none"
        raise UsageError(f"step {step} of {subject.name} makes no tool call", remedy=f"steps with a call: {known}")
    tools = sorted(tool.name for tool in subject.suite.tools)
    named = change.tool if change.call is None else change.call.tool
    if named is not None and named not in tools:
        raise UsageError(f"suite {subject.suite.name!r} has no tool {named!r}", remedy=f"its tools: {', '.join(tools)}")
    own = _intervention(subject, step, change, len(fed))
    layers = subject.interventions if own is None else (*subject.interventions, own)
    return TrialVariant(parent=subject.name, interventions=layers, fed=fed)


def forked_trial(attempt: int, parent: Trial, step: int, result: VariantResult) -> ForkedTrial:
    """How one fork ended, beside its parent."""
    trial, card = result.scored.trial, result.scored.card
    diverged = (trial.reason or "").startswith(_DIVERGED)
    if not diverged and trial.outcome != "harness_failed":
        found = prefix_difference(parent.trajectory, trial.trajectory, step)
        diverged = found is not None
        if found is not None:
            return _forked_trial(attempt, parent, trial, card).model_copy(
                update={"diverged": True, "reason": f"the replay differs at step {found.step}: {found.words}"}
            )
    return _forked_trial(attempt, parent, trial, card).model_copy(update={"diverged": diverged})


def _forked_trial(attempt: int, parent: Trial, trial: Trial, card: Scorecard) -> ForkedTrial:
    return ForkedTrial(
        attempt=attempt,
        outcome=trial.outcome,
        success=card.success,
        reason=trial.reason,
        same_end=parent.trajectory.digest == trial.trajectory.digest,
    )


def _intervention(subject: StoredSubject, step: int, change: ForkChange, number: int) -> Intervention | None:
    edits: list[CallEdit] = []
    words: list[str] = []
    calls = fed_calls(subject.trial)
    call = _call_instead(subject, change, number)
    if call is not None:
        edits.append(CallEdit(at=number, kind="replace", calls=(call,)))
        words.append(f"{call.tool} is called instead")
    if change.drop:
        here = calls[number]
        edits.append(CallEdit(at=number, kind="drop", content=here.content, error=here.error, message=here.message))
        words.append(f"{here.tool} is not called")
    if change.answer is not None:
        edits.append(CallEdit(at=number, kind="answer", content=change.answer[0]))
        words.append(f"{calls[number].tool} answers otherwise")
    faults = () if change.fault is None else (_fault_at(change.fault, subject, number),)
    words += [one.words for one in faults]
    if change.hint is not None:
        words.append("the user gives a hint")
    if not words:
        return None
    before = [one for one in subject.trial.trajectory.steps if one.index < step]
    replies = sum(one.source == "agent" and bool(one.message) for one in before)
    return Intervention(
        step=step,
        words=", ".join(words),
        edits=tuple(edits),
        faults=faults,
        hint=change.hint,
        replies_before=replies + 1,
    )


def _call_instead(subject: StoredSubject, change: ForkChange, number: int) -> Invocation | None:
    if change.call is not None:
        return change.call
    if change.oracle:
        return _oracle_call(subject, number)
    if change.tool is None:
        return None
    own = fed_calls(subject.trial)[number]
    if own.arguments is None:
        raise UsageError(
            f"the call at step {own.step} of {subject.name} has no JSON object of arguments to call"
            f" {change.tool!r} with",
            remedy="give them: --arguments FILE",
        )
    return Invocation(tool=change.tool, arguments=own.arguments)


def _oracle_call(subject: StoredSubject, number: int) -> Invocation:
    if subject.case.reference is None:
        raise UsageError(
            f"case {subject.case.id!r} has no reference, so there is no oracle's call",
            remedy="give it `reference:`, or name the call: --call TOOL --arguments FILE",
        )
    found = deviations_from_reference(fed_calls(subject.trial), subject.case.reference, subject.suite.tools)
    for one in found:
        if one.at == number and one.expected is not None:
            return one.expected
    raise UsageError(
        f"the reference of {subject.case.id!r} has no other call for this step",
        remedy="harness blame names the steps that differ from it",
    )


def _fault_at(fault: FaultSpec, subject: StoredSubject, number: int) -> FaultSpec:
    calls = fed_calls(subject.trial)
    tool = calls[number].tool
    count = sum(one.tool == tool for one in calls[: number + 1])
    return fault.model_copy(update={"tool": tool, "call": count})
