"""Answers that rest on nothing.

`unsupported_answer` (tool hallucination) counts: the run handed in an answer by a call, it had made other calls, and no
answer to any of them told anything that was not known before (see `progress`); or it had made none, and its plan needed
to look something up (see `lookups`). The result was made up. Does not count: a run without recorded calls, and an
answer given in words alone; nor where the trial is known to have succeeded.

Origin: the call that hands in, or the step that states the answer. Dependent steps: none.
"""

from typing import ClassVar, Final

from harness.score.evidence import Evidence
from harness.score.failures.diagnosis import Diagnosis, Failure, Kind
from harness.score.failures.lookups import Unmade, is_answer, unmade_lookups
from harness.score.failures.progress import INFORMATIVE, new_atoms
from harness.score.failures.reading import Reading, read

VERSION: Final = "3"


def unsupported_answers(reading: Reading, unmade: Unmade | None) -> tuple[Diagnosis, ...]:
    """At most one finding."""
    if reading.evidence.success is True:
        return ()
    last = next((act for act in reversed(reading.acts) if is_answer(act.call)), None)
    if last is None:
        return ()
    others = [act for act in reading.acts if not is_answer(act.call) and act.seen is not None]
    if not others:
        if unmade is None:
            return ()
        evidence = "handed in what its plan needed to look up, and no call had looked anything up"
        return (_found("tool_hallucination", "unsupported_answer", unmade.answered, evidence, 0.7),)
    if any(count >= INFORMATIVE for count in new_atoms(reading, others).values()):
        return ()
    evidence = f"handed in, and none of the {len(others)} answers before had told anything new"
    return (_found("tool_hallucination", "unsupported_answer", last.step, evidence, 0.7),)


def _found(failure: Failure, kind: Kind, step: int, evidence: str, confidence: float) -> Diagnosis:
    return Diagnosis(
        failure=failure, kind=kind, origin_step=step, evidence=evidence, confidence=confidence, version=VERSION
    )


class Unsupported:
    """Answers that rest on nothing."""

    name: ClassVar[str] = "unsupported"
    version: ClassVar[str] = VERSION

    def find(self, evidence: Evidence) -> tuple[Diagnosis, ...]:
        reading = read(evidence)
        return unsupported_answers(reading, unmade_lookups(reading))
