"""Agent mode: what one agent of a program was given in traces, and trials of that agent alone."""

from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Event

from pydantic import JsonValue

from harness.errors import UsageError
from harness.improve.candidates import Candidate, CandidateAgents
from harness.improve.rollouts import Rollout
from harness.improve.trial_verdict import TrialJudge, TrialVerdict, means
from harness.improve.whole_trials import (
    agent_files,
    live,
    open_bench,
    rollout_of,
    scored_trial,
    texts_read,
    watch_opened,
)
from harness.judging.rubrics import Rubric
from harness.runs.execution.variants import VariantBench, VariantRequest, VariantResult
from harness.runs.plan.plan import RunPlan
from harness.sandbox.providers import isolates
from harness.suite.cases import Case
from harness.suite.conversations import CaseUser
from harness.suite.interventions import CallEdit, Intervention, TrialVariant
from harness.suite.interventions import Invocation as ToolInvocation
from harness.suite.suites import Suite, case_of
from harness.suite.tools import ToolSpec
from harness.traces.trajectory import Step, ToolCall, Trajectory
from harness.traces.trial import Trial
from harness.users.users import UserOptions
from harness.values import Frozen, JsonObject, canonical_json

# Invocations: what one agent of a program was given, which calls it made, and what it returned, extracted from traces.
#
# An invocation is identified by the spans of the agents (`gen_ai.agent.name`): the call by which another agent ran it,
# with the steps that the agent made meanwhile. If one step runs several, each ends with the agent's first message that
# makes no call. The writes that succeeded before it are kept with it: they are the state that it began in.


class AgentInvocation(Frozen):
    """One agent, run once by another one."""

    case_id: str
    agent: str
    number: int
    """Counted from 1 within the trial, over all invocations of the agent."""
    step: int
    """Index of the step whose call ran the agent."""
    given: str
    """The request as text: the call's only text argument, else its arguments as JSON."""
    before: tuple[ToolInvocation, ...]
    """Writes of the trial that succeeded before the agent's first step."""
    calls: tuple[ToolInvocation, ...]
    returned: JsonValue


def invocations_of(trial: Trial, agent: str, tools: Sequence[ToolSpec]) -> list[AgentInvocation]:
    """The invocations of `agent` in a trial, in order; none if no call is known to have run it."""
    trajectory = trial.trajectory
    writes = {tool.name for tool in tools if tool.effect == "write"}
    found: list[AgentInvocation] = []
    for step in trajectory.steps:
        ran = [call for call in step.calls if call.delegated_to == agent]
        own = [one for one in trajectory.steps if one.agent == agent and one.parent == step.index]
        for call, steps in zip(ran, _runs(own), strict=False):
            began = steps[0].index
            seen = trajectory.observations.get(call.id)
            found.append(
                AgentInvocation(
                    case_id=trial.case_id,
                    agent=agent,
                    number=len(found) + 1,
                    step=step.index,
                    given=_given_arguments(call),
                    before=tuple(_succeeded(trajectory, writes, began)),
                    calls=tuple(_tool_invocations(steps)),
                    returned=None if seen is None else seen.content,
                )
            )
    return found


def invocations_by_case(
    trials: Iterable[Trial], agent: str, tools: Sequence[ToolSpec]
) -> Mapping[str, tuple[AgentInvocation, ...]]:
    """The invocations of the first trial of each case that has one."""
    found: dict[str, tuple[AgentInvocation, ...]] = {}
    for trial in trials:
        if trial.case_id not in found and (own := tuple(invocations_of(trial, agent, tools))):
            found[trial.case_id] = own
    return found


def _runs(steps: Sequence[Step]) -> list[list[Step]]:
    """The steps of each run of the agent: a run ends with a step that makes no call."""
    runs: list[list[Step]] = []
    open_run: list[Step] = []
    for step in steps:
        open_run.append(step)
        if not step.calls:
            runs.append(open_run)
            open_run = []
    return [*runs, open_run] if open_run else runs


def _given_arguments(call: ToolCall) -> str:
    arguments: JsonObject = call.arguments or {}
    values = list(arguments.values())
    if len(values) == 1 and isinstance(values[0], str):
        return values[0]
    return call.unparsed or canonical_json(arguments)


def _tool_invocations(steps: Iterable[Step]) -> Iterator[ToolInvocation]:
    for step in steps:
        for call in step.calls:
            yield ToolInvocation(tool=call.name, arguments=call.arguments or {})


def _succeeded(trajectory: Trajectory, writes: set[str], before: int) -> Iterator[ToolInvocation]:
    seen = trajectory.observations
    for step in trajectory.steps[:before]:
        for call in step.calls:
            if call.name in writes and call.arguments is not None and call.id in seen and seen[call.id].error is None:
                yield ToolInvocation(tool=call.name, arguments=call.arguments)


# The program is started with `HARNESS_AGENT` naming the agent, and each request is the only message of a trial of its
# own. The writes that came before it in the trace are made again at its first call, so that it finds the same state. A
# micro-rubric judges the answer: the criteria whose `agents` name the agent.


