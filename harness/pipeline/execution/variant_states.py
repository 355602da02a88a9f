"""The states that the references of changed cases leave."""

from dataclasses import replace
from threading import Lock

from harness.case import Case
from harness.pipeline.execution.executor import Job
from harness.pipeline.execution.reference_states import ReferenceFailed, played_states
from harness.pipeline.plan.reference_states import compared_case
from harness.score import ReferenceState, Scorer, asked_digest


class VariantStates:
    """These states: known from the suite's cases, or played once for each reference and snapshot."""

    def __init__(self, job: Job) -> None:
        self._job = job
        self._guard = Lock()
        self._locks: dict[str, Lock] = {}
        self._known: dict[str, ReferenceState | None] = {}
        states = job.scorer.reference_states
        for case in job.plan.suite.cases:
            if case.id in states:
                self._known[self._key(case)] = states[case.id]

    def scorer(self, scorer: Scorer, case: Case) -> Scorer:
        """The scorer, which knows the state that the case's reference leaves.

        Without one, a check that compares with it cannot tell: the case has no reference, or its reference fails there.
        Raises SandboxError where it could not be played.
        """
        compared = compared_case(scorer, case)
        if compared is None:
            return scorer
        state = None if case.reference is None else self._state(case, scorer)
        return replace(scorer, reference_states={} if state is None else {case.id: state})

    def _state(self, case: Case, scorer: Scorer) -> ReferenceState | None:
        key = self._key(case)
        with self._guard:
            lock = self._locks.setdefault(key, Lock())
        with lock:
            if key not in self._known:
                self._known[key] = self._played(case, scorer, key)
        state = self._known[key]
        return None if state is None else state.model_copy(update={"case_id": case.id})

    def _played(self, case: Case, scorer: Scorer, key: str) -> ReferenceState | None:
        suite = self._job.plan.suite.model_copy(update={"cases": (case,)})
        compared = compared_case(scorer, case)
        assert compared is not None  # the caller has found it
        try:
            job = replace(self._job, plan=replace(self._job.plan, suite=suite))
            (state,) = played_states(job, [compared], {case.id: key})
        except ReferenceFailed:
            return None
        return state

    def _key(self, case: Case) -> str:
        """Of the reference and all that decides its state; which other tools the case has does not."""
        same = case.model_copy(update={"id": "variant", "tools": None, "snapshot": None})
        return f"{asked_digest(self._job.plan.suite, same)} {self._job.world.snapshot_of(case).digest}"
