"""How a trial ended: task success, partial credit, completion, termination, recovery from errors."""

import math
from collections import Counter
from typing import ClassVar, Literal

from harness.scoring.evidence import Evidence
from harness.scoring.findings.loops import loops
from harness.scoring.findings.recovery import recoveries
from harness.scoring.reference_calls import align
from harness.scoring.tool_use import decisions
from harness.traces.trajectory import Content

# Whether the task was done.


class TaskSuccess:
    """1 if every check of the case passed, 0 if one failed; share of trials over a run.

    None if no check failed and one is undecided, and when a case has no check: a missing verdict is not a success.
    """

    name: ClassVar[str] = "task_success"
    version: ClassVar[str] = "1"
    reads: ClassVar[frozenset[Content]] = frozenset()

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        match evidence.success:
            case True:
                return 1.0, f"all {len(evidence.verdicts)} checks passed"
            case False:
                failed = [verdict.check for verdict in evidence.verdicts if verdict.passed is False]
                return 0.0, f"failed: {', '.join(failed)}"
            case None:
                unknown = [verdict.check for verdict in evidence.verdicts if verdict.passed is None]
                return None, f"could not tell: {', '.join(unknown)}" if unknown else "the case has no check"


# How nearly the checks passed that can be passed in part.


class PartialCredit:
    """Mean credit of the checks that give one (`credit` in their evidence: the verifier `trajectory` does); 0 to 1.

    Checks without a credit are left out: a pass or a fail is not a credit. None if no check gives one.
    """

    name: ClassVar[str] = "partial_credit"
    version: ClassVar[str] = "1"
    reads: ClassVar[frozenset[Content]] = frozenset()

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        found = [(one.check, one.evidence.get("credit")) for one in evidence.verdicts]
        credits = [(name, float(value)) for name, value in found if isinstance(value, int | float)]
        if not credits:
            return None, "no check gives a credit"
        return math.fsum(value for _, value in credits) / len(credits), ", ".join(f"{n} {v:.2f}" for n, v in credits)


# Whether the agent ended by itself with an answer, right or wrong.


class Completion:
    """1 if the outcome is `finished` and there is a final answer that is not blank, else 0; share over a run.

    A crash and a reached limit are 0, whatever the agent sent before. Nothing is excluded.
    """

    name: ClassVar[str] = "completion"
    version: ClassVar[str] = "1"
    reads: ClassVar[frozenset[Content]] = frozenset({"answer"})

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        if evidence.trial.outcome != "finished":
            return 0.0, evidence.trial.reason or evidence.trial.outcome
        if not evidence.answered:
            return 0.0, "the agent ended without an answer"
        return 1.0, "the agent ended with an answer"


Ending = Literal["success_stop", "premature", "overrun", "loop", "limit", "crash", "no_answer", "unknown"]


class Termination:
    """1 if the agent stopped at the right time, else 0; None if it cannot be decided. The explanation is the
    ending.

    In this order: `loop` (it never came to an end of its own with an answer, and its last call is the last turn of a
    loop trap); `limit` (outcome limit_reached); `crash` (agent_failed); `no_answer` (no final answer, or a blank one);
    `overrun` (the whole reference was followed and a call that counts, a write or a repeat, was made after its last
    one); `success_stop` (every check passed, or the whole reference was followed); `premature` (a call of the reference
    or a required tool was left out and a check failed); else it is not known. Which calls count: see `call_match`.
    """

    name: ClassVar[str] = "termination"
    version: ClassVar[str] = "2"
    reads: ClassVar[frozenset[Content]] = frozenset({"answer", "arguments"})

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


class Recovery:
    """Errors that the agent recovered from / errors that occurred or were injected; share, 0 to 1.

    Recovered: a related call among the next three after the error succeeded, other than by doing nothing. The
    explanation counts the responses (retried the same, changed something, used another tool, told the user, ignored).
    Excluded: replay misses and the step limit, after which no call can succeed, and, if the gateway observed any
    call, self-reported calls. None if no error occurred.
    """

    name: ClassVar[str] = "recovery"
    version: ClassVar[str] = "2"
    reads: ClassVar[frozenset[Content]] = frozenset({"arguments"})

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        met = recoveries(evidence.credited)
        if not met:
            return None, "no error was met"
        recovered = [one.recovered_after for one in met if one.recovered_after is not None]
        responses = Counter(one.response.replace("_", " ") for one in met)
        words = ", ".join(f"{count} {response}" for response, count in sorted(responses.items()))
        within = f" within {max(recovered)} calls" if recovered else ""
        return len(recovered) / len(met), f"{len(recovered)} of {len(met)} errors were recovered{within}: {words}"
