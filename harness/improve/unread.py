"""Refuses a component whose texts the agent's program does not open, as a trial without any service shows."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from harness.errors import UsageError
from harness.gateway.models.double import DoubleReply, DoubleRequest, ModelDouble
from harness.improve.candidates import Candidate, CandidateAgents, Component, agent_of
from harness.improve.invocations import AgentInvocation, alone
from harness.improve.rollouts import Rollout, RolloutCache
from harness.improve.whole_trials import agent_files, live, scored_trial, texts_read, watch_opened
from harness.runs.execution.variants import VariantRequest, open_variants
from harness.runs.plan.plan import RunPlan
from harness.sandbox.ownership import temporary_folder
from harness.sandbox.providers import isolates
from harness.suite.cases import Case
from harness.suite.models import ModelSpec
from harness.suite.suites import Suite, case_of
from harness.traces.trial import Trial
from harness.users.users import UserOptions
from harness.values import Frozen

# A trial that shows which texts an agent's program opens, and asks no model or service for anything.
#
# The program runs in its sandbox as in any trial. In the place of its model stands a double that calls each tool once
# by which the agent runs another one, and none of the case's tools; users are scripts. So every agent of a program is
# asked something, if its program runs agents as tools.

_MOST_CALLS: Final = 32


class DryTrial(Frozen):
    """What a trial showed that spent nothing."""

    texts_read: tuple[str, ...] | None
    """The candidate's files that the program opened; None: that cannot be observed in this sandbox."""
    finished: bool
    """Whether the program ran to its end; if it did not, it may have opened further files later."""


def dry_trial(
    plan: RunPlan, start: Candidate, case_id: str, asked: AgentInvocation | None, say: Callable[[str], None]
) -> DryTrial:
    """One trial of a case under the texts in use; of one agent alone, if an invocation of it is given. Raises what
    `run_plan` raises before its first trial.
    """
    suite = plan.suite
    with _DelegatingModel(frozenset(tool.name for tool in suite.tools)) as double:
        reached = suite if suite.model is None else suite.model_copy(update={"model": _spec(suite.model, double.url)})
        free = replace(live(plan), suite=reached, tools="replay", users=UserOptions(kind="script"), budget=None, jobs=1)
        version, _ = agent_of(suite)
        with temporary_folder() as staging, open_variants(free, say, evaluated="verdicts") as bench:
            agents = CandidateAgents(suite=reached, version=version, staging=staging)
            agent = agents.of(start, alone=None if asked is None else asked.agent)
            requests = [VariantRequest(case=_case(reached, case_id, asked), agent=agent)]
            with watch_opened(agent_files(requests), certain=not isolates(plan.sandbox)) as opened:
                (_, trial, _) = scored_trial(bench.run(requests)[0])
                return DryTrial(texts_read=texts_read(start, opened), finished=_ended_by_itself(trial))


def _ended_by_itself(trial: Trial) -> bool:
    """A probe of the end state that no recording answers makes a trial inconclusive, and so does a call; the former
    changes nothing of what the program did.
    """
    called = any(call.delegated_to is None for call in trial.trajectory.calls)
    return trial.outcome == "finished" or (trial.outcome == "inconclusive" and not called)


def _case(suite: Suite, case_id: str, asked: AgentInvocation | None) -> Case:
    return case_of(suite, case_id) if asked is None else alone(suite, asked)


def _spec(model: ModelSpec, url: str) -> ModelSpec:
    """The double's, with what the agent may send."""
    return ModelSpec(base_url=url, double=True, mode="live", allow=model.allow, ignore=model.ignore)


class _DelegatingModel(ModelDouble):
    """Calls each offered tool that is none of the case's once, and then says that it is done."""

    def __init__(self, tools: frozenset[str]) -> None:
        super().__init__(name="dry-trial")
        self._tools = tools

    async def answer(self, asked: DoubleRequest) -> DoubleReply:
        offered = [name for name in _offered(asked.body.get("tools") or ()) if name not in self._tools]
        before = sum(role == "assistant" for role, _ in asked.messages)
        if before < min(len(offered), _MOST_CALLS):
            return DoubleReply(calls=offered[before])
        return DoubleReply(text="Done.")


def _offered(tools: Sequence[Mapping[str, Any]]) -> list[str]:
    """The names, in the formats of OpenAI and Anthropic."""
    named = (tool.get("function", tool) for tool in tools if isinstance(tool, Mapping))
    return [str(one["name"]) for one in named if isinstance(one, Mapping) and "name" in one]


# Refuses a component whose texts the agent's program does not open: no revision of them could change anything.


def refuse_unopened(found: DryTrial, components: Sequence[Component], acting: Collection[str]) -> None:
    """Raises UsageError for a component none of whose files a dry trial opened; nothing is spent by then.

    `acting`: agents that an earlier run shows at work, which the dry trial may have failed to reach. Nothing is
    concluded of these, and if the program did not end by itself.
    """
    if not found.finished or found.texts_read is None:
        return
    for component in components:
        if component.tools or not component.files or component.name in acting:
            continue
        if not set(component.files) & set(found.texts_read):
            raise UsageError(
                f"the agent opens no text of the component {component.name!r}: {', '.join(component.files)}; a trial "
                "without a model has shown this, and nothing was spent",
                remedy="have the program open it in the folder of its files, or take the component out of "
                "`optimise.components`; if it is opened in some conversations alone, --from RUN names a run in "
                "which that agent acts",
            )


def refuse_unread(
    cache: RolloutCache,
    start: Candidate,
    components: Sequence[Component],
    cases: Sequence[str],
    say: Callable[[str], None],
) -> None:
    """Runs the texts in use on training cases, one first and the others if a text was not opened in it.

    The rollouts are kept for the search. Raises UsageError for a component none of whose files was opened in any of
    them; a file that was not opened beside others that were is reported. Nothing is concluded if trials were not
    measured, or if what they open cannot be observed. Descriptions of tools are shown by the gateway, and are not
    checked.
    """
    read: set[str] = set()
    ran = 0
    for some in (cases[:1], cases[1:]):
        found = [one for one in cache.rollouts(start, some) if _was_measured(one)]
        if any(one.texts_read is None for one in found):
            say("whether the agent reads its texts cannot be observed in this sandbox")
            return
        ran += len(found)
        read.update(name for one in found for name in one.texts_read or ())
        if all(file in read for component in components for file in component.files):
            return
    for component in components if ran else ():
        unread = [file for file in component.files if file not in read]
        if unread == list(component.files) and unread and not component.tools:
            raise UsageError(
                f"the agent read no text of the component {component.name!r} in {ran} training trials: "
                f"{', '.join(unread)}",
                remedy="have the program open it in the folder of its files, or take the component out of "
                "`optimise.components`; if few cases need it, --minibatch tries more of them",
            )
        if unread:
            say(f"component {component.name}: not read in {ran} training trials: {', '.join(unread)}")


def _was_measured(rollout: Rollout) -> bool:
    return any(score is not None for score in rollout.domains.values())
