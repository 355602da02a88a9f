"""References played by the oracle, each in a sandbox and with services of its own, restored from the snapshot."""

from collections.abc import Generator, Sequence
from contextlib import closing
from dataclasses import replace

from harness.case import Case, StateProbe, Suite, UserSpec
from harness.errors import SandboxError
from harness.pipeline.execution.attempt import INFRASTRUCTURE_TRIES
from harness.pipeline.execution.executor import Job
from harness.pipeline.execution.local import end_sandboxes, open_runner
from harness.pipeline.plan.reference_states import ComparedCase, playing_mode
from harness.pipeline.plan.secrets import secret_values
from harness.runner import TaskSlots, open_agent, run_all
from harness.sandbox import temporary_folder
from harness.simulate import UserOptions
from harness.trace import Trial
from harness.upstream import RateLimiter


def play_references(job: Job, cases: Sequence[Case]) -> Generator[tuple[str, Trial], None, None]:
    """Yields (case id, trial of the oracle) as each ends, several at a time.

    Raises SandboxError where the harness could not play one. The first exception ends all that was started.
    """
    plan = job.plan
    suite = _plain_suite(plan.suite, cases)
    oracle = open_agent(suite, "oracle", plan.project / ".harness" / "agents")
    playing = replace(
        plan,
        suite=suite,
        tools=playing_mode(plan),
        model=None,
        users=UserOptions(),
        budget=None,
        variants={},
        prefetch=0,
        refresh=False,
        replay="strict",
    )
    own = replace(job, plan=playing, agent=oracle)
    secrets = secret_values(plan.suite)
    with (
        temporary_folder() as files,
        open_runner(own, live_cassettes=files / "live", secrets=secrets, limiter=RateLimiter(), tracing=None) as runner,
    ):

        def play(case: Case) -> Trial:
            reason = None
            for number in range(INFRASTRUCTURE_TRIES):
                trial, _ = runner.run_trial(case, 1, files / f"{case.id}.{number}" / "end_state.tar")
                if trial.outcome != "harness_failed":
                    return trial
                reason = trial.reason
            raise SandboxError(f"the reference of case {case.id!r} could not be played: {reason}")

        slots = TaskSlots(jobs=plan.jobs)
        with closing(run_all(suite.cases, play, slots, lambda: end_sandboxes(runner))) as results:
            for case, trial in results:
                yield case.id, trial


def _plain_suite(suite: Suite, cases: Sequence[Case]) -> Suite:
    """The cases without all that a reference does not need: checks, users, models, faults."""
    plain: dict[str, object] = {"checks": (), "conversation": None, "user": None, "faults": ()}
    changes: dict[str, object] = {
        "cases": tuple(case.model_copy(update=plain) for case in cases),
        "checks": (),
        "agents": {},
        "model": None,
        "user": UserSpec(),
    }
    return suite.model_copy(update=changes)


def reference_fault(compared: ComparedCase, probes: Sequence[StateProbe], trial: Trial) -> str | None:
    """What is wrong with a reference that was played: the call that failed, or what was not read; None: nothing."""
    return _call_fault(compared.case, trial) or _state_fault(compared, probes, trial)


def _call_fault(case: Case, trial: Trial) -> str | None:
    reference, made = case.reference or (), trial.trajectory.calls
    seen = trial.trajectory.observations
    for declared, call in zip(reference, made, strict=False):
        observation = seen.get(call.id)
        error = None if observation is None else observation.error
        if error is not None:
            return f"the reference's call {declared.id!r} ({declared.tool}) failed: {error.type}: {error.message}"
    if trial.outcome != "finished":
        place = f"at its call {reference[len(made) - 1].id!r} " if 0 < len(made) <= len(reference) else ""
        return f"the reference ended {place}with {trial.outcome}: {trial.reason}"
    if len(made) != len(reference):
        return f"{len(made)} of the reference's {len(reference)} calls were made"
    return None


def _state_fault(compared: ComparedCase, probes: Sequence[StateProbe], trial: Trial) -> str | None:
    for probe in probes:
        state = trial.states.get(probe.name)
        if state is None:
            return f"after the reference, the probe {probe.name!r} gave nothing"
        problem = state.get("error", state.get("unmeasurable")) if isinstance(state, dict) else None
        if problem is not None and (probe.sql is not None or state == {"unmeasurable": problem}):
            return f"after the reference, the probe {probe.name!r} cannot be read: {problem}"
    end = trial.end_state
    if compared.reads_files and (end is None or not end.complete):
        reason = "nothing was read back" if end is None else end.problem
        return f"after the reference, the end state is not complete: {reason}"
    return None
