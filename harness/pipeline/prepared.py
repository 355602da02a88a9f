"""A plan whose suite, agent and needs were checked, and whose world is not open yet."""

from dataclasses import dataclass

from harness.pipeline.executor import Job
from harness.pipeline.needs import Needs, needs_of, refuse_unmet
from harness.pipeline.plan import RunPlan
from harness.pipeline.world import Say, open_world
from harness.runner import Agent, open_agent
from harness.score import Scorer, build_scorer


@dataclass(frozen=True, kw_only=True)
class PreparedRun:
    """What is left is to build and to open."""

    plan: RunPlan
    needs: Needs
    agent: Agent
    scorer: Scorer

    def job(self, name: str, say: Say) -> Job:
        """The job of a run of that name, with its world open; raises what `open_world` raises."""
        world = open_world(self.needs, name, say)
        return Job(plan=self.plan, run=name, world=world, agent=self.agent, scorer=self.scorer)


def prepare(plan: RunPlan) -> PreparedRun:
    """Raises UsageError where the suite or the agent is wrong, or where a need cannot be met; starts nothing."""
    scorer, needs = build_scorer(plan.suite), needs_of(plan)
    refuse_unmet(needs)
    agent = open_agent(plan.suite, plan.agent, plan.project / ".harness" / "agents")
    return PreparedRun(plan=plan, needs=needs, agent=agent, scorer=scorer)
