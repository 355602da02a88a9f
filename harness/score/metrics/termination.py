"""Whether the agent stopped when it should have."""

from typing import ClassVar, Literal

from harness.score.comparison.reference import align
from harness.score.evidence import Evidence
from harness.score.failures import loops
from harness.score.selection import decisions

Ending = Literal["success_stop", "premature", "overrun", "loop", "limit", "crash", "no_answer", "unknown"]


class Termination:
    """1 where the agent stopped at the right time, else 0; None where it cannot be decided. The explanation is the
    ending.

    In this order: `loop` (it never came to an end of its own with an answer, and its last call is the last turn of a
    loop trap); `limit` (outcome limit_reached); `crash` (agent_failed); `no_answer` (no final answer, or a blank one);
    `overrun` (the whole reference was followed and a call that counts, a write or a repeat, was made after its last
    one); `success_stop` (every check passed, or the whole reference was followed); `premature` (a call of the reference
    or a required tool was left out and a check failed); else it is not known. Which calls count: see `call_match`.
    """

    name: ClassVar[str] = "termination"
    version: ClassVar[str] = "2"

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        ending = self.ending(evidence)
        match ending:
            case "success_stop":
                return 1.0, ending
            case "unknown":
                return None, "no reference and no passing check tell when to stop"
            case "premature" | "overrun" | "loop" | "limit" | "crash" | "no_answer":
                return 0.0, ending

    def ending(self, evidence: Evidence) -> Ending:
        finished = evidence.trial.outcome == "finished"
        if not (finished and evidence.answered) and self._looped(evidence):
            return "loop"
        if evidence.trial.outcome == "limit_reached":
            return "limit"
        if not finished:
            return "crash"
        return self._stopped(evidence) if evidence.answered else "no_answer"

    def _looped(self, evidence: Evidence) -> bool:
        steps = decisions(evidence)
        return any(steps[-1].index in (one.origin_step, *one.dependent_steps) for one in loops(evidence))

    def _stopped(self, evidence: Evidence) -> Ending:
        found = align(evidence)
        followed = found is not None and not found.missing
        if found is not None and followed and found.needed and found.counted_after_last:
            return "overrun"
        if evidence.success is True or followed:
            return "success_stop"
        called = {call.name for call in evidence.made_calls}
        left_out = found is not None or not set(evidence.case.required_tools) <= called
        return "premature" if left_out and evidence.success is False else "unknown"