@dataclass(frozen=True, kw_only=True)
class InvocationTrials:
    """Implements `Rollouts` for one component that other agents run."""

    bench: VariantBench
    agents: CandidateAgents
    judge: TrialJudge
    """With the micro-rubric."""
    component: str
    invocations: Mapping[str, Sequence[AgentInvocation]]
    """Case -> what the component was asked there."""
    stopping: Event = field(default_factory=Event)
    """Once it is set, no further trial begins."""
    same_kernel: bool = False
    """Whether agents surely run on this machine's kernel, which tells what they open."""

    def run(
        self, candidate: Candidate, cases: Sequence[str], *, component: str | None, sample: int = 0
    ) -> Generator[Rollout, None, None]:
        """One rollout a case, over all invocations of the component there; the domains are means over them.

        A case is given when the last of its invocations has ended. Raises UsageError for another component, and for a
        case without an invocation.
        """
        del sample  # nothing of an earlier run is used
        if component != self.component:
            raise UsageError(f"the invocations are of component {self.component!r}, and {component!r} is to be run")
        asked = [one for case in cases for one in self._invocations_of(case)]
        agent, suite = self.agents.of(candidate, alone=self.component), self.bench.suite
        requests = [
            VariantRequest(
                case=alone(suite, one), variant=_variant_after_writes(one, candidate.descriptions), agent=agent
            )
            for one in asked
        ]
        by_case: dict[str, dict[int, tuple[Trial, TrialVerdict]]] = defaultdict(dict)
        with watch_opened(agent_files(requests), certain=self.same_kernel) as opened:
            for place, done in self.bench.each(requests, self._judged_trial, self.stopping):
                one = asked[place]
                by_case[one.case_id][one.number] = done
                if len(by_case[one.case_id]) == len(self._invocations_of(one.case_id)):
                    rollout = self._rollout(candidate, one.case_id, by_case[one.case_id])
                    yield rollout.model_copy(update={"texts_read": texts_read(candidate, opened)})

    def _judged_trial(self, result: VariantResult) -> tuple[Trial, TrialVerdict]:
        case, trial, card = scored_trial(result)
        before = [call for one in result.request.variant.interventions for edit in one.edits for call in edit.calls]
        own = _own_part(trial, [call.tool for call in before], self.component)
        (verdict,) = self.judge.verdicts([(case, own, card)])
        return own, verdict

    def _rollout(self, candidate: Candidate, case: str, done: Mapping[int, tuple[Trial, TrialVerdict]]) -> Rollout:
        ended = [done[one.number] for one in self._invocations_of(case)]
        verdict = joined_verdict([verdict for _, verdict in ended])
        return rollout_of(case, candidate, [trial for trial, _ in ended], verdict)

    def _invocations_of(self, case: str) -> Sequence[AgentInvocation]:
        if case not in self.invocations:
            raise UsageError(
                f"no trace shows that {self.component!r} was asked anything in case {case!r}",
                remedy=f"choose among the {len(self.invocations)} cases that do",
            )
        return self.invocations[case]


@contextmanager
def open_invocation_trials(
    plan: RunPlan,
    judge: TrialJudge,
    component: str,
    invocations: Mapping[str, Sequence[AgentInvocation]],
    say: Callable[[str], None] = lambda _: None,
    stopping: Event | None = None,
) -> Iterator[InvocationTrials]:
    """Raises as `open_bench` does."""
    with open_bench(replace(live(plan), users=UserOptions(kind="script")), say) as (bench, agents):
        yield InvocationTrials(
            bench=bench,
            agents=agents,
            judge=judge,
            component=component,
            invocations=invocations,
            stopping=stopping or Event(),
            same_kernel=not isolates(plan.sandbox),
        )


def micro_rubric(rubric: Rubric, agent: str) -> Rubric:
    """The rubric's criteria about one agent. Raises UsageError if it has none."""
    own = tuple(one for one in rubric.criteria if agent in one.agents)
    if not own:
        named = sorted({name for one in rubric.criteria for name in one.agents})
        raise UsageError(
            f"rubric {rubric.name!r} has no criterion about agent {agent!r}",
            remedy=f"give criteria `agents: [{agent}]`; it names: {', '.join(named) or 'no agent'}",
        )
    used = {one.domain for one in own}
    domains = {name: domain for name, domain in rubric.domains.items() if name in used}
    return rubric.model_copy(update={"criteria": own, "domains": domains})


def alone(suite: Suite, invocation: AgentInvocation) -> Case:
    """The case whose only message is the request, and which expects nothing of the whole conversation."""
    case = case_of(suite, invocation.case_id)
    nothing = dict.fromkeys(("conversation", "expected", "expected_output", "reference"))
    empty = dict.fromkeys(("checks", "routes", "required_tools"), ())
    return case.model_copy(update=nothing | empty | {"task": invocation.given, "user": CaseUser(kind="script")})


def _variant_after_writes(invocation: AgentInvocation, descriptions: Mapping[str, str]) -> TrialVariant:
    """The writes before the invocation, made again before the agent's first call."""
    if not invocation.before:
        return TrialVariant(descriptions=descriptions)
    edit = CallEdit(at=0, kind="before", calls=invocation.before)
    words = f"{len(invocation.before)} writes that came before the request"
    return TrialVariant(interventions=(Intervention(words=words, edits=(edit,)),), descriptions=descriptions)


def _own_part(trial: Trial, before: Sequence[str], agent: str) -> Trial:
    """The trial without the calls of the tools `before`, which were made again; every other step is the agent's."""
    steps: list[Step] = []
    again = list(before)
    for step in trial.trajectory.steps:
        if again and [call.name for call in step.calls] == again[:1]:
            del again[0]
        else:
            steps.append(step.model_copy(update={"agent": agent}) if step.source == "agent" else step)
    trajectory = trial.trajectory.model_copy(update={"steps": tuple(steps)})
    return trial.model_copy(update={"trajectory": trajectory})


def joined_verdict(judged: Sequence[TrialVerdict]) -> TrialVerdict:
    """The verdict of one case, of its invocations'."""
    return TrialVerdict(
        domains=means([verdict.domains for verdict in judged]),
        criteria=means([verdict.criteria for verdict in judged]),
        vetoes=tuple(veto for verdict in judged for veto in verdict.vetoes),
        feedback="\n\n".join(verdict.feedback for verdict in judged),
        conversation="\n\n".join(verdict.conversation for verdict in judged),
    )
