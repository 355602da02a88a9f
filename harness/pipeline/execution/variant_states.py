"""What variants with a case or a snapshot of their own begin from, and are compared with."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from threading import Lock

from harness.case import Case
from harness.pipeline.execution.environment import EnvironmentServices
from harness.pipeline.execution.executor import Job
from harness.pipeline.execution.reference_states import ReferenceFailed, played_states
from harness.pipeline.plan.reference_states import compared_case
from harness.sandbox import Snapshot
from harness.score import ReferenceState, Scorer, asked_digest


@dataclass(frozen=True)
class ServicesByTrial:
    """Opens the services of each trial from the snapshot of its request; implements `ServiceOpener`."""

    services: EnvironmentServices
    snapshots: dict[str, Snapshot] = field(default_factory=dict)
    """Trial id -> its snapshot, where it is not its case's. Threads share it; each touches its own trial only."""

    @contextmanager
    def open(self, trial_id: str, snapshot: str | None = None) -> Iterator[Mapping[str, str]]:
        asked = self.snapshots.get(trial_id)
        services = self.services if asked is None else replace(self.services, snapshot=asked)
        with services.open(trial_id, snapshot) as running:
            yield running


class VariantStates:
    """The states that the references of changed cases leave: known from the suite's cases, or played once for each
    reference and snapshot.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._guard = Lock()
        self._locks: dict[str, Lock] = {}
        self._known: dict[str, ReferenceState | None] = {}
        states = job.scorer.reference_states
        for case in job.plan.suite.cases:
            if case.id in states:
                self._known[self._key(case, job.world.snapshot_of(case))] = states[case.id]

    def scorer(self, scorer: Scorer, case: Case, snapshot: Snapshot) -> Scorer:
        """The scorer, which knows the state that the case's reference leaves in a world that began from the snapshot.

        Without one, a check that compares with it cannot tell: the case has no reference, or its reference fails there.
        Raises SandboxError where it could not be played.
        """
        compared = compared_case(scorer, case)
        if compared is None:
            return scorer
        state = None if case.reference is None else self._state(case, scorer, snapshot)
        return replace(scorer, reference_states={} if state is None else {case.id: state})

    def _state(self, case: Case, scorer: Scorer, snapshot: Snapshot) -> ReferenceState | None:
        key = self._key(case, snapshot)
        with self._guard:
            lock = self._locks.setdefault(key, Lock())
        with lock:
            if key not in self._known:
                self._known[key] = self._played(case, scorer, snapshot, key)
        state = self._known[key]
        return None if state is None else state.model_copy(update={"case_id": case.id})

    def _played(self, case: Case, scorer: Scorer, snapshot: Snapshot, key: str) -> ReferenceState | None:
        job, own = self._job, case.model_copy(update={"snapshot": None})
        services = job.world.services
        if isinstance(services, ServicesByTrial):
            services = replace(services.services, snapshot=snapshot)
        suite = job.plan.suite.model_copy(update={"cases": (own,)})
        world = replace(job.world, snapshot=snapshot, snapshots={}, services=services)
        compared = compared_case(scorer, own)
        assert compared is not None  # the caller has found it
        try:
            (state,) = played_states(
                replace(job, plan=replace(job.plan, suite=suite), world=world), [compared], {own.id: key}
            )
        except ReferenceFailed:
            return None
        return state

    def _key(self, case: Case, snapshot: Snapshot) -> str:
        """Of the reference and all that decides its state; which other tools the case has does not."""
        same = case.model_copy(update={"id": "variant", "tools": None, "snapshot": None})
        return f"{asked_digest(self._job.plan.suite, same)} {snapshot.digest}"
