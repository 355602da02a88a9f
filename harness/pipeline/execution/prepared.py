"""A checked plan whose environment is not open yet."""

from collections.abc import Mapping
from dataclasses import dataclass

from harness.errors import UsageError
from harness.pipeline.execution.environment import Say, open_world
from harness.pipeline.execution.executor import Job
from harness.pipeline.execution.reference_states import with_reference_states
from harness.pipeline.plan.needs import Needs, needs_of, refuse_unmet
from harness.pipeline.plan.plan import RunPlan
from harness.pipeline.plan.reference_states import compared_cases, refuse_stateless
from harness.runner import Agent, open_agent
from harness.score import ReferenceState, Scorer, build_scorer


@dataclass(frozen=True, kw_only=True)
class PreparedRun:
    """A plan with a checked suite, agent and needs."""

    plan: RunPlan
    needs: Needs
    agent: Agent
    scorer: Scorer

    def job(self, name: str, say: Say, stored: Mapping[str, ReferenceState] | None = None) -> Job:
        """The job of a run of that name, with its world open and its reference states, of which `stored` is known.

        Raises what `open_world` raises, and ReferenceFailed where the reference of a case fails.
        """
        world = open_world(self.needs, name, say)
        job = Job(plan=self.plan, run=name, world=world, agent=self.agent, scorer=self.scorer)
        return with_reference_states(job, self.needs, say, stored or {})


def prepare(plan: RunPlan) -> PreparedRun:
    """Checks a plan without starting anything. Raises UsageError for an invalid suite or agent, or an unmet need."""
    scorer, needs = build_scorer(plan.suite), needs_of(plan)
    refuse_unmet(needs)
    refuse_stateless(plan, compared_cases(plan, scorer))
    try:
        agent = open_agent(plan.suite, plan.agent, plan.project / ".harness" / "agents")
    except UsageError as error:
        if plan.resumes is None:
            raise
        raise UsageError(f"{plan.resumes}: {error.message}", remedy=error.remedy) from None  # its manifest names it
    return PreparedRun(plan=plan, needs=needs, agent=agent, scorer=scorer)
