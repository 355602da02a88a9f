"""Answers that rest on nothing.

`unsupported_answer` (tool hallucination) counts: the run handed in an answer by a call, it had made other calls, and no
answer to any of them told anything that was not known before (see `progress`): the result was made up. Does not count:
a run without recorded calls, and an answer given in words alone.

Origin: the call that hands in. Dependent steps: none.
"""

from typing import Final

from harness.score.failures.diagnosis import Diagnosis, Failure, Kind
from harness.score.failures.handing_over import hands_in
from harness.score.failures.progress import INFORMATIVE, new_atoms
from harness.score.failures.reading import Act, Reading

VERSION: Final = "1"


def unsupported_answers(reading: Reading) -> tuple[Diagnosis, ...]:
    """At most one finding."""
    last = next((act for act in reversed(reading.acts) if _answers(act)), None)
    others = [act for act in reading.acts if not _answers(act) and act.seen is not None]
    if last is None or not others:
        return ()
    if any(count >= INFORMATIVE for count in new_atoms(reading, others).values()):
        return ()
    evidence = f"handed in, and none of the {len(others)} answers before had told anything new"
    return (_found("tool_hallucination", "unsupported_answer", last.step, evidence, 0.7),)


def _answers(act: Act) -> bool:
    """Whether a call hands in: by its own name, or by code that does nothing else."""
    if hands_in(act.call.name):
        return True
    code = (act.call.arguments or {}).get("code")
    return isinstance(code, str) and "final_answer(" in code


def _found(failure: Failure, kind: Kind, step: int, evidence: str, confidence: float) -> Diagnosis:
    return Diagnosis(
        failure=failure, kind=kind, origin_step=step, evidence=evidence, confidence=confidence, version=VERSION
    )
