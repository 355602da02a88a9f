"""The states that references leave, obtained before the trials of a run: stored with it, cached, or played now.

    <project>/.harness/reference_states/<digest>.json    one state; the digest is of all that decides it

A state is written when its reference has been played, as a whole or not at all, so that a run that was interrupted
plays the remaining references alone. The states of suites that start programs of their own are not cached: nothing
shows whether such a program changed.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from harness import __version__
from harness.case import Case, Suite
from harness.documents import write_atomically
from harness.errors import HarnessError, UsageError
from harness.pipeline.execution.executor import Job
from harness.pipeline.plan.needs import Needs
from harness.pipeline.plan.reference_states import ComparedCase, compared_cases, playing_mode
from harness.results import read_reference_state, reference_state_bytes
from harness.score import ReferenceState, asked_digest, is_state_of
from harness.values import digest_of

FOLDER = ".harness/reference_states"
_FORMAT = 1
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

    `stored`: those that the run has already. Raises ReferenceFailed, and SandboxError where a reference could not be
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
    """Plays the references of these cases of the job's suite; `digests`: of their states, by case.

    Yields each state as it is there; raises ReferenceFailed at the end, for all references that failed.
    """
    from harness.pipeline.execution.reference_playing import play_references, reference_fault

    suite, faults = job.plan.suite, dict[str, str]()
    compared = {one.case.id: one for one in missing}
    for case_id, trial in play_references(job, [one.case for one in missing]):
        one = compared[case_id]
        fault = reference_fault(one, one.probes(suite), trial)
        if fault is not None:
            faults[case_id] = fault
            continue
        yield ReferenceState(
            case_id=case_id,
            asked_digest=asked_digest(suite, one.case),
            digest=digests[case_id],
            probes=(*suite.probes, *one.case.probes),
            states=trial.states,
            end_state=trial.end_state,
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
            "runtime": world.runtime,
            "mode": playing_mode(job.plan),
        }
    )


def _is_known(job: Job) -> bool:
    """Whether the digest covers all that decides the states: no program of this machine takes part."""
    servers = job.plan.suite.reached.values()
    return not any(server.is_program or server.tool_source is not None for server in servers)


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
