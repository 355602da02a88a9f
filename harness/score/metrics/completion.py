"""Whether the agent ended by itself with an answer, right or wrong."""

from typing import ClassVar

from harness.score.evidence import Evidence


class Completion:
    """1 where the outcome is `finished` and there is a final answer that is not blank, else 0; share over a run.

    A crash and a reached limit are 0, whatever the agent sent before. Nothing is excluded.
    """

    name: ClassVar[str] = "completion"
    version: ClassVar[str] = "1"

    def measure(self, evidence: Evidence) -> tuple[float | None, str]:
        if evidence.trial.outcome != "finished":
            return 0.0, evidence.trial.reason or evidence.trial.outcome
        if not evidence.answered:
            return 0.0, "the agent ended without an answer"
        return 1.0, "the agent ended with an answer"
