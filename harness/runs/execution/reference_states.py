"""The states that references leave: for which cases they are needed, and how they are obtained before the trials."""

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from harness import __version__
from harness.disk import write_atomically
from harness.errors import HarnessError, SandboxError, UsageError
from harness.gateway.budgets import RateLimiter
from harness.gateway.upstream.tool_servers import check_servers
from harness.runs.execution.environment import Needs
from harness.runs.execution.executor import INFRASTRUCTURE_TRIES, Job
from harness.runs.execution.local import end_sandboxes, open_runner
from harness.runs.plan.plan import RunPlan, secret_values
from harness.runs.store.beside_trials import read_reference_state, reference_state_bytes
from harness.runs.trial.agents import open_agent
from harness.runs.trial.parallel import TaskSlots, run_all
from harness.sandbox.ownership import temporary_folder
from harness.scoring.evidence import ReferenceState, asked_digest, is_state_of
from harness.scoring.scorer import Scorer
from harness.scoring.verifiers.reference_state import EqualsReferenceState
from harness.suite.cases import Case, StateProbe
from harness.suite.conversations import UserSpec
from harness.suite.models import ToolMode
from harness.suite.suites import Suite
from harness.traces.trial import Trial
from harness.users.users import UserOptions
from harness.values import digest_of


@dataclass(frozen=True, kw_only=True)
class ComparedCase:
    """A planned case, and its checks that compare with the state of its reference, by their names."""

    case: Case
    checks: dict[str, EqualsReferenceState]

    @property
    def reads_files(self) -> bool:
        return any(check.files for check in self.checks.values())

    def probes(self, suite: Suite) -> tuple[StateProbe, ...]:
        """The probes whose answers are compared."""
        declared = (*suite.probes, *self.case.probes)
        names = {probe.name for check in self.checks.values() for probe in check.compared(declared)}
        return tuple(probe for probe in declared if probe.name in names)


def compared_cases(plan: RunPlan, scorer: Scorer) -> tuple[ComparedCase, ...]:
    """Those of the cases that this run makes trials of, in the suite's order."""
    planned = {one.case_id for one in plan.own}
    found = (compared_case(scorer, case) for case in plan.suite.cases if case.id in planned)
    return tuple(one for one in found if one is not None)


def compared_case(scorer: Scorer, case: Case) -> ComparedCase | None:
    """The case with its checks; None if it has none that compares with its reference's state."""
    checks = _checks(scorer, case)
    return ComparedCase(case=case, checks=checks) if checks else None


def _checks(scorer: Scorer, case: Case) -> dict[str, EqualsReferenceState]:
    return {
        one.check.name: one.verifier
        for one in scorer.verifiers.get(case.id, ())
        if isinstance(one.verifier, EqualsReferenceState)
    }


def playing_mode(plan: RunPlan) -> ToolMode:
    """Who answers the reference's calls: restored services, also for a live run, whose servers it must not write to."""
    return "replay" if plan.tools == "replay" else "sealed"


def refuse_stateless(plan: RunPlan, compared: tuple[ComparedCase, ...]) -> None:
    """Raises UsageError if a case has no reference, or if no state is there to be compared; starts nothing."""
    for one in compared:
        place = f"suite {plan.suite.name!r}, case {one.case.id!r}, check {min(one.checks)!r} (reference_state)"
        if one.case.reference is None:
            raise UsageError(
                f"{place}: the case has no reference whose state could be compared",
                remedy="give it `reference:` (an empty list if nothing may change)",
            )
        if plan.tools == "replay":
            _refuse_replayed(plan.suite, one, place)
    if compared and plan.tools != "replay":
        _refuse_not_restorable(plan)


def _refuse_replayed(suite: Suite, compared: ComparedCase, place: str) -> None:
    replayed = next(_replayed(suite, compared.probes(suite)), None)
    if replayed is not None:
        raise UsageError(
            f"{place}: the probe {replayed.name!r} is answered by the cassette, and a replay has no state to compare",
            remedy="run with restored services: --live sealed",
        )


def _replayed(suite: Suite, probes: tuple[StateProbe, ...]) -> Iterator[StateProbe]:
    servers = {tool.name: suite.servers.get(tool.server) for tool in suite.tools}
    for probe in probes:
        server = None if probe.tool is None else servers.get(probe.tool)
        in_sandbox = server is not None and (server.sandbox or server.browser)
        if not in_sandbox and (probe.sql is None or probe.sql.service is not None):
            yield probe


def _refuse_not_restorable(plan: RunPlan) -> None:
    try:
        check_servers(plan.suite, "sealed", secret_values(plan.suite))
    except UsageError as error:
        raise UsageError(
            f"the reference of a case with a check `reference_state` is played with restored services: {error.message}",
            remedy="serve it from the environment, or leave these cases out of the run",
        ) from None


# The states that references leave, obtained before the trials of a run: stored with it, cached, or played now.
#
#     <project>/.harness/reference_states/<digest>.json    one state; the digest is of all that decides it
#
# A state is written when its reference has been played, as a whole or not at all, so that a run that was interrupted
# plays the remaining references alone. The states of suites that start programs of their own are not cached: nothing
# shows whether such a program changed.

