"""Joint mode: a candidate's texts of all components, tried in whole conversations.

Each case is run as `harness run` runs it: in a sandbox, with its user, its faults and its fixtures, several at a time,
in a world that is opened once for all candidates. Models are live, those of users too. Tools are the services that the
suite has of its own; where it has none, its recordings answer, and a trial that they cannot answer measures nothing.
"""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from threading import Event

from harness.case import Case, ModelMode, TrialVariant, case_of
from harness.optimise.candidates.candidate import Candidate
from harness.optimise.candidates.candidate_agents import CandidateAgents
from harness.optimise.candidates.components import agent_of
from harness.optimise.rollouts.opened_files import texts_read, watch_opened
from harness.optimise.rollouts.rollout import Rollout
from harness.optimise.rollouts.trial_verdict import TrialJudge, TrialVerdict
from harness.pipeline import (
    RunPlan,
    VariantBench,
    VariantRequest,
    VariantResult,
    check_reachable,
    open_variants,
    secret_values,
    variant_tool_mode,
)
from harness.sandbox import isolates, temporary_folder
from harness.score import Scorecard
from harness.trace import Trial

_REALLY_SENT = ("live", "sealed")


@dataclass(frozen=True, kw_only=True)
class WholeTrials:
    """Implements `Rollouts`."""

    bench: VariantBench
    agents: CandidateAgents
    judge: TrialJudge
    stopping: Event = field(default_factory=Event)
    """Once it is set, no further trial begins."""
    same_kernel: bool = False
    """Whether agents surely run on this machine's kernel, which tells what they open."""

    def run(
        self, candidate: Candidate, cases: Sequence[str], *, component: str | None = None, sample: int = 0
    ) -> Generator[Rollout, None, None]:
        """Runs each case once, whatever the `component` and the `sample`: nothing of an earlier run is used.

        Raises UsageError for a case that the suite does not have.
        """
        del component, sample

        def judged(result: VariantResult) -> Rollout:
            done = scored_trial(result)
            (verdict,) = self.judge.verdicts([done])
            return rollout_of(result.request.case.id, candidate, [done[1]], verdict)

        requests = self._requests(candidate, cases)
        with watch_opened(agent_files(requests), certain=self.same_kernel) as opened:
            for _, rollout in self.bench.each(requests, judged, self.stopping):
                yield rollout.model_copy(update={"texts_read": texts_read(candidate, opened)})

    def trials(self, candidate: Candidate, cases: Sequence[str]) -> list["ScoredTrial"]:
        """The cases run under a candidate, before anything is judged."""
        return [scored_trial(result) for result in self.bench.run(self._requests(candidate, cases))]

    def _requests(self, candidate: Candidate, cases: Sequence[str]) -> list[VariantRequest]:
        agent = self.agents.of(candidate)
        variant = TrialVariant(descriptions=candidate.descriptions)
        return [VariantRequest(case=case_of(self.bench.suite, case), variant=variant, agent=agent) for case in cases]


def agent_files(requests: Sequence[VariantRequest]) -> Path | None:
    """The folder of the agent's files, which all requests of a candidate share."""
    agent = requests[0].agent if requests else None
    return None if agent is None else agent.program(requests[0].case).files


ScoredTrial = tuple[Case, Trial, Scorecard]


def scored_trial(result: VariantResult) -> ScoredTrial:
    """Lets go of the files that a trial left, which an optimisation would gather by the hundred."""
    done = result.scored
    if done.archive is not None:
        done.archive.unlink(missing_ok=True)
    return result.request.case, done.trial, done.card


def rollout_of(case_id: str, candidate: Candidate, trials: Sequence[Trial], verdict: TrialVerdict) -> Rollout:
    """The rollout of one case, over the trials that it took."""
    used = [trial.model_use for trial in trials if trial.model_use is not None]
    costs = [one.cost_usd for one in used if one.cost_usd is not None]
    asked = [
        trial.model_tiers.get("live", 0) + sum(trial.tiers.get(tier, 0) for tier in _REALLY_SENT) for trial in trials
    ]
    return Rollout(
        case=case_id,
        candidate=candidate.id,
        domains=verdict.domains,
        vetoes=verdict.vetoes,
        feedback=verdict.feedback,
        steps=sum(len(trial.trajectory.steps) for trial in trials),
        cost_usd=sum(costs) if costs and len(costs) == len(used) else None,
        tokens=sum(one.input_tokens + one.output_tokens for one in used),
        calls=sum(asked),
    )


@contextmanager
def open_whole_trials(
    plan: RunPlan,
    judge: TrialJudge,
    say: Callable[[str], None] = lambda _: None,
    stopping: Event | None = None,
) -> Iterator[WholeTrials]:
    """Opens the world of a plan for candidates of its agent. Raises what `run_plan` raises before its first trial."""
    version, _ = agent_of(plan.suite)
    check_reachable(live(plan), secret_values(plan.suite))
    with temporary_folder() as staging, open_variants(live(plan), say, evaluated="causes") as bench:
        agents = CandidateAgents(suite=plan.suite, version=version, staging=staging)
        yield WholeTrials(
            bench=bench,
            agents=agents,
            judge=judge,
            stopping=stopping or Event(),
            same_kernel=not isolates(plan.sandbox),
        )


def live(plan: RunPlan) -> RunPlan:
    """The plan of the agent under optimisation, with live models, and with tools that can answer calls that no
    recording holds, where the suite has such; users and tools of a plan that names another mode keep it.
    """
    version, _ = agent_of(plan.suite)
    tools = variant_tool_mode(plan.suite) if plan.tools == "replay" else plan.tools
    mode: ModelMode | None = None if plan.suite.model is None else "live"
    users = replace(plan.users, mode=plan.users.mode or "live")
    return replace(plan, agent=version, tools=tools, model=mode, users=users)
