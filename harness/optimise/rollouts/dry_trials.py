"""A trial that shows which texts an agent's program opens, and asks no model or service for anything.

The program runs in its sandbox as in any trial. In the place of its model stands a double that calls each tool once by
which the agent runs another one, and none of the case's tools; users are scripts. So every agent of a program is asked
something, where its program runs agents as tools.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from harness.case import Case, ModelSpec, Suite, case_of
from harness.optimise.candidates.candidate import Candidate
from harness.optimise.candidates.candidate_agents import CandidateAgents
from harness.optimise.candidates.components import agent_of
from harness.optimise.rollouts.invocation_trials import alone
from harness.optimise.rollouts.invocations import AgentInvocation
from harness.optimise.rollouts.opened_files import texts_read, watch_opened
from harness.optimise.rollouts.whole_trials import agent_files, live, scored_trial
from harness.pipeline import RunPlan, VariantRequest, open_variants
from harness.sandbox import isolates, temporary_folder
from harness.simulate import UserOptions
from harness.trace import Trial
from harness.upstream import DoubleReply, DoubleRequest, ModelDouble
from harness.values import Frozen

_MOST_CALLS: Final = 32


class DryTrial(Frozen):
    """What a trial showed that spent nothing."""

    texts_read: tuple[str, ...] | None
    """The candidate's files that the program opened; None: that cannot be observed in this sandbox."""
    finished: bool
    """Whether the program ran to its end; where it did not, it may have opened further files later."""


def dry_trial(
    plan: RunPlan, start: Candidate, case_id: str, asked: AgentInvocation | None, say: Callable[[str], None]
) -> DryTrial:
    """One trial of a case under the texts in use; of one agent alone, where an invocation of it is given. Raises what
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
    return ModelSpec(base_url=url, double=True, mode="live", allow_fields=model.allow_fields, ignore=model.ignore)


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