FOLDER = ".harness/reference_states"
_FORMAT = 2
"""Raised whenever the same reference could leave another stored state."""


class ReferenceFailed(UsageError):
    """References that fail: faults of their cases, found before any trial."""

    def __init__(self, suite: str, faults: Mapping[str, str]) -> None:
        self.faults = dict(faults)
        lines = "\n".join(f"  case {case_id!r}: {fault}" for case_id, fault in sorted(self.faults.items()))
        super().__init__(
            f"suite {suite!r}: {len(self.faults)} reference(s) fail, so there is no state to compare with:\n{lines}",
            remedy="mend the reference, or what it is played against: `harness case check` names such cases",
        )


def with_reference_states(
    job: Job, needs: Needs, say: Callable[[str], None], stored: Mapping[str, ReferenceState]
) -> Job:
    """The job, whose scorer has the state of each reference that a check compares with.

    `stored`: those that the run has already. Raises ReferenceFailed, and SandboxError if a reference could not be
    played.
    """
    compared = compared_cases(job.plan, job.scorer)
    if not compared:
        return job
    digests = {one.case.id: _digest(job, needs, one) for one in compared}
    cases = {one.case.id: one.case for one in compared}
    states = {case_id: stored[case_id] for case_id in cases if case_id in stored}
    cache = _Cache(job.plan.project / FOLDER) if _is_known(job) else None
    if cache is not None:
        states |= {
            case_id: state
            for case_id, digest in digests.items()
            if case_id not in states and (state := cache.read(digest, job.plan.suite, cases[case_id])) is not None
        }
    missing = [one for one in compared if one.case.id not in states]
    if missing:
        say(f"reference states: {len(missing)} to play, {len(states)} stored")
        for state in played_states(job, missing, digests):
            states[state.case_id] = state
            if cache is not None:
                cache.write(state)
        lacking = [one for one in missing if one.case.id not in states]
        assert not lacking  # a reference that fails raises
    return replace(job, scorer=replace(job.scorer, reference_states=states))


def played_states(job: Job, missing: Sequence[ComparedCase], digests: Mapping[str, str]) -> Iterator[ReferenceState]:
    """Plays the references of these cases of the job's suite twice; `digests`: of their states, by case.

    Yields each state as it is there; raises ReferenceFailed at the end, for all references that failed.
    """

    suite, faults = job.plan.suite, dict[str, str]()
    compared = {one.case.id: one for one in missing}
    first: dict[str, Trial] = {}
    for _ in range(2):  # what differs between the two is not the reference's doing
        waiting = [one.case for one in missing if one.case.id not in faults]
        for case_id, trial in play_references(job, waiting) if waiting else ():
            one = compared[case_id]
            fault = _call_fault(one.case, trial) or _state_fault(one, one.probes(suite), trial)
            if fault is not None:
                faults[case_id] = fault
            elif case_id not in first:
                first[case_id] = trial
            else:
                yield ReferenceState(
                    case_id=case_id,
                    asked_digest=asked_digest(suite, one.case),
                    digest=digests[case_id],
                    probes=(*suite.probes, *one.case.probes),
                    states=first[case_id].states,
                    end_state=first[case_id].end_state,
                    states_again=trial.states,
                    end_state_again=trial.end_state,
                )
    if faults:
        raise ReferenceFailed(suite.name, faults)


def _digest(job: Job, needs: Needs, compared: ComparedCase) -> str:
    """Of all that decides the state that the case's reference leaves."""
    world, environment = job.world, needs.environment
    images = {name: world.images.get(name) for name in sorted({needs.image, *needs.services.values()})}
    services = {} if environment is None else environment.model_dump(mode="json", include={"services"})
    return digest_of(
        {
            "format": _FORMAT,
            "harness": __version__,
            "asked": asked_digest(job.plan.suite, compared.case),
            "snapshot": world.snapshot_of(compared.case).digest,
            "images": images,
            "environment": services,
            "provider": job.plan.sandbox,
            "mode": playing_mode(job.plan),
        }
    )


def _is_known(job: Job) -> bool:
    """Whether the digest covers all that decides the states: no program of this machine takes part."""
    servers = job.plan.suite.reached.values()
    return not any(server.is_program for server in servers)


class _Cache:
    """States by digest; a file that cannot be read, or is of something else, is not a state."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def read(self, digest: str, suite: Suite, case: Case) -> ReferenceState | None:
        path = self._path(digest)
        if not path.exists():
            return None
        try:
            state = read_reference_state(path)
        except HarnessError:
            return None
        return state if state.digest == digest and is_state_of(state, suite, case) else None

    def write(self, state: ReferenceState) -> None:
        write_atomically(self._path(state.digest), reference_state_bytes(state))

    def _path(self, digest: str) -> Path:
        return self._folder / f"{digest}.json"


def play_references(job: Job, cases: Sequence[Case]) -> Generator[tuple[str, Trial], None, None]:
    """Yields (case id, trial of the oracle) as each ends, several at a time.

    Raises SandboxError if the harness could not play one. The first exception ends all that was started.
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
        refresh=False,
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
